// Lends slots for calls to strands, and tells what is over.
#include "abi/call.hpp"

using namespace soma;
using namespace soma::wall;

namespace {
// As large as a call; checks see its tag, and no more.
struct alignas(soma_call) OverCall {
  Object object{Tag::Released};
  u8 rest[sizeof(soma_call) - sizeof(Object)] = {};
};
constinit const OverCall over_call;
}  // namespace

soma_call* soma_call::over() {
  return reinterpret_cast<soma_call*>(const_cast<OverCall*>(&over_call));
}

namespace soma::wall {

CallSlots::~CallSlots() {
  while (all_) delete std::exchange(all_, all_->next_of_all);
}

void CallSlots::make_one() {
  auto* made = new soma_call(runtime_);
  made->next_of_all = std::exchange(all_, made);
  made->next_spare = std::exchange(spare_, made);
}

void CallSlots::prepare() {
  const std::lock_guard lock(mutex_);
  if (!spare_) make_one();
}

soma_call& CallSlots::borrow() {
  const std::lock_guard lock(mutex_);
  if (!spare_) make_one();
  return *std::exchange(spare_, spare_->next_spare);
}

void CallSlots::give_back(soma_call& slot) noexcept {
  if (slot.is_used_up()) return;
  const std::lock_guard lock(mutex_);
  slot.next_spare = std::exchange(spare_, &slot);
}

}  // namespace soma::wall
