// Proves that files that were cut off, changed, swapped or are no files at all are misses and never
// values, and that a folder that can't be written fails nothing.
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "base/compress.hpp"
#include "unit/cache/places.hpp"

namespace soma {

namespace {

Value sample() {
  return Value::map({{"text", Value::text("kept")}, {"list", Value::list({Value::integer(1)})},
                     {"bytes", noise(40, 1)}});
}

struct Sound {
  TestFolder folder;
  std::unique_ptr<DiskStore> store = must(DiskStore::open(folder.path(), u64{1} << 30));
  CacheKey key = key_of("a");
  std::string file = file_of(folder, key);
  std::string blob;

  Sound() {
    must(store->put(key, entry_of(sample())));
    blob = file_bytes(file);
  }
  bool is_found() { return store->get(key).has_value(); }
};

}  // namespace

TEST_CASE("every cut is a miss") {
  Sound sound;
  for (size_t cut = 0; cut < sound.blob.size(); ++cut) {
    write_file(sound.file, std::string_view(sound.blob).substr(0, cut));
    REQUIRE_FALSE(sound.is_found());
  }
  write_file(sound.file, sound.blob + '\0');
  CHECK_FALSE(sound.is_found());
  write_file(sound.file, sound.blob);
  CHECK(sound.store->get(sound.key)->value == sample());
  CHECK(must(sound.store->use()).damaged == sound.blob.size() + 1);
}

TEST_CASE("every flipped bit is a miss") {
  Sound sound;
  for (size_t bit = 0; bit < 8 * sound.blob.size(); ++bit) {
    std::string changed = sound.blob;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    write_file(sound.file, changed);
    REQUIRE_FALSE(sound.is_found());
  }
}

TEST_CASE("random bytes, other files, folders, pipes and links are misses") {
  Sound sound;
  for (u64 seed = 0; seed < 200; ++seed) {
    const Value bytes = noise(seed * 3, seed);
    write_file(sound.file, {reinterpret_cast<const char*>(bytes.bytes().data()), seed * 3});
    REQUIRE_FALSE(sound.is_found());
  }
  must(sound.store->put(key_of("b"), entry_of(Value::integer(2))));
  write_file(sound.file, file_bytes(file_of(sound.folder, key_of("b"))));
  CHECK_FALSE(sound.is_found());  // sound, but another's
  std::filesystem::remove(sound.file);
  std::filesystem::create_directory(sound.file);
  CHECK_FALSE(sound.is_found());
  std::filesystem::remove(sound.file);
  REQUIRE(::mkfifo(sound.file.c_str(), 0600) == 0);
  CHECK_FALSE(sound.is_found());
  std::filesystem::remove(sound.file);
  write_file(sound.folder / "elsewhere", sound.blob);
  std::filesystem::create_symlink(sound.folder / "elsewhere", sound.file);
  CHECK_FALSE(sound.is_found());
  must(sound.store->put(sound.key, entry_of(sample())));
  CHECK(sound.is_found());
  CHECK(file_bytes(sound.folder / "elsewhere") == sound.blob);
}

TEST_CASE("a well-made lie is a miss: digests that fit, and a content that does not") {
  Sound sound;
  const CacheEntry entry = entry_of({});
  const std::string content = value_binary(sample()).value();
  const auto is_found = [&sound](std::string_view frame, u64 bytes, const CacheEntry& of) {
    write_file(sound.file, cache_blob_around(sound.key, of, frame, bytes));
    return sound.is_found();
  };
  const std::string frame = must(compress(content));
  CHECK(is_found(frame, content.size(), entry));
  CHECK_FALSE(is_found(frame, content.size() + 1, entry));
  CHECK_FALSE(is_found(frame, ~u64{0}, entry));
  CHECK_FALSE(is_found("no frame", 8, entry));
  CHECK_FALSE(is_found(must(compress("no value")), 8, entry));
  CHECK_FALSE(is_found(frame, content.size(), alias_of(key_of("b"))));
  CacheEntry odd = entry;
  odd.op = "\xff";
  CHECK_FALSE(is_found(frame, content.size(), odd));
  odd.op = std::string(5000, 'x');  // too long to be kept
  CHECK(is_found(frame, content.size(), odd));
}

TEST_CASE("verify counts what is sound, removes what is damaged, leaves alone what is not ours") {
  Sound sound;
  for (const std::string_view name : {"b", "c", "d", "e"}) {
    must(sound.store->put(key_of(name), entry_of(Value::text(std::string(name)))));
  }
  write_file(file_of(sound.folder, key_of("b")), "x");
  const std::string newer = file_of(sound.folder, key_of("c"));
  std::string blob = file_bytes(newer);
  blob[8] = 2;  // the version
  write_file(newer, blob);
  write_file(sound.folder / (sound.key.hex().substr(0, 2) + "/notes.txt"), "mine");
  write_file(sound.folder / "notes.txt", "mine");
  const CacheCheck check = must(sound.store->verify(nullptr));
  CHECK(check.entries == 3);
  CHECK(check.damaged == 1);
  CHECK(check.foreign == 2);
  CHECK(check.unreadable == 0);
  CHECK_FALSE(std::filesystem::exists(file_of(sound.folder, key_of("b"))));
  CHECK(std::filesystem::exists(newer));
  CHECK(must(sound.store->sweep(0)).entries == 4);
  CHECK(std::filesystem::exists(sound.folder / "notes.txt"));
  CHECK(must(sound.store->verify(nullptr)).entries == 0);
}

TEST_CASE("what a broken-off writer left is swept after an hour") {
  Sound sound;
  write_file(sound.folder / "new/abc", "half");
  CHECK(must(sound.store->sweep(u64{1} << 30)).left_overs == 0);
  age(sound.folder / "new/abc", 4000);
  CHECK(must(sound.store->sweep(u64{1} << 30)).left_overs == 1);
  CHECK(sound.is_found());
}

TEST_CASE("a folder that is no cache, or another version's, is refused and left alone") {
  const TestFolder folder;
  write_file(folder / "letter.txt", "dear");
  CHECK(reason_of(DiskStore::open(folder.path(), 1)) == "cache.version");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
  std::filesystem::remove(folder / "letter.txt");
  write_file(folder / "soma-cache.Ab3xYz", "som");  // a crash before it was marked
  CHECK(reason_of(DiskStore::open(folder.path(), 1)) == "none");
  write_file(folder / "soma-cache", "soma cache 2\n");
  const Result<std::unique_ptr<DiskStore>> newer = DiskStore::open(folder.path(), 1);
  REQUIRE(reason_of(newer) == "cache.version");
  CHECK(newer.error().message().find("soma cache 2") != std::string::npos);
  CHECK(reason_of(DiskStore::open(folder / "soma-cache", 1)) == "cache.store");
  CHECK(reason_of(DiskStore::open("", 1)) == "cache.store");
  CHECK(reason_of(DiskStore::open(folder / "a/b/c", 1)) == "none");
}

// What stands where a folder should be keeps even the system's administrator from writing there.
TEST_CASE("a folder that can't be written is read, and each failing write is told") {
  Sound sound;
  const std::unique_ptr<Cache> cache = must(Cache::open(sound.folder.path(), {}));
  std::filesystem::remove_all(sound.folder / "new");
  write_file(sound.folder / "new", "in the way");
  CHECK(reason_of(cache->put(key_of("b"), entry_of(Value::integer(2)))) == "cache.store");
  CHECK(reason_of(cache->put(key_of("c"), entry_of(Value::integer(3)))) == "cache.store");
  CHECK(cache->counts().failed_writes == 2);
  CHECK(cache->last_failure().find("/new") != std::string::npos);
  CHECK(cache->get(sound.key)->value == sample());
  CHECK(cache->get(key_of("b"))->value == Value::integer(2));  // memory has it
  CHECK_FALSE(sound.store->get(key_of("b")));
}

TEST_CASE("a disk without room leaves no half entry and no half file") {
  Sound sound;
  // The system refuses to let a file grow beyond this, as a full disk does.
  struct rlimit before = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const struct rlimit little = {.rlim_cur = 10'000, .rlim_max = before.rlim_max};
  void (*const handler)(int) = ::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &little) == 0);
  const Status written = sound.store->put(key_of("b"), entry_of(noise(50'000, 1)));
  const Status small = sound.store->put(key_of("c"), entry_of(noise(500, 1)));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  ::signal(SIGXFSZ, handler);
  CHECK(reason_of(written) == "cache.store");
  CHECK(reason_of(small) == "none");
  CHECK_FALSE(sound.store->get(key_of("b")));
  CHECK(std::filesystem::is_empty(sound.folder / "new"));
}

}  // namespace soma
