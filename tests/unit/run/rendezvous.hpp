// Functions that wait for each other, for tests of concurrency: with deadlines, never by sleeping.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "base/clock.hpp"
#include "unit/run/run_text.hpp"

namespace soma::fixture {

inline constexpr i64 second_ns = 1'000'000'000;

// Waits until as many calls are in it as it expects. Yields whether they met.
class Rendezvous {
 public:
  explicit Rendezvous(u32 expected, i64 patience_ns = 20 * second_ns)
      : expected_(expected), patience_ns_(patience_ns) {}

  Status operator()(NodeCall& call) {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    const auto patience = std::chrono::nanoseconds(patience_ns_);
    const bool met = changed_.wait_for(lock, patience, [this] { return arrived_ >= expected_; });
    call.output() = Value::boolean(met);
    return {};
  }
  void reset() { arrived_ = 0; }

 private:
  const u32 expected_;
  const i64 patience_ns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  u32 arrived_ = 0;
};

// Something that happens once.
class Signal {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    is_set_ = true;
    changed_.notify_all();
  }
  bool wait() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [this] { return is_set_; });
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    is_set_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_set_ = false;
};

// Notes which thread called which node.
class Threads {
 public:
  Status operator()(NodeCall& call) {
    const std::lock_guard lock(mutex_);
    of_[call.node().id.str()] = std::this_thread::get_id();
    return {};
  }
  std::thread::id of(const std::string& id) const { return of_.at(id); }
  size_t different() const {
    std::set<std::thread::id> all;
    for (const auto& [id, thread] : of_) all.insert(thread);
    return all.size();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::thread::id> of_;
};

inline std::unique_ptr<Pool> pool_of(i32 threads) { return Pool::create(threads).value(); }

}  // namespace soma::fixture
