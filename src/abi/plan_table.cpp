// Keeps plans, and has each made once.
//
// Problem. Many threads ask for the plan of one graph when a server starts, or when a plan has just
// been dropped. Each compiling it would take all of them as long as one, and their memory too.
//
// Idea. Who finds no plan looks whether somebody makes it, and waits for that one's end; otherwise
// it makes the plan, without the lock. Whoever waits holds the place of the making, so it gets what
// came of it, a failure too, also if the table has let go of the plan by then. A maker that is
// unwound (no memory) leaves neither plan nor failure: then those who wait ask anew.
//
// Bound. After each plan that comes, those used longest ago go until number and bytes fit; one that
// alone is too large is given out and not kept. Plans are let go of outside of the lock.
#include "abi/plan_table.hpp"

#include <algorithm>

#include "abi/guard.hpp"
#include "base/spin.hpp"
#include "plan/memory.hpp"

namespace soma::wall {

struct PlanTable::Making {
  const Key key;
  u32 askers = 0;
  bool is_over = false;
  Ref<soma_plan> plan = {};
  std::optional<Error> failure = {};
};

PlanTable::PlanTable(Limits limits) : limits_(limits) {}
PlanTable::~PlanTable() = default;

// One thread's part in a making, under the lock at its beginning and its end.
class PlanTable::Asking {
 public:
  Asking(PlanTable& table, const Key& key) : table_(table) {
    auto& all = table.makings_;
    place_ = std::find_if(all.begin(), all.end(), [&key](const Making& one) {
      return !one.is_over && one.key == key;
    });
    is_maker_ = place_ == all.end();
    if (is_maker_) {
      all.push_front(Making{key});
      place_ = all.begin();
    }
    ++place_->askers;
  }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  ~Asking() {
    if (--place_->askers == 0) table_.makings_.erase(place_);
  }
  bool is_maker() const { return is_maker_; }
  Making& making() const { return *place_; }

  void wait(Lock& lock) const {
    while (!place_->is_over) {
      const u32 seen = table_.turns_.load();
      lock.unlock();
      futex_wait(table_.turns_, seen);
      lock.lock();
    }
  }

 private:
  PlanTable& table_;
  std::list<Making>::iterator place_;
  bool is_maker_ = false;
};

Result<Ref<soma_plan>> PlanTable::get(const Key& key, Maker& maker) {
  Lock lock(mutex_);
  while (true) {
    if (Ref<soma_plan> found = find(key)) return found;
    const Asking asking(*this, key);
    Making& making = asking.making();
    if (asking.is_maker()) return make(making, maker, lock);
    asking.wait(lock);
    if (making.plan) {
      ++facts_.hits;
      return Ref<soma_plan>::share(making.plan.get());
    }
    if (making.failure) return copy_of(*making.failure);
  }
}

Ref<soma_plan> PlanTable::find(const Key& key) {
  const auto place = places_.find(key);
  if (place == places_.end()) return {};
  entries_.splice(entries_.begin(), entries_, place->second);
  ++facts_.hits;
  return Ref<soma_plan>::share(place->second->plan.get());
}

Result<Ref<soma_plan>> PlanTable::make(Making& making, Maker& maker, Lock& lock) {
  // Whatever comes of it, those who wait learn that it is over.
  struct End {
    Making& making;
    Lock& lock;
    PlanTable& table;
    ~End() {
      if (!lock.owns_lock()) lock.lock();
      making.is_over = true;
      table.turns_.fetch_add(1);
      futex_wake_all(table.turns_);
    }
  };
  Entries dropped;
  const End end{making, lock, *this};
  ++facts_.misses;
  lock.unlock();
  Result<Ref<soma_plan>> made = maker.make();
  const u64 bytes = made.ok() ? plan_memory_bytes((*made)->plan) : 0;
  std::optional<Error> failure;
  if (!made.ok()) failure = copy_of(made.error());
  lock.lock();
  if (failure) {
    ++facts_.failures;
    making.failure = std::move(failure);
    return made;
  }
  making.plan = Ref<soma_plan>::share(made->get());
  dropped = keep(making.key, making.plan, bytes);
  lock.unlock();
  dropped.clear();
  return made;
}

// What had to go for it.
PlanTable::Entries PlanTable::keep(const Key& key, const Ref<soma_plan>& plan, u64 bytes) {
  Entries dropped;
  if (bytes > limits_.bytes || limits_.plans == 0) return dropped;
  entries_.push_front({nullptr, Ref<soma_plan>::share(plan.get()), bytes});
  try {
    entries_.front().key = &places_.emplace(key, entries_.begin()).first->first;
  } catch (...) {
    entries_.pop_front();
    throw;
  }
  facts_.bytes += bytes;
  while (entries_.size() > limits_.plans || facts_.bytes > limits_.bytes) {
    facts_.bytes -= entries_.back().bytes;
    ++facts_.evicted;
    places_.erase(*entries_.back().key);
    dropped.splice(dropped.begin(), entries_, std::prev(entries_.end()));
  }
  return dropped;
}

PlanTable::Facts PlanTable::facts() const {
  const std::lock_guard lock(mutex_);
  Facts facts = facts_;
  facts.plans = entries_.size();
  return facts;
}

}  // namespace soma::wall
