// Proves that a short mutex lets one thread in at a time, also past one that holds it for long.
#include "base/short_mutex.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace soma;

TEST_CASE("one thread at a time") {
  constexpr int threads = 4, times = 20'000;
  ShortMutex mutex;
  int count = 0;                    // without the mutex, some would be lost
  std::vector<std::thread> all;
  for (int thread = 0; thread < threads; ++thread) {
    all.emplace_back([&] {
      for (int i = 0; i < times; ++i) {
        const std::lock_guard lock(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : all) thread.join();
  CHECK(count == threads * times);
}

TEST_CASE("who waits for long sleeps, and is woken") {
  constexpr i64 long_ns = 20'000'000;
  ShortMutex mutex;
  std::atomic<bool> waits{false};
  std::unique_lock lock(mutex);
  std::thread other([&] {
    waits.store(true);
    const std::lock_guard mine(mutex);
    waits.store(false);
  });
  while (!waits.load()) std::this_thread::yield();
  bool waited = true;
  for (const i64 until_ns = now_ns() + long_ns; now_ns() < until_ns;) waited &= waits.load();
  CHECK(waited);
  lock.unlock();
  other.join();
  CHECK_FALSE(waits.load());
}
