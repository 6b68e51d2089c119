// Proves of every store what journals need of one: order, all or nothing, identity, durability,
// any bytes, and many threads.
#include <map>
#include <thread>

#include "unit/journal/keepers.hpp"

namespace soma {

namespace {

using Kind = Record::Kind;

constexpr u32 threads = 16, rounds = 12;

template <typename Test>
void each_store(Test test) {
  MemoryPlace memory;
  FilePlace file;
  HostedPlace hosted;
  for (TestPlace* place : {static_cast<TestPlace*>(&memory), static_cast<TestPlace*>(&file),
                           static_cast<TestPlace*>(&hosted)}) {
    CAPTURE(place->name());
    test(*place);
  }
}

Status keep(void* user, Record record) {
  static_cast<std::vector<Record>*>(user)->push_back(std::move(record));
  return {};
}

std::vector<Record> stored(TestPlace& place) {
  const std::unique_ptr<JournalStore> store = must(place.open());
  std::vector<Record> records;
  must(store->load(keep, &records));
  return records;
}

std::unique_ptr<JournalStore> bound(TestPlace& place) {
  std::unique_ptr<JournalStore> store = must(place.open());
  must(store->bind(test_identity));
  std::vector<Record> none;
  must(store->load(keep, &none));
  REQUIRE(none.empty());
  return store;
}

}  // namespace

TEST_CASE("a new store is bound once, and keeps its identity") {
  each_store([](TestPlace& place) {
    {
      const std::unique_ptr<JournalStore> store = must(place.open());
      CHECK(!must(store->identity()));
      must(store->bind(test_identity));
      CHECK(must(store->identity()) == test_identity);
      CHECK(store->bind(test_identity).error().reason() == Reason::internal);
    }
    const std::unique_ptr<JournalStore> store = must(place.open());
    CHECK(must(store->identity()) == test_identity);
    CHECK(store->bind({"other", "p", "i"}).error().reason() == Reason::internal);
  });
}

TEST_CASE("a store that was opened and never bound is still new") {
  each_store([](TestPlace& place) {
    { const std::unique_ptr<JournalStore> store = must(place.open()); }
    const std::unique_ptr<JournalStore> store = must(place.open());
    CHECK(!must(store->identity()));
  });
}

TEST_CASE("a store has one opener at a time") {
  each_store([](TestPlace& place) {
    std::unique_ptr<JournalStore> store = bound(place);
    for (int i = 0; i < 3; ++i) {
      const Result<std::unique_ptr<JournalStore>> second = place.open();
      REQUIRE(!second.ok());
      CHECK(second.error().reason() == Reason::journal_locked);
    }
    must(store->append(std::vector{test_intent("a", 0)}));
    store.reset();
    CHECK(stored(place).size() == 1);
  });
}

TEST_CASE("records come back as they were, in the order of append") {
  each_store([](TestPlace& place) {
    std::vector<Record> expected;
    {
      const std::unique_ptr<JournalStore> store = bound(place);
      for (u32 i = 0; i < 30; ++i) {
        std::vector<Record> group;
        for (u32 k = 0; k <= i % 4; ++k) {
          group.push_back(test_intent(text("n{}", i), k, text("[{},{}]", i, k)));
        }
        must(store->append(group));
        expected.insert(expected.end(), group.begin(), group.end());
      }
      must(store->append({}));
    }
    CHECK(stored(place) == expected);
    CHECK(stored(place) == expected);  // reading changes nothing
  });
}

TEST_CASE("every kind, every number and any bytes are kept") {
  const std::string nul("a\0b\0", 4);
  each_store([&nul](TestPlace& place) {
    std::vector<Record> records;
    for (const Kind kind : {Kind::Intent, Kind::Result, Kind::Failure, Kind::Suspension,
                            Kind::Answer, Kind::Output, Kind::End}) {
      records.push_back({kind, {"p[4294967295]/q", 4294967295u, 4294967295u}, "e", "d", "null",
                         std::numeric_limits<i64>::max()});
    }
    records.push_back({Kind::Intent, {}, "", "", "", std::numeric_limits<i64>::min()});
    records.push_back({Kind::Output, {"é/😀/" + nul, 0, 0}, "😀" + nul, nul, "\"😀\"" + nul, 0});
    records.push_back({Kind::Output, {"'; DROP TABLE record; --", 1, 2}, "\xff\xfe", "\x80",
                       std::string("\xc3\x28\0\xff", 4), -1});
    records.push_back({Kind::Result, {"big", 0, 0}, "", "", std::string(3'000'001, '\xe2'), 0});
    {
      const std::unique_ptr<JournalStore> store = bound(place);
      must(store->append(records));
    }
    CHECK(stored(place) == records);
  });
}

TEST_CASE("the taker's failure ends loading") {
  each_store([](TestPlace& place) {
    const std::unique_ptr<JournalStore> store = bound(place);
    must(store->append(std::vector{test_intent("a", 0), test_intent("a", 1)}));
    u32 taken = 0;
    const Status loaded = store->load([](void* user, Record) -> Status {
      ++*static_cast<u32*>(user);
      return fail(Reason::cancelled, "enough");
    }, &taken);
    CHECK(!loaded.ok());
    CHECK(loaded.error().reason() == Reason::cancelled);
    CHECK(taken == 1);
  });
}

TEST_CASE("a run that was broken off goes on where it was") {
  each_store([](TestPlace& place) {
    const Record first = test_intent("a", 0), second = test_intent("b", 0), output = {
        Kind::Output, {"c", 0, 0}, "now", "d", "17", 5};
    {
      const auto journal = must(Journal::open(must(place.open()), test_identity));
      must(journal->append({first}));
      must(journal->append({test_outcome(Kind::Result, first, "\"one\""), output}));
      must(journal->append({second}));
    }
    const auto journal = must(Journal::open(must(place.open()), test_identity));
    CHECK(must(journal->find(first)).content == "\"one\"");
    CHECK(must(journal->find(output)).content == "17");
    CHECK(must(journal->find(second)).state == Journal::Recorded::State::InDoubt);
    CHECK(records_of(*journal).size() == 4);
    must(journal->append({test_outcome(Kind::Result, second, "2"), test_end("3")}));
    CHECK(journal->result() == "3");
  });
}

TEST_CASE("many threads append at once, and nothing is lost or mixed up") {
  each_store([](TestPlace& place) {
    {
      const auto journal = must(Journal::open(must(place.open()), test_identity));
      std::vector<std::thread> crew;
      std::atomic<u32> failures{0};
      for (u32 t = 0; t < threads; ++t) {
        crew.emplace_back([&journal, &failures, t] {
          for (u32 i = 0; i < rounds; ++i) {
            const Record intent = test_intent(text("t{}", t), i, text("[{}]", i));
            if (!journal->append({intent}).ok()) ++failures;
            Result<Journal::Recorded> found = journal->find(intent);
            if (!found.ok() || found->state != Journal::Recorded::State::InDoubt) ++failures;
            if (!journal->append({test_outcome(Kind::Result, intent, text("{}", t))}).ok()) {
              ++failures;
            }
            found = journal->find(intent);
            if (!found.ok() || found->content != text("{}", t)) ++failures;
          }
        });
      }
      for (std::thread& one : crew) one.join();
      CHECK(failures == 0);
    }
    const std::vector<Record> records = stored(place);
    REQUIRE(records.size() == size_t{2} * threads * rounds);
    std::map<std::string, u32> next;
    for (const Record& record : records) {
      u32& step = next[record.site.path];
      CHECK(record.site.index == step / 2);
      CHECK(record.kind == (step % 2 == 0 ? Kind::Intent : Kind::Result));
      ++step;
    }
    CHECK(next.size() == threads);
  });
}

}  // namespace soma
