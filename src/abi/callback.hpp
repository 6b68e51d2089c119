// What comes with a host's callback, and where callbacks may not call back.
#pragma once

#include "abi/handle.hpp"

namespace soma::wall {

// A callback's `user` pointer: destroy(user) is called once, when this goes. Exported functions
// make one of it first of all, so that it also happens when they fail.
class UserData {
 public:
  UserData() = default;
  UserData(void* user, soma_destroy_fn destroy) : user_(user), destroy_(destroy) {}
  UserData(UserData&& other) noexcept
      : user_(std::exchange(other.user_, nullptr)),
        destroy_(std::exchange(other.destroy_, nullptr)) {}
  UserData& operator=(UserData&& other) noexcept {
    std::swap(user_, other.user_);
    std::swap(destroy_, other.destroy_);
    return *this;
  }
  ~UserData() {
    if (destroy_) destroy_(user_);
  }
  void* get() const { return user_; }
  // From here on somebody else calls destroy.
  soma_destroy_fn give() && { return std::exchange(destroy_, nullptr); }

 private:
  void* user_ = nullptr;
  soma_destroy_fn destroy_ = nullptr;
};

// Marks this thread as being in a tick of the runtime, whose team waits in the middle of its work
// meanwhile: whatever would use the team again, or a session's lock, would wait for itself.
class TickScope {
 public:
  explicit TickScope(const soma_runtime* runtime);
  ~TickScope();
  TickScope(const TickScope&) = delete;
  TickScope& operator=(const TickScope&) = delete;

  const soma_runtime* runtime;
  TickScope* outer;
};
Status refuse_in_tick(const soma_runtime* runtime);

}  // namespace soma::wall
