// soma_tensor_*: numbers handed to the host, and their exchange with other libraries.
#include "abi/tensor.hpp"

#include "abi/guard.hpp"
#include "value/dlpack.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

constexpr i32 rank = 2;

// The exchange struct keeps a reference to its tensor; it lives from malloc, since whoever calls
// the deleter knows nothing of runtimes.
void delete_export(DLManagedTensorVersioned* self) {
  release(static_cast<soma_tensor*>(self->owner));
  delete self;
}

}  // namespace

int32_t soma_tensor_dtype(const soma_tensor* tensor) noexcept {
  return is_valid(tensor) ? tensor->dtype : 0;
}

size_t soma_tensor_rank(const soma_tensor* tensor) noexcept {
  return is_valid(tensor) ? size_t{rank} : 0;
}

const int64_t* soma_tensor_shape(const soma_tensor* tensor) noexcept {
  return is_valid(tensor) ? tensor->shape : nullptr;
}

const void* soma_tensor_data(const soma_tensor* tensor) noexcept {
  return is_valid(tensor) ? tensor->data.get() : nullptr;
}

soma_code soma_tensor_export(const soma_tensor* tensor, DLManagedTensorVersioned** out,
                             soma_error** error) noexcept {
  if (out) *out = nullptr;
  return perform(tensor, error, [&]() -> Status {
    if (!out) return null_argument("out");
    const MemoryScope outside(nullptr);
    auto made = std::make_unique<DLManagedTensorVersioned>();
    made->major = dlpack::major_version;
    made->minor = dlpack::minor_version;
    made->owner = Ref<soma_tensor>::share(tensor).give();
    made->deleter = delete_export;
    made->flags = dlpack::flag_read_only;
    made->tensor.data = tensor->data.get();
    made->tensor.device = {dlpack::device_cpu, 0};
    made->tensor.rank = rank;
    made->tensor.type = {dlpack::type_float, 32, 1};
    made->tensor.shape = const_cast<i64*>(tensor->shape);
    made->tensor.strides = const_cast<i64*>(tensor->strides);
    *out = made.release();
    return {};
  });
}

void soma_tensor_retain(const soma_tensor* tensor) noexcept { retain(tensor); }
void soma_tensor_release(const soma_tensor* tensor) noexcept { release(tensor); }
