// The wall itself: every exported function that can fail runs its body through one of these.
//
// They check the root handle (the object the call is about), refuse a forked child, enter the
// runtime's memory, set outputs to NULL, and turn whatever comes out of the body into a code and an
// error object. No exception passes.
#pragma once

#include <type_traits>

#include "abi/handle.hpp"

namespace soma::wall {

// A call that is about no object: allocates with malloc.
struct Nothing final : Object {
  static constexpr Tag kind = Tag::Released;
};
inline constexpr const Nothing* no_root = nullptr;

// Makes the error object, stores it if the host asked for it, and returns its code.
soma_code report(const Error& error, soma_error** out) noexcept;
soma_code report_exception(soma_error** out) noexcept;  // within a catch clause
Status admit(const Object& root);                       // refuses a forked child
Error null_argument(std::string_view name);
Error copy_of(const Error& error);                      // in the current account

// What the caller allocates goes where it went before, whatever happens in the call.
class CallMemory {
 public:
  CallMemory() : note_(current_memory_note()), before_(note_) { leave(); }
  ~CallMemory() { note_ = before_; }
  CallMemory(const CallMemory&) = delete;
  CallMemory& operator=(const CallMemory&) = delete;
  void enter(Memory* memory) { note_ = memory; }
  void leave() { note_ = nullptr; }

 private:
  Memory*& note_;
  Memory* const before_;
};

template <Handle T, typename Body>
soma_code perform(const T* root, soma_error** error, Body&& body) noexcept {
  if (error) *error = nullptr;
  try {
    CallMemory memory_of_call;
    Ref<T> kept;  // should a callback release the root; an error may lie in its memory
    Memory* memory = nullptr;
    Status status;
    if constexpr (!std::is_same_v<T, Nothing>) {
      status = check(root);
      if (status.ok()) status = admit(*root);
      if (status.ok()) {
        kept = Ref<T>::share(root);
        memory = call_memory(*root);
      }
    }
    if (status.ok()) {
      memory_of_call.enter(memory);
      status = body();
      memory_of_call.leave();
    }
    return status.ok() ? SOMA_OK : report(status.error(), error);
  } catch (...) {
    return report_exception(error);
  }
}

// For functions with an `out` handle: the body returns a Result<Ref<U>>.
template <Handle T, Handle U, typename Body>
soma_code produce(const T* root, U** out, soma_error** error, Body&& body) noexcept {
  if (out) *out = nullptr;
  return perform(root, error, [&]() -> Status {
    if (!out) return null_argument("out");
    SOMA_ASSIGN(Ref<U> made, body());
    *out = std::move(made).give();
    return {};
  });
}

}  // namespace soma::wall
