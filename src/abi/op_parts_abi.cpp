// soma_ops_add_prepare, soma_ops_add_vjp, soma_ops_set_gradient_sum, and what their calls show: the
// functions that an op may have beside that of its nodes.
#include "abi/call.hpp"
#include "abi/guard.hpp"
#include "abi/ops.hpp"
#include "abi/runtime.hpp"
#include "abi/text_argument.hpp"

using namespace soma;
using namespace soma::wall;

namespace {

// A walk back calls on one thread and seldom: it borrows a slot for each call.
Status call_host_back(void* user, GradientCall& gradient) {
  const auto& op = *static_cast<const Host<soma_node_fn>*>(user);
  struct Borrowed {
    CallSlots& slots;
    soma_call& call;
    ~Borrowed() {                   // also if the function throws
      call.end();
      slots.give_back(call);
    }
  } here{*op.runtime->calls, op.runtime->calls->borrow()};
  const i32 answer = op.function(op.user.get(), here.call.begin(gradient));
  return said_by_host(answer, here.call.failure);
}

// A function beside an op's own.
template <typename Give>
Status give_part(const soma_ops& ops, soma_node_fn function, UserData user, Give give) {
  if (!function) return null_argument("function");
  SOMA_TRY(check_open(ops));
  return give_host(ops, function, std::move(user), give);
}

// What a vjp's call shows beside its input, made when it is asked for.
const soma_value* lend(soma_call* handle, Ref<soma_value> soma_call::*place,
                       const Value& (GradientCall::*content)() const) noexcept {
  return show(handle, [&](soma_call& call) -> const soma_value* {
    if (!call.gradient) return nullptr;
    Ref<soma_value>& value = call.*place;
    if (!value) value = make<soma_value>(call.runtime, (call.gradient->*content)());
    return value.get();
  });
}

}  // namespace

soma_code soma_ops_add_prepare(soma_ops* ops, const char* name, size_t name_length,
                               uint32_t version, soma_node_fn function, void* user,
                               soma_destroy_fn destroy, soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(ops, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view text, text_argument("name", name, name_length));
    return give_part(*ops, function, std::move(data), [&](void* host, soma_destroy_fn drop) {
      return ops->ops.add_prepare(text, version, call_host, host, drop);
    });
  });
}

soma_code soma_ops_add_vjp(soma_ops* ops, const char* name, size_t name_length, uint32_t version,
                           soma_node_fn function, void* user, soma_destroy_fn destroy,
                           soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(ops, error, [&]() -> Status {
    SOMA_ASSIGN(const std::string_view text, text_argument("name", name, name_length));
    return give_part(*ops, function, std::move(data), [&](void* host, soma_destroy_fn drop) {
      return ops->ops.add_vjp(text, version, call_host_back, host, drop);
    });
  });
}

soma_code soma_ops_set_gradient_sum(soma_ops* ops, soma_node_fn function, void* user,
                                    soma_destroy_fn destroy, soma_error** error) noexcept {
  UserData data(user, destroy);
  return perform(ops, error, [&]() -> Status {
    return give_part(*ops, function, std::move(data), [&](void* host, soma_destroy_fn drop) {
      return ops->ops.set_gradient_adder({call_host_back, host, drop});
    });
  });
}

const soma_value* soma_call_yielded(soma_call* call) noexcept {
  return lend(call, &soma_call::yielded_value, &GradientCall::yielded);
}

const soma_value* soma_call_gradient(soma_call* call) noexcept {
  return lend(call, &soma_call::gradient_value, &GradientCall::gradient);
}
