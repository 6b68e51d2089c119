// Proves that a pool's threads come when they are summoned, each of them a different one, that they
// help only while a job is open, and that a bound and a host's threads are respected.
#include "base/pool.hpp"

#include <doctest/doctest.h>

#include <mutex>
#include <set>
#include <thread>

#include "base/clock.hpp"

using namespace soma;

namespace {

constexpr i64 second_ns = 1'000'000'000;

bool reaches(const std::atomic<i32>& word, i32 count) {
  const i64 deadline = now_ns() + 20 * second_ns;
  while (word.load() < count) {
    if (now_ns() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

// Everybody who serves waits until `expected` do.
struct Meeting {
  i32 expected = 0;
  std::atomic<i32> inside{0};
  std::atomic<i32> met{0};
  std::mutex mutex;
  std::set<std::thread::id> threads;

  Pool::Work work() {
    Pool::Work out;
    out.user = this;
    out.help = [](void*) { return false; };
    out.serve = [](void* user) {
      auto* self = static_cast<Meeting*>(user);
      {
        const std::lock_guard lock(self->mutex);
        self->threads.insert(std::this_thread::get_id());
      }
      self->inside.fetch_add(1);
      if (reaches(self->inside, self->expected)) self->met.fetch_add(1);
    };
    out.watch = [](void*) {};
    return out;
  }
};

// Pieces that are done by whoever comes.
struct Pieces {
  std::atomic<i32> left{0};
  std::atomic<i32> helped{0};
  std::atomic<bool> is_open{false};
  std::atomic<bool> after{false};
  std::atomic<i32> watched{0};

  Pool::Work work() {
    Pool::Work out;
    out.user = this;
    out.help = [](void* user) {
      auto* self = static_cast<Pieces*>(user);
      if (!self->is_open) self->after = true;
      if (self->left.fetch_sub(1) <= 0) return false;
      self->helped.fetch_add(1);
      return true;
    };
    out.serve = [](void*) {};
    out.watch = [](void* user) { static_cast<Pieces*>(user)->watched.fetch_add(1); };
    return out;
  }
};

}  // namespace

TEST_CASE("threads that are summoned come, within the bound and beyond it") {
  const auto pool = Pool::create(3).value();
  for (u32 again = 0; again < 50; ++again) {
    for (const i32 count : {1, 2, 7}) {
      Meeting meeting;
      meeting.expected = count;
      Pool::Job* job = pool->employ(meeting.work());
      pool->open(job);
      CHECK(pool->summon(job, count, Pool::Summon::AllOrNone) == count);
      CHECK(reaches(meeting.met, count));
      pool->close(job);
      CHECK(meeting.threads.size() == static_cast<size_t>(count));
      pool->dismiss(job);
    }
  }
}

TEST_CASE("no more come than the bound allows, and each only once") {
  const auto pool = Pool::create(3).value();
  Meeting meeting;
  meeting.expected = 2;
  Pool::Job* job = pool->employ(meeting.work());
  pool->open(job);
  CHECK(pool->summon(job, 5, Pool::Summon::Fewer) == 2);
  CHECK(reaches(meeting.met, 2));
  pool->close(job);
  CHECK(meeting.threads.size() == 2);
}

TEST_CASE("two jobs summon at the same time, and threads in one are no threads of the other") {
  const auto pool = Pool::create(2).value();
  Meeting first, second;
  first.expected = second.expected = 3;
  Pool::Job* first_job = pool->employ(first.work());
  Pool::Job* second_job = pool->employ(second.work());
  pool->open(first_job);
  pool->open(second_job);
  CHECK(pool->summon(first_job, 2, Pool::Summon::AllOrNone) == 2);
  CHECK(pool->summon(second_job, 2, Pool::Summon::AllOrNone) == 2);
  CHECK(pool->summon(second_job, 1, Pool::Summon::AllOrNone) == 1);
  CHECK(pool->summon(first_job, 1, Pool::Summon::AllOrNone) == 1);
  CHECK(reaches(first.met, 3));
  CHECK(reaches(second.met, 3));
  pool->close(first_job);
  pool->close(second_job);
}

TEST_CASE("threads that were invited help with what is offered, and not after the job closes") {
  const auto pool = Pool::create(3).value();
  Pieces pieces;
  Pool::Job* job = pool->employ(pieces.work());
  for (u32 again = 0; again < 200; ++again) {
    pieces.is_open = true;
    pieces.left = 10;
    pool->open(job);
    pool->offer(job, true);
    pool->invite(2);
    if (again == 0) CHECK(reaches(pieces.helped, 10));
    pool->close(job);
    pieces.is_open = false;
  }
  CHECK_FALSE(pieces.after);
}

TEST_CASE("a bell rings for threads that have nothing to do, and open jobs are watched") {
  const auto pool = Pool::create(2).value();
  Pieces pieces;
  pieces.is_open = true;
  Pool::Job* job = pool->employ(pieces.work());
  pool->open(job);
  pool->invite(1);
  const i64 deadline = now_ns() + 20 * second_ns;
  while (!Pool::bell(job).asked && now_ns() < deadline) std::this_thread::yield();
  CHECK(Pool::bell(job).asked);
  CHECK(reaches(pieces.watched, 3));
  pool->close(job);
}

TEST_CASE("a host's tasks serve, as many as it runs at once") {
  struct Host {
    std::mutex mutex;
    std::vector<std::thread> threads;
    ~Host() {
      for (std::thread& thread : threads) thread.join();
    }
  } host;
  Pool::Host table;
  table.user = &host;
  table.parallelism = 3;
  table.submit = [](void* user, void (*task)(void*), void* argument) {
    auto* self = static_cast<Host*>(user);
    const std::lock_guard lock(self->mutex);
    self->threads.emplace_back(task, argument);
  };
  const auto pool = Pool::create(table).value();
  CHECK(pool->threads() == 4);
  CHECK_FALSE(pool->watches());
  Meeting meeting;
  meeting.expected = 3;
  Pool::Job* job = pool->employ(meeting.work());
  pool->open(job);
  CHECK(pool->summon(job, 5, Pool::Summon::AllOrNone) == 0);
  CHECK(pool->summon(job, 5, Pool::Summon::Fewer) == 3);
  CHECK(reaches(meeting.met, 3));
  pool->close(job);
}

TEST_CASE("what a pool is not made of") {
  CHECK(Pool::create(0).error().id() == "argument.range");
  CHECK(Pool::create(2000).error().id() == "argument.range");
  CHECK(Pool::create(Pool::Host{}).error().id() == "argument.null");
}
