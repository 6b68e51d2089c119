// Proves that processes that share a folder and are killed at any moment leave whole entries only.
#include <sys/wait.h>
#include <time.h>

#include <csignal>
#include <random>

#include "unit/cache/places.hpp"

namespace soma {

namespace {

constexpr u32 keys = 40;

Value value_of(u32 which) { return noise(which % 8 == 7 ? 400'000 : which * 97, which); }

// Puts, gets and sweeps until it is killed; ends by itself only if it sees a wrong value.
[[noreturn]] void work_for_ever(const std::string& path, u32 seed, int pipe) {
  Result<std::unique_ptr<DiskStore>> store = DiskStore::open(path, 2'000'000);
  if (!store.ok()) ::_exit(3);
  std::minstd_rand random(seed + 1);
  for (u8 done = 0;; done = 1) {
    const auto which = static_cast<u32>(random() % keys);
    const CacheKey key = key_of(text("{}", which));
    const std::optional<CacheEntry> entry = (*store)->get(key);
    if (entry && !(entry->value == value_of(which))) ::_exit(4);
    if (!(*store)->put(key, entry_of(value_of(which))).ok()) ::_exit(5);
    if (done == 0 && ::write(pipe, &done, 1) != 1) ::_exit(6);
  }
}

}  // namespace

TEST_CASE("two writers at a time, killed two hundred times, leave whole entries only") {
  constexpr u32 rounds = 100, writers = 2;
  const TestFolder folder;
  std::minstd_rand random(3);
  for (u32 round = 0; round < rounds; ++round) {
    pid_t children[writers];
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    for (u32 w = 0; w < writers; ++w) {
      children[w] = ::fork();
      REQUIRE(children[w] >= 0);
      if (children[w] == 0) work_for_ever(folder.path(), round * writers + w, ends[1]);
    }
    u8 done = 0;
    for (u32 w = 0; w < writers; ++w) REQUIRE(::read(ends[0], &done, 1) == 1);
    const timespec delay = {.tv_sec = 0, .tv_nsec = static_cast<i64>(random() % 5'000'000)};
    ::nanosleep(&delay, nullptr);
    for (const pid_t child : children) {
      ::kill(child, SIGKILL);
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      CHECK(WIFSIGNALED(status));  // it did not fail on its own
    }
    ::close(ends[0]);
    ::close(ends[1]);
  }
  const std::unique_ptr<DiskStore> store = must(DiskStore::open(folder.path(), 2'000'000));
  const CacheCheck check = must(store->verify(nullptr));
  CHECK(check.damaged == 0);
  CHECK(check.foreign == 0);
  CHECK(check.entries > 5);
  for (u32 which = 0; which < keys; ++which) {
    const std::optional<CacheEntry> entry = store->get(key_of(text("{}", which)));
    if (entry) CHECK(entry->value == value_of(which));
  }
}

TEST_CASE("many processes may make one folder a cache at the same time") {
  for (u32 round = 0; round < 20; ++round) {
    const TestFolder folder;
    std::vector<pid_t> children;
    for (u32 i = 0; i < 6; ++i) {
      children.push_back(::fork());
      REQUIRE(children.back() >= 0);
      if (children.back() != 0) continue;
      Result<std::unique_ptr<DiskStore>> store = DiskStore::open(folder / "cache", 1'000'000);
      const bool works = store.ok() && (*store)->put(key_of("a"), entry_of(Value())).ok();
      ::_exit(works ? 0 : 1);
    }
    for (const pid_t child : children) {
      int status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      CHECK(status == 0);
    }
  }
}

}  // namespace soma
