// soma_error_*, soma_blob_*: what went wrong, and bytes.
#include "abi/blob.hpp"
#include "abi/error.hpp"
#include "abi/guard.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

const char* text_out(std::string_view text, size_t* length) {
  if (length) *length = text.size();
  return text.data();
}

const Detail* detail_at(const soma_error* error, size_t index) {
  if (!is_valid(error) || !error->content) return nullptr;
  return index < error->content->details.size() ? &error->content->details[index] : nullptr;
}

// What is counted: a further problem lives in its whole.
const soma_error* whole_of(const soma_error* error) {
  return error->whole ? error->whole : error;
}

}  // namespace

soma_code soma_error_code(const soma_error* err) noexcept {
  return is_valid(err) ? static_cast<soma_code>(err->code) : SOMA_INVALID_ARGUMENT;
}

const char* soma_error_reason(const soma_error* err, size_t* length) noexcept {
  return text_out(is_valid(err) ? err->id : std::string_view(""), length);
}

const char* soma_error_message(const soma_error* err, size_t* length) noexcept {
  return text_out(is_valid(err) ? err->message : std::string_view(""), length);
}

size_t soma_error_detail_count(const soma_error* err) noexcept {
  return is_valid(err) && err->content ? err->content->details.size() : 0;
}

const char* soma_error_detail_key(const soma_error* err, size_t index, size_t* length) noexcept {
  const Detail* detail = detail_at(err, index);
  return text_out(detail ? std::string_view(detail->key) : std::string_view(""), length);
}

const char* soma_error_detail_value(const soma_error* err, size_t index,
                                    size_t* length) noexcept {
  const Detail* detail = detail_at(err, index);
  return text_out(detail ? std::string_view(detail->value) : std::string_view(""), length);
}

size_t soma_error_other_count(const soma_error* err) noexcept {
  return is_valid(err) && err->content ? err->content->others.size() : 0;
}

const soma_error* soma_error_other(const soma_error* err, size_t index) noexcept {
  if (index >= soma_error_other_count(err)) return nullptr;
  return err->content->others[index].get();
}

soma_code soma_error_json(const soma_error* err, soma_blob** out, soma_error** error) noexcept {
  return produce(err, out, error, [&]() -> Result<Ref<soma_blob>> {
    return make_blob(nullptr, error_json(*err));
  });
}

void soma_error_retain(const soma_error* err) noexcept {
  if (is_valid(err) && err->content) retain(whole_of(err));
}

void soma_error_release(const soma_error* err) noexcept {
  if (!is_valid(err) || !err->content) return;
  const soma_error* whole = whole_of(err);
  if (!drop_object(whole)) return;
  const MemoryScope outside(nullptr);
  delete static_cast<const MadeError*>(whole);
}

const void* soma_blob_data(const soma_blob* blob) noexcept {
  return is_valid(blob) ? blob->bytes.data() : "";
}

size_t soma_blob_size(const soma_blob* blob) noexcept {
  return is_valid(blob) ? blob->bytes.size() : 0;
}

void soma_blob_retain(const soma_blob* blob) noexcept { retain(blob); }
void soma_blob_release(const soma_blob* blob) noexcept { release(blob); }
