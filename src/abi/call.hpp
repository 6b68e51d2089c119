// What a host's function gets when its node runs, and the handle by which it knows it.
//
// Problem. A call is over when the function returns, and a strand makes millions of them, in the
// same memory. A host that keeps the handle must not reach the next node's call with it, nor the
// memory of something else, and the call itself should cost next to nothing.
//
// Idea. A strand keeps one slot for all its calls, and counts them. The handle is no address but
// the slot's address with the number of the call, in bits that addresses of slots don't use, and
// with the lowest bit set, which no pointer to an object has. So what a handle means is looked up
// (of), and one of another number is refused. Slots live as long as the runtime, so there is always
// something to look at; one whose numbers are used up, after four million calls, is left alone for
// good. Functions for other types refuse a pointer with the lowest bit set without looking at it
// (handle.hpp).
#pragma once

#include <mutex>

#include "abi/value.hpp"
#include "run/gradient_call.hpp"
#include "run/node_call.hpp"

struct alignas(128) soma_call final : soma::wall::Object {
  static constexpr soma::wall::Tag kind = soma::wall::Tag::Call;
  explicit soma_call(const soma_runtime* owner) : Object(kind, owner) {}

  // A handle for the call that begins now: of a node's function, or of its vjp.
  soma_call* begin(soma::NodeCall& at_hand) {
    node = &at_hand;
    return handle();
  }
  soma_call* begin(soma::GradientCall& at_hand) {
    gradient = &at_hand;
    has_more = true;
    return handle();
  }
  soma_call* handle() {
    return reinterpret_cast<soma_call*>(reinterpret_cast<std::uintptr_t>(this) | is_call |
                                        spread(number_.load(std::memory_order_relaxed)));
  }
  void end() {
    number_.store(number_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    node = nullptr;
    if (has_more) forget();
  }
  void forget() {
    has_more = false;
    gradient = nullptr;
    input = {};
    state = {};
    yielded_value = {};
    gradient_value = {};
    failure.reset();
  }
  const soma::Value& read() { return gradient ? gradient->input() : node->input(); }
  soma::Value& output() { return gradient ? gradient->output() : node->output(); }
  soma::Status check() { return gradient ? gradient->check() : node->check(); }
  // The last number is no call's: all handles that there have been are over.
  bool is_used_up() const { return number_.load(std::memory_order_relaxed) == numbers - 1; }

  // The call that a host means by a handle, which may be one of another type. For checks as of any
  // handle: one that is over has the tag of what was released.
  static soma_call* of(soma_call* handle) {
    const auto bits = reinterpret_cast<std::uintptr_t>(handle);
    if ((bits & is_call) == 0) return handle;
    auto* slot = reinterpret_cast<soma_call*>(bits & ~(low_bits | high_bits));
    const std::uintptr_t number = slot->number_.load(std::memory_order_relaxed);
    return spread(number) == (bits & (low_bits | high_bits) & ~is_call) ? slot : over();
  }

  soma::NodeCall* node = nullptr;          // one of these two
  soma::GradientCall* gradient = nullptr;
  // Made when they are asked for.
  soma::wall::Ref<soma_value> input, state, yielded_value, gradient_value;
  std::optional<std::string> failure;
  bool has_more = false;                   // than the node: most calls end without
  soma_call *next_of_all = nullptr, *next_spare = nullptr;  // the slots' lists

 private:
  static_assert(sizeof(void*) == 8, "a handle needs bits beyond those of an address");
  static constexpr std::uintptr_t is_call = 1, low_bits = 127;
  static constexpr std::uintptr_t high_bits = std::uintptr_t{0xffff} << 48;
  static constexpr std::uintptr_t numbers = std::uintptr_t{1} << 22;
  // Six bits of a number below an address, and sixteen above it.
  static constexpr std::uintptr_t spread(std::uintptr_t number) {
    return (number & 63) << 1 | number >> 6 << 48;
  }
  static soma_call* over();

  std::atomic<soma::u32> number_{0};
};

namespace soma::wall {

// The slots of a runtime's calls: in a list of all, and those that no strand has in another.
class CallSlots {
 public:
  explicit CallSlots(const soma_runtime* runtime) : runtime_(runtime) {}
  CallSlots(const CallSlots&) = delete;
  CallSlots& operator=(const CallSlots&) = delete;
  ~CallSlots();
  // Has one ready, so that one run on one thread allocates nothing for its calls.
  void prepare();
  // For a strand that has none.
  soma_call& borrow();
  void give_back(soma_call& slot) noexcept;

 private:
  void make_one();                         // under the mutex

  const soma_runtime* const runtime_;
  std::mutex mutex_;                       // guards:
  soma_call *all_ = nullptr, *spare_ = nullptr;
};

// A value of a call's, lent until it is over.
template <typename Find>
const soma_value* show(soma_call* handle, Find find) {
  soma_call* const call = soma_call::of(handle);
  if (!is_valid(call) || is_forked(*call)) return nullptr;
  try {
    const MemoryScope inside(call_memory(*call));
    call->has_more = true;
    return find(*call);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace soma::wall
