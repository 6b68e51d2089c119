// What every handle is: a tagged, counted object that keeps its runtime alive.
//
// The public struct soma_<noun> is defined here in src/abi and derives from Object, whose tag comes
// first: that a pointer is of the type a function takes can be checked before anything else of it
// is touched. Reference counts exist here only; the core below knows owners.
#pragma once

#include <atomic>

#include "base/core.hpp"
#include "base/memory.hpp"
#include "soma/soma.h"

namespace soma::wall {

// Not small numbers, so that a wrong pointer's first bytes are hardly ever one of them.
enum class Tag : u32 {
  Blob = 0x536f4201,
  Error,
  Options,
  Runtime,
  Cancel,
  Tensor,
  Model,
  Circuit,
  FusionPlan,
  BufferPlan,
  Program,
  Session,
  Sequence,
  Value,
  Graph,
  Plan,
  Ops,
  Call,
  Run,
  Step,
  Effect,
  Journal,
  Cache,
  JournalReply,
  PlanCache,
  HostAllocator,  // what options and runtimes share of a host's; no handles of the interface
  HostLog,
  HostPool,
  Released,  // best effort: says so until the memory is used again
};
std::string_view tag_name(Tag tag);  // "model"

struct Object {
  constexpr explicit Object(Tag kind, const soma_runtime* owner = nullptr)
      : tag(kind), runtime(owner) {}
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  Tag tag;
  std::atomic<u64> references{1};
  const soma_runtime* runtime;  // retained by make(); nullptr: the object lives from malloc
};

// The account that the object itself lives in, and the one that calls about it allocate from. They
// differ for runtimes only, which live from malloc.
Memory* home_memory(const Object& object);
Memory* call_memory(const Object& object);
// Whether this process is a child forked from the one that made the object's runtime.
bool is_forked(const Object& object);

inline void retain_object(const Object* object) {
  const_cast<Object*>(object)->references.fetch_add(1, std::memory_order_relaxed);
}
bool drop_object(const Object* object);  // true: that was the last reference
void retain_runtime(const soma_runtime* runtime);
void release_runtime(const soma_runtime* runtime);

template <typename T>
concept Handle = std::derived_from<T, Object> && requires { T::kind; };

// Handles of calls are no addresses, and odd (call.hpp): for a function of another type they are
// wrong without being looked at, as is everything that can't lie where it says.
template <Handle T>
bool is_valid(const T* handle) {
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(handle) % alignof(T) == 0;
  return handle && is_aligned && handle->tag == T::kind;
}

// A handle from the host: there, and of type T. Of an optional one (`maybe`), NULL is fine.
Status wrong_handle(Tag expected, const Object* got);
template <Handle T>
Status check(const T* handle) {
  if (is_valid(handle)) return {};
  return wrong_handle(T::kind, reinterpret_cast<const Object*>(handle));  // whatever it is
}
template <Handle T>
Status check_maybe(const T* handle) {
  if (!handle) return {};
  return check(handle);
}
// A handle whose content an object of `runtime` will share. It must be of that runtime: its blocks
// go back to where they came from, which nothing else keeps alive.
Status wrong_runtime(Tag tag);
template <Handle T>
Status check_within(const soma_runtime* runtime, const T* handle) {
  SOMA_TRY(check(handle));
  if (handle->runtime == runtime) return {};
  return wrong_runtime(T::kind);
}

template <Handle T>
void retain(const T* handle) noexcept {
  if (is_valid(handle)) retain_object(handle);
}

// In a forked child, where the runtime's threads are missing, nothing is torn down: it leaks.
template <Handle T>
void release(const T* handle) noexcept {
  if (!is_valid(handle) || is_forked(*handle) || !drop_object(handle)) return;
  const soma_runtime* runtime = handle->runtime;
  {
    const MemoryScope scope(home_memory(*handle));
    auto* object = const_cast<T*>(handle);
    object->tag = Tag::Released;
    delete object;
  }
  if (runtime) release_runtime(runtime);
}

// A counted reference in C++ hands.
template <Handle T>
class Ref {
 public:
  Ref() = default;
  static Ref adopt(T* handle) { return Ref(handle); }  // takes over one reference
  static Ref share(const T* handle) {
    retain(handle);
    return Ref(const_cast<T*>(handle));
  }
  Ref(Ref&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Ref() {
    if (handle_) release(handle_);  // also for speed: most of a call's are empty
  }

  T* get() const { return handle_; }
  T* operator->() const { return handle_; }
  T& operator*() const { return *handle_; }
  explicit operator bool() const { return handle_ != nullptr; }
  T* give() && { return std::exchange(handle_, nullptr); }

 private:
  explicit Ref(T* handle) : handle_(handle) {}
  T* handle_ = nullptr;
};

// The only way objects are made. A constructor that throws has not retained the runtime yet.
template <Handle T, typename... Args>
Ref<T> make(Args&&... args) {
  T* made = new T(std::forward<Args>(args)...);
  if (made->runtime) retain_runtime(made->runtime);
  return Ref<T>::adopt(made);
}

// An object that serves one call at a time says so here. Dropped at the end of the scope.
class Claim {
 public:
  Claim() = default;
  Claim(Claim&& other) noexcept : flag_(std::exchange(other.flag_, nullptr)) {}
  Claim& operator=(Claim&&) = delete;
  ~Claim() {
    if (flag_) flag_->store(false, std::memory_order_release);
  }
  Status take(std::atomic<bool>& flag, Tag tag);

 private:
  std::atomic<bool>* flag_ = nullptr;
};

}  // namespace soma::wall
