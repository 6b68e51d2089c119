// Proves that every kind of store keeps what the interface says: the one in memory, the one on disk
// and both as tiers.
#include <thread>

#include "unit/cache/places.hpp"
#include "unit/value/random_value.hpp"

namespace soma {

namespace {

struct Place {
  std::string name;
  TestFolder folder;
  std::unique_ptr<CacheStore> store;
};

// All kinds, with that bound.
std::vector<std::unique_ptr<Place>> places(u64 bytes_max = u64{1} << 30) {
  std::vector<std::unique_ptr<Place>> out;
  for (const std::string name : {"memory", "disk"}) {
    auto place = std::make_unique<Place>();
    place->name = name;
    if (name == "memory") {
      place->store = std::make_unique<MemoryStore>(bytes_max);
    } else {
      place->store = must(DiskStore::open(place->folder.path(), bytes_max));
    }
    out.push_back(std::move(place));
  }
  return out;
}

}  // namespace

TEST_CASE("what was put comes back, and nothing else does") {
  for (const auto& place : places()) {
    CAPTURE(place->name);
    CacheStore& store = *place->store;
    fixture::RandomValue random(5);
    std::vector<std::string> forms;
    for (u32 i = 0; i < 60; ++i) {
      const Value value = random.make();
      forms.push_back(value_binary(value).value());
      must(store.put(key_of(text("{}", i)), entry_of(value)));
    }
    for (u32 i = 0; i < 60; ++i) {
      const std::optional<CacheEntry> entry = store.get(key_of(text("{}", i)));
      REQUIRE(entry);
      CHECK(value_binary(entry->value) == forms[i]);
      CHECK(entry->op == "test");
      CHECK(entry->took_ns == 1'000'000);
      CHECK_FALSE(entry->alias);
      if (entry->digest) CHECK(*entry->digest == value_digest(entry->value));
    }
    CHECK_FALSE(store.get(key_of("60")));
    CHECK(must(store.use()).entries == 60);
    CHECK(must(store.verify(nullptr)).entries == 60);
  }
}

TEST_CASE("a key that is put again has what was put last") {
  for (const auto& place : places()) {
    CAPTURE(place->name);
    CacheStore& store = *place->store;
    must(store.put(key_of("a"), entry_of(Value::integer(1))));
    must(store.put(key_of("a"), entry_of(noise(50'000, 1))));
    must(store.put(key_of("a"), entry_of(Value::integer(2))));
    CHECK(store.get(key_of("a"))->value == Value::integer(2));
    const CacheUse use = must(store.use());
    CHECK(use.entries == 1);
    CHECK(use.bytes < 5'000);
  }
}

TEST_CASE("an alias is kept as such, also of what is not there") {
  for (const auto& place : places()) {
    CAPTURE(place->name);
    CacheStore& store = *place->store;
    must(store.put(key_of("recipe"), alias_of(key_of("content"))));
    const std::optional<CacheEntry> entry = store.get(key_of("recipe"));
    REQUIRE(entry);
    CHECK(entry->alias == key_of("content"));
    CHECK(entry->value.is_null());
  }
}

TEST_CASE("beyond the bound, what was not used for longest goes first") {
  for (const auto& place : places(1'000'000)) {
    CAPTURE(place->name);
    CacheStore& store = *place->store;
    const auto is_there = [&store](u32 i) { return store.get(key_of(text("{}", i))).has_value(); };
    for (u32 i = 0; i < 9; ++i) {
      must(store.put(key_of(text("{}", i)), entry_of(noise(100'000, i))));
      if (place->name == "disk") age(file_of(place->folder, key_of(text("{}", i))), 1000 - i);
    }
    CHECK(is_there(0));  // used again
    must(store.put(key_of("9"), entry_of(noise(100'000, 9))));
    must(store.put(key_of("10"), entry_of(noise(100'000, 10))));
    CHECK(must(store.use()).bytes <= 1'000'000);
    CHECK(must(store.use()).evicted >= 1);
    CHECK_FALSE(is_there(1));
    for (const u32 i : {0U, 5U, 8U, 9U, 10U}) CHECK(is_there(i));
  }
}

TEST_CASE("what is too large for the bound is refused, and nothing goes for it") {
  for (const auto& place : places(100'000)) {
    CAPTURE(place->name);
    must(place->store->put(key_of("small"), entry_of(Value::text("x"))));
    CHECK(reason_of(place->store->put(key_of("large"), entry_of(noise(200'000, 1)))) ==
          "cache.store");
    CHECK(place->store->get(key_of("small")));
    CHECK_FALSE(place->store->get(key_of("large")));
  }
}

TEST_CASE("pinned entries stay whatever goes, with what they are aliases of") {
  for (const auto& place : places()) {
    CAPTURE(place->name);
    CacheStore& store = *place->store;
    must(store.put(key_of("content"), entry_of(noise(1000, 1))));
    must(store.put(key_of("recipe"), alias_of(key_of("content"))));
    must(store.put(key_of("other"), entry_of(noise(1000, 2))));
    must(store.pin(key_of("recipe")));
    must(store.pin(key_of("recipe")));
    CHECK(must(store.use()).pinned == 2);
    CHECK(must(store.sweep(0)).entries == 1);
    CHECK(store.get(key_of("recipe")));
    CHECK(store.get(key_of("content")));
    must(store.put(key_of("content"), entry_of(noise(1000, 1))));  // stays pinned
    CHECK(must(store.sweep(0)).entries == 0);
    must(store.unpin(key_of("recipe")));
    CHECK(must(store.use()).pinned == 0);
    CHECK(must(store.sweep(0)).entries == 2);
    CHECK(must(store.use()).bytes == 0);
    CHECK(reason_of(store.pin(key_of("recipe"))) == "cache.not_found");
    CHECK(reason_of(store.unpin(key_of("recipe"))) == "cache.not_found");
  }
}

TEST_CASE("each entry is told once, with its op and its time") {
  for (const auto& place : places()) {
    CAPTURE(place->name);
    must(place->store->put(key_of("content"), entry_of(Value())));
    must(place->store->put(key_of("recipe"), alias_of(key_of("content"))));
    std::vector<CacheRecord> records;
    must(place->store->each([](void* user, const CacheRecord& record) {
      static_cast<std::vector<CacheRecord>*>(user)->push_back(record);
    }, &records));
    REQUIRE(records.size() == 2);
    if (records[0].alias) std::swap(records[0], records[1]);
    CHECK(records[0].key == key_of("content"));
    CHECK(records[0].op == "test");
    CHECK(records[0].took_ns == 1'000'000);
    CHECK(records[1].key == key_of("recipe"));
    CHECK(records[1].alias == key_of("content"));
  }
}

TEST_CASE("many threads put, get, pin and sweep at once, and none sees another's value") {
  for (const auto& place : places(300'000)) {
    CAPTURE(place->name);
    CacheStore& store = *place->store;
    std::atomic<u32> wrong{0}, found{0};
    std::vector<std::thread> threads;
    for (u32 t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        fixture::RandomValue random(t);
        for (u32 i = 0; i < 150; ++i) {
          const u32 which = random.below(30);
          const CacheKey key = key_of(text("{}", which));
          const u32 what = random.below(20);
          if (what == 0) static_cast<void>(store.sweep(100'000));
          if (what == 1) static_cast<void>(store.pin(key));
          if (what == 2) static_cast<void>(store.unpin(key));
          if (what > 11) static_cast<void>(store.put(key, entry_of(noise(10'000, which))));
          const std::optional<CacheEntry> entry = store.get(key);
          if (!entry) continue;
          ++found;
          if (!(entry->value == noise(10'000, which))) ++wrong;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(found > 50);
    CHECK(must(store.verify(nullptr)).damaged == 0);
  }
}

// ---- Both tiers as one

TEST_CASE("a cache with a folder finds what another one left there, and keeps it in memory") {
  const TestFolder folder;
  must(must(Cache::open(folder.path(), {}))->put(key_of("a"), entry_of(Value::integer(7))));
  const std::unique_ptr<Cache> cache = must(Cache::open(folder.path(), {}));
  must(cache->put(key_of("recipe"), alias_of(key_of("a"))));
  CHECK(cache->get(key_of("recipe"))->value == Value::integer(7));
  std::filesystem::remove_all(folder / key_of("a").hex().substr(0, 2));
  CHECK(cache->get(key_of("recipe"))->value == Value::integer(7));
  CHECK(must(cache->sweep(0)).entries == 1);
  CHECK_FALSE(cache->get(key_of("recipe")));
}

TEST_CASE("an alias of an alias, or of nothing, is a miss") {
  Cache cache({});
  must(cache.put(key_of("1"), alias_of(key_of("2"))));
  must(cache.put(key_of("2"), alias_of(key_of("1"))));
  must(cache.put(key_of("3"), alias_of(key_of("4"))));
  CHECK_FALSE(cache.get(key_of("1")));
  CHECK_FALSE(cache.get(key_of("3")));
}

TEST_CASE("a write that fails is counted, and its reason kept") {
  Cache cache({.memory_bytes = 1000, .disk_bytes = 0});
  CHECK(reason_of(cache.put(key_of("a"), entry_of(noise(5000, 1)))) == "cache.store");
  must(cache.put(key_of("b"), entry_of(Value())));
  CHECK(cache.counts().failed_writes == 1);
  CHECK(cache.last_failure().find("bytes") != std::string::npos);
}

}  // namespace soma
