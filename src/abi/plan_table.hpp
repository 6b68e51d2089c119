// Plans that were compiled, by what they were compiled from: the table behind a plan cache.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <mutex>

#include "abi/plan.hpp"
#include "base/hash.hpp"

namespace soma::wall {

// Any number of threads at once.
class PlanTable {
 public:
  struct Limits {
    u64 plans = 0, bytes = 0;
  };
  struct Key {
    DigestBytes graph = {};
    PlanMode mode = PlanMode::Inference;
    bool parallelize_dag = false;
    std::optional<i64> chunk_size;
    auto operator<=>(const Key&) const = default;
  };
  struct Facts {
    u64 hits = 0, misses = 0, failures = 0, evicted = 0;  // a failure is also a miss
    u64 plans = 0, bytes = 0;
  };

  explicit PlanTable(Limits limits);
  ~PlanTable();
  PlanTable(const PlanTable&) = delete;
  PlanTable& operator=(const PlanTable&) = delete;

  // The key's plan, made if it is missing: by one thread, however many ask meanwhile. What fails
  // fails for all who wait for it, and is not kept.
  class Maker {
   public:
    virtual Result<Ref<soma_plan>> make() = 0;

   protected:
    ~Maker() = default;
  };
  Result<Ref<soma_plan>> get(const Key& key, Maker& maker);

  Facts facts() const;
  const Limits& limits() const { return limits_; }

 private:
  struct Entry {
    const Key* key;
    Ref<soma_plan> plan;
    u64 bytes = 0;
  };
  using Entries = std::list<Entry>;
  struct Making;
  class Asking;
  using Lock = std::unique_lock<std::mutex>;

  Ref<soma_plan> find(const Key& key);
  Result<Ref<soma_plan>> make(Making& making, Maker& maker, Lock& lock);
  Entries keep(const Key& key, const Ref<soma_plan>& plan, u64 bytes);

  const Limits limits_;
  std::atomic<u32> turns_{0};             // how often somebody has ended making a plan
  mutable std::mutex mutex_;              // guards:
  Entries entries_;                       // the one used last comes first
  std::map<Key, Entries::iterator> places_;
  std::list<Making> makings_;             // under way, or not yet noticed by all who wait
  Facts facts_;
};

}  // namespace soma::wall
