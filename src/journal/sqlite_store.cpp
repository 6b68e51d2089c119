// Keeps a run's records in a SQLite database, and believes nothing that it reads there.
//
// Why SQLite. What costs is the disk's wait, and SQLite needs one for a transaction, as a log of
// our own would. What it adds is decades of proof that a transaction is there whole or not at all,
// and files that anybody can look into. Its log (WAL) is flushed with every transaction
// (synchronous=FULL): the default of many would lose the last ones with the power.
//
// Beginning. A file appears under its name only when it is complete and bound to its run: it is
// made under another, flushed, and renamed. So there is no half-made journal, and a name that is
// there has a run. What an earlier journal of that name left beside it goes first: SQLite would
// take an old log for the new file's.
//
// Reading. A database does not check its own bytes. Each record has a seal, a digest of what it
// holds and of the seal before it, the first of the run's identity: a changed, moved, dropped or
// foreign record has a wrong one, and only the last records can be missing without a trace. Before
// any record the schema must be ours to the letter, and SQLite's own check of its pages must pass,
// since a damaged list of free pages would only show when later records overwrite earlier ones.
//
// After a failed write the files are left as they are. They hold the whole transaction or nothing
// of it, which the next opening decides; everything before it is there.
#include "journal/sqlite_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "base/file.hpp"
#include "base/text.hpp"
#include "journal/database.hpp"
#include "journal/seal.hpp"

namespace soma {

namespace {

constexpr i64 application_id = 0x534f4d4a;  // "SOMJ"
constexpr i64 version = static_cast<i64>(journal_version);
constexpr const char* set_application_id = "PRAGMA application_id=1397706058";
constexpr const char* set_version = "PRAGMA user_version=1";
static_assert(application_id == 1397706058 && version == 1);

constexpr const char* schema[] = {
    "CREATE TABLE identity(run TEXT NOT NULL, plan TEXT NOT NULL, input TEXT NOT NULL, "
    "seal TEXT NOT NULL) STRICT",
    "CREATE TABLE record(number INTEGER PRIMARY KEY, kind TEXT NOT NULL, path TEXT NOT NULL, "
    "turn INTEGER NOT NULL, position INTEGER NOT NULL, effect TEXT NOT NULL, digest TEXT NOT NULL, "
    "content BLOB NOT NULL, at_ns INTEGER NOT NULL, seal TEXT NOT NULL) STRICT",
};
constexpr const char* insert_identity =
    "INSERT INTO identity(run, plan, input, seal) VALUES(?1, ?2, ?3, ?4)";
constexpr const char* insert_record =
    "INSERT INTO record(number, kind, path, turn, position, effect, digest, content, at_ns, seal) "
    "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
constexpr const char* select_identity = "SELECT run, plan, input, seal FROM identity LIMIT 2";
constexpr const char* select_records =
    "SELECT number, kind, path, turn, position, effect, digest, content, at_ns, seal FROM record "
    "ORDER BY number";

// ---- Files

Error file_failure(std::string_view what, const std::string& path, int code) {
  const bool is_full = code == ENOSPC || code == EDQUOT;
  return fail(is_full ? Reason::journal_full : Reason::journal_store,
              "{} {} failed: {} (errno {}); see to it that the folder exists, can be written and "
              "has room",
              what, quoted(path, 4096), system_text(code), code)
      .with("path", path);
}

Error corrupt(const std::string& path, std::string_view why) {
  return fail(Reason::journal_corrupt,
              "{} {}; restore a copy of the file, or start a new run", quoted(path, 4096), why)
      .with("path", path);
}

// True: a regular file has that name. False: nothing has.
Result<bool> is_file(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0) {
    if (errno == ENOENT) return false;
    return file_failure("examining", path, errno);
  }
  if (!S_ISREG(info.st_mode)) return corrupt(path, "is no regular file, so it is no journal");
  return true;
}

Status remove_file(const std::string& path) {
  if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
  return file_failure("removing", path, errno);
}

Status make_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return file_failure("making", path, errno);
  ::close(file);
  return {};
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return path.substr(0, slash + 1);
}

// ---- Making a journal

Status fill_new(const std::string& path, const RunIdentity& identity, const char* vfs) {
  SOMA_ASSIGN(Database database, Database::open(path, vfs));
  // Nobody misses what is lost in a crash here, so no journal of SQLite's is needed.
  SOMA_TRY(database.run("PRAGMA journal_mode=MEMORY"));
  SOMA_TRY(database.run("BEGIN IMMEDIATE"));
  SOMA_TRY(database.run(set_application_id));
  SOMA_TRY(database.run(set_version));
  for (const char* table : schema) SOMA_TRY(database.run(table));
  const std::string seal = seal_of(identity);
  SOMA_ASSIGN(Statement insert, Statement::prepare(database, insert_identity));
  SOMA_TRY(insert.bind(1, identity.run));
  SOMA_TRY(insert.bind(2, identity.plan));
  SOMA_TRY(insert.bind(3, identity.input));
  SOMA_TRY(insert.bind(4, seal));
  SOMA_TRY(insert.step());
  SOMA_TRY(database.run("COMMIT"));
  return database.run("PRAGMA journal_mode=WAL");
}

Status make_journal(const std::string& path, const RunIdentity& identity, const char* vfs) {
  const std::string unfinished = path + ".new";
  for (const char* end : {".new", ".new-wal", ".new-journal", "-wal", "-journal"}) {
    SOMA_TRY(remove_file(path + end));
  }
  SOMA_TRY(make_file(unfinished));
  SOMA_TRY(fill_new(unfinished, identity, vfs));
  SOMA_TRY(flush_folder(folder_of(path)));  // the old log is gone before the new name is there
  if (::rename(unfinished.c_str(), path.c_str()) != 0) return file_failure("naming", path, errno);
  return flush_folder(folder_of(path));
}

// ---- Opening one

Status check_version(Database& database) {
  SOMA_ASSIGN(const i64 application, database.number("PRAGMA application_id"));
  if (application != application_id) {
    return corrupt(database.path(), "is a database, but no journal of a run");
  }
  SOMA_ASSIGN(const i64 found, database.number("PRAGMA user_version"));
  if (found == version) return {};
  return fail(Reason::journal_version,
              "the journal {} is of version {}, and this library reads version {}; resume the run "
              "with the library that began it",
              quoted(database.path(), 4096), found, version)
      .with("path", database.path());
}

Status check_schema(Database& database) {
  SOMA_ASSIGN(Statement statement,
              Statement::prepare(database, "SELECT sql FROM sqlite_schema ORDER BY rowid LIMIT 3"));
  size_t count = 0;
  while (true) {
    SOMA_ASSIGN(const bool has_row, statement.step());
    if (!has_row) break;
    Result<std::string_view> sql = statement.text_at(0);
    if (count == std::size(schema) || !sql.ok() || *sql != schema[count]) {
      return corrupt(database.path(), "has other tables than a journal has");
    }
    ++count;
  }
  if (count == std::size(schema)) return {};
  return corrupt(database.path(), "lacks tables that a journal has");
}

Result<Database> open_database(const std::string& path, const char* vfs) {
  SOMA_TRY(is_file(path + "-wal"));
  SOMA_ASSIGN(const bool has_foreign, is_file(path + "-journal"));
  if (has_foreign) return corrupt(path + "-journal", "is not by this library, which makes none");
  SOMA_ASSIGN(Database database, Database::open(path, vfs));
  SOMA_TRY(check_version(database));
  SOMA_TRY(check_schema(database));
  SOMA_ASSIGN(const std::string found, database.word("PRAGMA quick_check(1)"));
  if (found != "ok") return corrupt(path, text("is damaged, {}", quoted(found, 256)));
  SOMA_ASSIGN(const std::string mode, database.word("PRAGMA journal_mode=WAL"));
  if (mode != "wal") {
    return fail(Reason::journal_store, "the journal {} can't have a log here (mode {}); move it to "
                "a disk of this machine", quoted(path, 4096), quoted(mode));
  }
  return database;
}

// ---- The store

class SqliteStore final : public JournalStore {
 public:
  SqliteStore(std::string path, const char* vfs, JournalLock lock)
      : path_(std::move(path)), vfs_(vfs), lock_(std::move(lock)) {}

  Status open_file();
  Result<std::optional<RunIdentity>> identity() override;
  Status bind(const RunIdentity& identity) override;
  Status load(Take take, void* user) override;
  Status append(std::span<const Record> records) override;

 private:
  Result<Record> record_of_row(Statement& row);
  Result<u32> small_at(Statement& row, i32 column);
  Status append_all(std::span<const Record> records);
  Status insert(const Record& record);
  Error damaged_record(std::string_view why);

  // In the order in which they must not be destroyed: the lock goes last.
  std::string path_;
  const char* vfs_;
  JournalLock lock_;
  std::optional<Database> database_;  // none: nothing has been bound yet
  std::optional<Statement> insert_;   // none: nothing has been loaded yet, or a write failed
  std::string seal_;                  // of the last record, or of the identity
  u64 count_ = 0;                     // of records
};

Status SqliteStore::open_file() {
  SOMA_ASSIGN(database_, open_database(path_, vfs_));
  return {};
}

Result<std::optional<RunIdentity>> SqliteStore::identity() {
  if (!database_) return std::optional<RunIdentity>();
  SOMA_ASSIGN(Statement row, Statement::prepare(*database_, select_identity));
  SOMA_ASSIGN(const bool has_row, row.step());
  if (!has_row) return corrupt(path_, "does not say of which run it is");
  RunIdentity found;
  i32 column = 0;
  for (std::string* part : {&found.run, &found.plan, &found.input, &seal_}) {
    SOMA_ASSIGN(const std::string_view value, row.text_at(column++));
    part->assign(value);
  }
  SOMA_ASSIGN(const bool has_more, row.step());
  if (has_more) return corrupt(path_, "says that it is of several runs");
  if (seal_ != seal_of(found) || !check_run_id(found.run).ok()) {
    return corrupt(path_, "is damaged where it says of which run it is");
  }
  return std::optional(std::move(found));
}

Status SqliteStore::bind(const RunIdentity& identity) {
  if (database_) return fail(Reason::internal, "a journal is bound to one run, once");
  SOMA_TRY(check_run_id(identity.run));
  SOMA_TRY(make_journal(path_, identity, vfs_));
  return open_file();
}

Status SqliteStore::load(Take take, void* user) {
  SOMA_ASSIGN(const std::optional<RunIdentity> bound, identity());
  if (!bound) return fail(Reason::internal, "a journal is bound before it is read");
  count_ = 0;
  SOMA_ASSIGN(Statement row, Statement::prepare(*database_, select_records));
  while (true) {
    SOMA_ASSIGN(const bool has_row, row.step());
    if (!has_row) break;
    SOMA_ASSIGN(Record record, record_of_row(row));
    SOMA_TRY(take(user, std::move(record)));
  }
  SOMA_ASSIGN(insert_, Statement::prepare(*database_, insert_record));
  return {};
}

Result<Record> SqliteStore::record_of_row(Statement& row) {
  SOMA_ASSIGN(const i64 number, row.number_at(0));
  if (number < 0 || static_cast<u64>(number) != count_ + 1) {
    return damaged_record(text("has the number {}", number));
  }
  Record record;
  SOMA_ASSIGN(const std::string_view kind_name, row.text_at(1));
  const std::optional<Record::Kind> kind = record_kind_by_name(kind_name);
  if (!kind) return damaged_record(text("is of no known kind, {}", quoted(kind_name)));
  record.kind = *kind;
  SOMA_ASSIGN(const std::string_view site_path, row.text_at(2));
  record.site.path = site_path;
  SOMA_ASSIGN(record.site.turn, small_at(row, 3));
  SOMA_ASSIGN(record.site.index, small_at(row, 4));
  SOMA_ASSIGN(const std::string_view effect, row.text_at(5));
  record.effect = effect;
  SOMA_ASSIGN(const std::string_view digest, row.text_at(6));
  record.digest = digest;
  SOMA_ASSIGN(const std::string_view content, row.bytes_at(7));
  record.content = content;
  SOMA_ASSIGN(record.at_ns, row.number_at(8));
  SOMA_ASSIGN(const std::string_view seal, row.text_at(9));
  std::string expected = seal_of(record, count_ + 1, seal_);
  if (seal != expected) return damaged_record("has a seal that does not fit what it holds");
  seal_ = std::move(expected);
  ++count_;
  return record;
}

Result<u32> SqliteStore::small_at(Statement& row, i32 column) {
  SOMA_ASSIGN(const i64 value, row.number_at(column));
  if (value < 0 || value > i64{std::numeric_limits<u32>::max()}) {
    return damaged_record("has a turn or a position that is none");
  }
  return static_cast<u32>(value);
}

Error SqliteStore::damaged_record(std::string_view why) {
  return corrupt(path_, text("is damaged or was changed: record {} {}", count_ + 1, why));
}

Status SqliteStore::append(std::span<const Record> records) {
  if (!insert_) return fail(Reason::internal, "a journal is read before it is written, and closed "
                            "after a failure");
  Status written = append_all(records);
  if (written.ok()) return {};
  insert_.reset();
  database_->leave_as_it_is();
  // It may have been rolled back already, and if it can't be, closing ends it.
  static_cast<void>(database_->run("ROLLBACK"));
  return written;
}

Status SqliteStore::append_all(std::span<const Record> records) {
  SOMA_TRY(database_->run("BEGIN IMMEDIATE"));
  for (const Record& record : records) SOMA_TRY(insert(record));
  return database_->run("COMMIT");
}

Status SqliteStore::insert(const Record& record) {
  std::string seal = seal_of(record, count_ + 1, seal_);
  Statement& row = *insert_;
  SOMA_TRY(row.bind(1, static_cast<i64>(count_ + 1)));
  SOMA_TRY(row.bind(2, record_kind_name(record.kind)));
  SOMA_TRY(row.bind(3, record.site.path));
  SOMA_TRY(row.bind(4, i64{record.site.turn}));
  SOMA_TRY(row.bind(5, i64{record.site.index}));
  SOMA_TRY(row.bind(6, record.effect));
  SOMA_TRY(row.bind(7, record.digest));
  SOMA_TRY(row.bind_bytes(8, record.content));
  SOMA_TRY(row.bind(9, record.at_ns));
  SOMA_TRY(row.bind(10, seal));
  SOMA_TRY(row.step());
  seal_ = std::move(seal);
  ++count_;
  return {};
}

}  // namespace

Result<std::unique_ptr<JournalStore>> open_sqlite_store(const std::string& path,
                                                        const SqliteStoreOptions& options) {
  if (path.find('\0') != std::string::npos) {
    return fail(Reason::journal_store, "the path {} holds a NUL byte, which no path can",
                quoted(path, 4096));
  }
  // Before the lock, so that looking for a run that isn't there leaves no file behind.
  if (options.must_exist) {
    SOMA_ASSIGN(const bool is_there, is_file(path));
    if (!is_there) {
      return fail(Reason::journal_not_found, "there is no journal {}; see which runs there are",
                  quoted(path, 4096));
    }
  }
  SOMA_ASSIGN(JournalLock lock, JournalLock::take(path + ".lock", options.use));
  auto store = std::make_unique<SqliteStore>(path, options.vfs, std::move(lock));
  SOMA_ASSIGN(const bool is_there, is_file(path));
  if (is_there) {
    SOMA_TRY(store->open_file());
  } else if (options.must_exist) {
    return fail(Reason::journal_not_found, "the journal {} was removed just now",
                quoted(path, 4096));
  }
  return std::unique_ptr<JournalStore>(std::move(store));
}

Status remove_sqlite_store(const std::string& path) {
  SOMA_ASSIGN(const bool is_there, is_file(path));
  if (!is_there) {
    return fail(Reason::journal_not_found, "there is no journal {} to remove", quoted(path, 4096));
  }
  SOMA_ASSIGN(const JournalLock lock, JournalLock::take(path + ".lock", JournalLock::Use::Write));
  // The records first: without its log, or its lock, a journal must not be found.
  for (const char* end : {"", "-wal", "-journal", ".new", ".new-wal", ".new-journal", ".lock"}) {
    SOMA_TRY(remove_file(path + end));
    if (*end == '\0') SOMA_TRY(flush_folder(folder_of(path)));
  }
  return flush_folder(folder_of(path));
}

Status flush_folder(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return file_failure("opening", path, errno);
  const int code = ::fsync(folder) == 0 ? 0 : errno;
  ::close(folder);
  // Some file systems can't flush folders, and need not.
  if (code == 0 || code == EINVAL || code == EROFS) return {};
  return file_failure("flushing", path, code);
}

}  // namespace soma
