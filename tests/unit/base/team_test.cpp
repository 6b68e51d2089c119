// Proves that a team loses no work and no wake-up, waits for nobody it need not wait for, and
// never lets anyone work on after run() has returned.
#include "base/team.hpp"

#include <doctest/doctest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <thread>

#include "base/clock.hpp"

using namespace soma;

namespace {

constexpr i64 second_ns = 1'000'000'000;

// True as soon as `word` is at least `count`; false after ten seconds.
bool reaches(const std::atomic<i32>& word, i32 count) {
  const i64 deadline = now_ns() + 10 * second_ns;
  while (word.load() < count) {
    if (now_ns() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

std::unique_ptr<Team> make_team(i32 threads) {
  auto team = Team::create(threads);
  REQUIRE(team.ok());
  return std::move(team).value();
}

// Everybody waits inside the body until `expected` members are there at once.
struct Rendezvous {
  i32 expected = 0;
  std::atomic<i32> inside{0};
  std::atomic<u32> members{0};
  std::atomic<bool> met{true};
  static void body(void* user, i32 member) {
    auto* self = static_cast<Rendezvous*>(user);
    self->members.fetch_or(u32{1} << member);
    self->inside.fetch_add(1);
    if (!reaches(self->inside, self->expected)) self->met = false;
  }
};

// Items claimed one by one, each counted where it was done.
struct Claims {
  static constexpr i32 items = 500;
  std::atomic<i32> next{0};
  std::array<std::atomic<i32>, items> done{};
  std::atomic<i32> inside{0};
  std::atomic<bool> over{false};
  std::atomic<bool> worked_after{false};
  static void body(void* user, i32) {
    auto* self = static_cast<Claims*>(user);
    self->inside.fetch_add(1);
    i32 item = 0;
    while ((item = self->next.fetch_add(1)) < items) {
      self->done[static_cast<size_t>(item)].fetch_add(1);
      if (self->over) self->worked_after = true;
    }
    self->inside.fetch_sub(1);
  }
};

}  // namespace

TEST_CASE("a team of one is the caller alone, on its own thread") {
  auto team = make_team(1);
  CHECK(team->threads() == 1);
  pthread_t ran_on = {};
  team->run([](void* user, i32 member) {
    CHECK(member == 0);
    *static_cast<pthread_t*>(user) = pthread_self();
  }, &ran_on);
  CHECK(pthread_equal(ran_on, pthread_self()));
}

TEST_CASE("sizes outside 1 to 1024 are refused") {
  for (i32 threads : {-1, 0, 1025}) {
    auto team = Team::create(threads);
    REQUIRE(!team.ok());
    CHECK(team.error().reason() == Reason::argument_range);
  }
}

TEST_CASE("all members meet inside one run, each under its own number") {
  for (i32 threads : {2, 3, 5}) {
    auto team = make_team(threads);
    for (int round = 0; round < 20; ++round) {
      Rendezvous rendezvous;
      rendezvous.expected = threads;
      team->run(Rendezvous::body, &rendezvous);
      CHECK(rendezvous.met);
      CHECK(rendezvous.inside == threads);
      CHECK(rendezvous.members == (u32{1} << threads) - 1);
    }
  }
}

TEST_CASE("helpers that sleep are woken") {
  auto team = make_team(3);
  for (int round = 0; round < 5; ++round) {
    Rendezvous rendezvous;
    rendezvous.expected = 3;
    team->run(Rendezvous::body, &rendezvous);
    CHECK(rendezvous.met);
    usleep(3000);  // far beyond what helpers spend awake
  }
}

TEST_CASE("every item is done once, and nobody is inside when run() returns") {
  auto team = make_team(4);
  for (int round = 0; round < 300; ++round) {
    Claims claims;
    team->run(Claims::body, &claims);
    claims.over = true;
    CHECK(claims.inside == 0);
    bool once = true;
    for (const auto& count : claims.done) once = once && count == 1;
    CHECK(once);
    CHECK(!claims.worked_after);
    if (round % 50 == 0) usleep(500);
  }
}

TEST_CASE("runs of nothing end, whether helpers come in time or not") {
  auto team = make_team(4);
  std::atomic<i32> runs{0};
  auto count = [](void* user, i32 member) {
    if (member == 0) static_cast<std::atomic<i32>*>(user)->fetch_add(1);
  };
  for (int i = 0; i < 1000; ++i) team->run(count, &runs);
  CHECK(runs == 1000);
}

TEST_CASE("a second caller waits for the first") {
  auto team = make_team(2);
  struct Shared {
    std::atomic<i32> callers_inside{0};
    std::atomic<bool> overlapped{false};
    std::atomic<i32> runs{0};
  } shared;
  auto body = [](void* user, i32 member) {
    if (member != 0) return;
    auto* self = static_cast<Shared*>(user);
    if (self->callers_inside.fetch_add(1) != 0) self->overlapped = true;
    self->runs.fetch_add(1);
    std::this_thread::yield();
    self->callers_inside.fetch_sub(1);
  };
  std::array<std::thread, 3> callers;
  for (auto& caller : callers) {
    caller = std::thread([&] {
      for (int i = 0; i < 200; ++i) team->run(body, &shared);
    });
  }
  for (auto& caller : callers) caller.join();
  CHECK(!shared.overlapped);
  CHECK(shared.runs == 600);
}

TEST_CASE("helper threads bear the library's name and take no signals") {
  auto team = make_team(2);
  struct Seen {
    std::atomic<i32> inside{0};
    std::array<char, 16> name{};
    bool blocked = false;
  } seen;
  team->run([](void* user, i32 member) {
    auto* self = static_cast<Seen*>(user);
    if (member == 1) {
      pthread_getname_np(pthread_self(), self->name.data(), self->name.size());
      sigset_t mask;
      pthread_sigmask(SIG_SETMASK, nullptr, &mask);
      self->blocked = sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1;
    }
    self->inside.fetch_add(1);
    CHECK(reaches(self->inside, 2));
  }, &seen);
  CHECK(std::string_view(seen.name.data()) == "soma-1");
  CHECK(seen.blocked);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  CHECK(sigismember(&mine, SIGINT) == 0);
}

TEST_CASE("teams come and go, used or not, asleep or awake") {
  for (int round = 0; round < 30; ++round) {
    auto team = make_team(3);
    if (round % 3 == 0) continue;
    Claims claims;
    team->run(Claims::body, &claims);
    if (round % 3 == 2) usleep(1000);
  }
}
