// Proves that files which are damaged, cut or somebody else's give an error or a run's first
// records: never a crash, and never a record that was not written.
#include <sqlite3.h>
#include <sys/stat.h>

#include <random>

#include "unit/journal/places.hpp"

namespace soma {

namespace {

std::vector<Record> some_records() {
  std::vector<Record> records;
  for (u32 i = 0; i < 40; ++i) {
    records.push_back({Record::Kind::Output, {text("n{}", i), i, 1}, "e", "d",
                       std::string(i % 8 == 7 ? 9000 : 40 * i, static_cast<char>('a' + i % 26)),
                       i});
  }
  return records;
}

struct Image {
  std::string database, log;
};

// A journal as a crash leaves it: half of the records in the database, half in SQLite's log.
Image image_of(const std::vector<Record>& records) {
  const TestFolder folder;
  const std::string path = folder / "run.journal";
  {
    const auto journal = must(Journal::open(must(open_sqlite_store(path)), test_identity));
    must(journal->append({records.begin(), records.begin() + 20}));
  }
  const auto journal = must(Journal::open(must(open_sqlite_store(path)), test_identity));
  for (size_t i = 20; i < records.size(); ++i) must(journal->append({records[i]}));
  return {file_bytes(path), file_bytes(path + "-wal")};
}

// How many records it gives; nothing, if it is refused.
std::optional<size_t> read_back(const TestFolder& folder, const Image& image,
                                const std::vector<Record>& written) {
  const std::string path = folder / "run.journal";
  write_file(path, image.database);
  write_file(path + "-wal", image.log);
  Result<std::unique_ptr<JournalStore>> store = open_sqlite_store(path);
  Result<std::unique_ptr<Journal>> journal =
      store.ok() ? Journal::open(*std::move(store)) : std::move(store).error();
  if (!journal.ok()) {
    CHECK(!journal.error().message().empty());
    CHECK(journal.error().reason() != Reason::internal);
    return std::nullopt;
  }
  CHECK((*journal)->identity() == test_identity);
  const std::vector<Record> records = records_of(**journal);
  REQUIRE(records.size() <= written.size());
  CHECK(std::equal(records.begin(), records.end(), written.begin()));
  return records.size();
}

Reason refusal(const std::string& path) {
  Result<std::unique_ptr<JournalStore>> store = open_sqlite_store(path);
  if (!store.ok()) return store.error().reason();
  const Result<std::unique_ptr<Journal>> journal = Journal::open(*std::move(store));
  REQUIRE(!journal.ok());
  return journal.error().reason();
}

// Changes a database by SQL, as a person with a tool would.
void tamper(const std::string& path, const std::string& sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

}  // namespace

TEST_CASE("a journal that is cut gives its first records or an error") {
  const std::vector<Record> records = some_records();
  const Image image = image_of(records);
  const TestFolder folder;
  REQUIRE(read_back(folder, image, records) == records.size());
  REQUIRE(image.log.size() > 40'000);
  std::minstd_rand random(3);
  u32 read = 0;
  for (u32 i = 0; i < 60; ++i) {
    const size_t log_size = random() % image.log.size();
    if (const auto count = read_back(folder, {image.database, image.log.substr(0, log_size)},
                                     records)) {
      ++read;
      CHECK(*count >= 20);
    }
    const size_t size = i == 0 ? 0 : random() % image.database.size();
    CHECK(!read_back(folder, {image.database.substr(0, size), ""}, records));
  }
  CHECK(read > 50);
}

TEST_CASE("a journal with a flipped bit gives its first records or an error") {
  const std::vector<Record> records = some_records();
  const Image image = image_of(records);
  const TestFolder folder;
  std::minstd_rand random(4);
  u32 refused = 0;
  for (u32 i = 0; i < 300; ++i) {
    Image broken = image;
    std::string& bytes = i % 2 == 0 ? broken.database : broken.log;
    // The beginnings of files and pages, where lengths and pointers are, more often than the rest.
    size_t at = random() % bytes.size();
    if (i % 3 == 0) at = at / 4096 * 4096 + random() % 128;
    at = std::min(at, bytes.size() - 1);
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
    CAPTURE(at);
    if (!read_back(folder, broken, records)) ++refused;
  }
  CHECK(refused > 50);
}

TEST_CASE("what is changed by hand is noticed") {
  const Record intent = test_intent("a", 0), other = test_intent("b", 1);
  for (const char* sql : {
           "UPDATE record SET content = x'22' WHERE number = 2",
           "UPDATE record SET content = CAST('[]' AS BLOB) WHERE number = 1",
           "UPDATE record SET at_ns = 0 WHERE number = 1",
           "UPDATE record SET kind = 'answer' WHERE number = 1",
           "UPDATE record SET turn = -1 WHERE number = 1",
           "UPDATE record SET seal = 'x' WHERE number = 3",
           "DELETE FROM record WHERE number = 1",
           "DELETE FROM record WHERE number = 2",
           "UPDATE record SET number = 9 WHERE number = 3",
           "UPDATE identity SET plan = 'another'",
           "DELETE FROM identity",
           "INSERT INTO identity SELECT * FROM identity",
           "CREATE TABLE mine(x)",
           "CREATE INDEX mine ON record(path)",
           "CREATE TRIGGER mine AFTER INSERT ON record BEGIN DELETE FROM record; END",
           "CREATE VIEW mine AS SELECT * FROM record",
           "DROP TABLE record",
           "ALTER TABLE record ADD COLUMN x TEXT",
           "DROP TABLE identity; CREATE VIEW identity AS SELECT 1 run, 2 plan, 3 input, 4 seal",
           "PRAGMA application_id = 7",
       }) {
    CAPTURE(sql);
    const TestFolder folder;
    const std::string path = folder / "run.journal";
    must(must(Journal::open(must(open_sqlite_store(path)), test_identity))
             ->append({intent, test_outcome(Record::Kind::Result, intent, "1"), other}));
    tamper(path, sql);
    CHECK(refusal(path) == Reason::journal_corrupt);
  }
}

TEST_CASE("a journal of another version is refused, with both numbers") {
  const TestFolder folder;
  const std::string path = folder / "run.journal";
  { const auto journal = must(Journal::open(must(open_sqlite_store(path)), test_identity)); }
  tamper(path, "PRAGMA user_version = 7");
  const Result<std::unique_ptr<JournalStore>> store = open_sqlite_store(path);
  REQUIRE(!store.ok());
  CHECK(store.error().reason() == Reason::journal_version);
  CHECK(store.error().message().find("version 7") != std::string::npos);
  CHECK(store.error().message().find("version 1") != std::string::npos);
}

TEST_CASE("what is no journal is refused") {
  const TestFolder folder;
  const std::string path = folder / "run.journal";
  for (const std::string& bytes : {std::string(), std::string("text"), std::string(8192, '\0'),
                                   "SQLite format 3" + std::string(5000, '\0')}) {
    write_file(path, bytes);
    CHECK(refusal(path) == Reason::journal_corrupt);
  }
  std::filesystem::remove(path);
  tamper(path, "CREATE TABLE a(b); INSERT INTO a VALUES(1)");
  CHECK(refusal(path) == Reason::journal_corrupt);
  std::filesystem::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(refusal(path) == Reason::journal_corrupt);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  CHECK(refusal(path) == Reason::journal_corrupt);
  std::filesystem::remove(path);
  { const auto journal = must(Journal::open(must(open_sqlite_store(path)), test_identity)); }
  write_file(path + "-journal", "x");
  CHECK(refusal(path) == Reason::journal_corrupt);
}

TEST_CASE("a new journal takes nothing from what an old one left beside its name") {
  const std::vector<Record> records = some_records();
  const Image image = image_of(records);
  const TestFolder folder;
  const std::string path = folder / "run.journal";
  write_file(path + "-wal", image.log);
  write_file(path + ".new", "half made");
  write_file(path + ".new-wal", image.log);
  const auto journal = must(Journal::open(must(open_sqlite_store(path)), test_identity));
  CHECK(records_of(*journal).empty());
  CHECK(!std::filesystem::exists(path + ".new"));
}

TEST_CASE("sound records that can't follow each other are refused") {
  const TestFolder folder;
  const std::string path = folder / "run.journal";
  {
    const auto store = must(open_sqlite_store(path));
    must(store->bind(test_identity));
    u32 none = 0;
    must(store->load([](void*, Record) { return Status(); }, &none));
    must(store->append(std::vector{
        test_outcome(Record::Kind::Result, test_intent("a", 0), "1")}));
  }
  CHECK(refusal(path) == Reason::journal_corrupt);
}

}  // namespace soma
