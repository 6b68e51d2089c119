// Opens SQLite databases that may be anybody's, and gives SQLite's failures our words.
//
// SQLite needs no call before its first use: sqlite3_open_v2 initializes it, under a lock of its
// own. Nothing here configures it for the process (sqlite3_config): its memory is malloc's, its
// threads are none. A connection has no lock (SQLITE_OPEN_NOMUTEX), since a store is used by one
// thread at a time, whichever that is.
//
// A database is data from outside. Nothing that stands in its schema may run: no triggers, no
// views, no functions in defaults or indices, no extensions, no other files; and what SQLite is
// ready to take from it is bounded. What the schema says is for others to compare.
#include "journal/database.hpp"

#include <sqlite3.h>

#include <cerrno>

#include "base/file.hpp"
#include "base/text.hpp"
#include "journal/record.hpp"

namespace soma {

namespace {

// Another program that only reads a journal is through in less; a guess.
constexpr i32 busy_timeout_ms = 2000;
// A record with its numbers and the length of each text.
constexpr i32 row_bytes_max = static_cast<i32>(Record::bytes_max) + (1 << 16);

struct Limit {
  i32 what;
  i32 most;
};
constexpr Limit limits[] = {
    {SQLITE_LIMIT_LENGTH, row_bytes_max}, {SQLITE_LIMIT_SQL_LENGTH, 10'000},
    {SQLITE_LIMIT_COLUMN, 100},           {SQLITE_LIMIT_EXPR_DEPTH, 20},
    {SQLITE_LIMIT_COMPOUND_SELECT, 4},    {SQLITE_LIMIT_VDBE_OP, 25'000},
    {SQLITE_LIMIT_FUNCTION_ARG, 8},       {SQLITE_LIMIT_ATTACHED, 0},
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50}, {SQLITE_LIMIT_VARIABLE_NUMBER, 20},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 1},      {SQLITE_LIMIT_WORKER_THREADS, 0},
};

struct Switch {
  i32 what;
  i32 on;
};
constexpr Switch switches[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
    {SQLITE_DBCONFIG_ENABLE_FKEY, 0},    {SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0},
    {SQLITE_DBCONFIG_DQS_DDL, 0},        {SQLITE_DBCONFIG_DQS_DML, 0},
    {SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0},
};

struct Verdict {
  Reason reason;
  std::string_view advice;
};

Verdict verdict(i32 code, i32 system_code) {
  const bool is_full = system_code == ENOSPC || system_code == EDQUOT || system_code == EFBIG;
  switch (code & 0xff) {
    case SQLITE_FULL:
      return {Reason::journal_full, "make room on the disk, then resume the run"};
    case SQLITE_IOERR:
      if (is_full) return {Reason::journal_full, "make room on the disk, then resume the run"};
      return {Reason::journal_store, "see to the disk, then resume the run"};
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:  // its schema doesn't fit our statements
      return {Reason::journal_corrupt, "restore a copy of the file, or start a new run"};
    case SQLITE_NOMEM:
      return {Reason::out_of_memory, "resume the run when there is memory"};
    case SQLITE_TOOBIG:
      return {Reason::journal_limit, "keep what is so large in a file, and record its name"};
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {Reason::journal_locked, "another program has it open as a database: close it there"};
    default:
      return {Reason::journal_store, "see to it that the file and its folder can be written"};
  }
}

// SQLite takes names that begin with "file:" or ":" for something else.
std::string plain_path(const std::string& path) {
  return path.starts_with('/') ? path : "./" + path;
}

}  // namespace

// ---- Database

Result<Database> Database::open(const std::string& path, const char* vfs) {
  sqlite3* handle = nullptr;
  const i32 flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const i32 code = sqlite3_open_v2(plain_path(path).c_str(), &handle, flags, vfs);
  Database database(handle, path);
  if (!handle) return fail(Reason::out_of_memory, "no memory to open {}", quoted(path, 4096));
  if (code != SQLITE_OK) return database.failure("opening");
  for (const Limit& limit : limits) sqlite3_limit(handle, limit.what, limit.most);
  for (const Switch& each : switches) {
    if (sqlite3_db_config(handle, each.what, each.on, nullptr) != SQLITE_OK) {
      return database.failure("securing");
    }
  }
  sqlite3_busy_timeout(handle, busy_timeout_ms);
  // Exclusive before anything is read: then the index of the log lies in memory of ours, not in a
  // third file that is mapped.
  for (const char* sql : {"PRAGMA locking_mode=EXCLUSIVE", "PRAGMA cell_size_check=ON",
                          "PRAGMA mmap_size=0", "PRAGMA temp_store=MEMORY",
                          "PRAGMA synchronous=FULL"}) {
    SOMA_TRY(database.run(sql));
  }
  return database;
}

Database::Database(Database&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

Database& Database::operator=(Database&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  return *this;
}

Database::~Database() { sqlite3_close_v2(handle_); }

Status Database::run(const char* sql) {
  SOMA_ASSIGN(Statement statement, Statement::prepare(*this, sql));
  while (true) {
    SOMA_ASSIGN(const bool has_row, statement.step());
    if (!has_row) return {};
  }
}

Result<i64> Database::number(const char* sql) {
  SOMA_ASSIGN(Statement statement, Statement::prepare(*this, sql));
  SOMA_ASSIGN(const bool has_row, statement.step());
  if (!has_row) return 0;
  return statement.number_at(0);
}

Result<std::string> Database::word(const char* sql) {
  SOMA_ASSIGN(Statement statement, Statement::prepare(*this, sql));
  SOMA_ASSIGN(const bool has_row, statement.step());
  if (!has_row) return std::string();
  SOMA_ASSIGN(const std::string_view value, statement.text_at(0));
  return std::string(value);
}

Error Database::failure(std::string_view doing) const {
  const i32 code = sqlite3_extended_errcode(handle_);
  const i32 system_code = sqlite3_system_errno(handle_);
  const Verdict given = verdict(code, system_code);
  std::string words = text("{} (SQLite {})", quoted(sqlite3_errmsg(handle_), 256), code);
  if (system_code != 0) words += text(", {} (errno {})", system_text(system_code), system_code);
  return fail(given.reason, "{} the journal {} failed: {}; {}", doing, quoted(path_, 4096), words,
              given.advice)
      .with("path", path_)
      .with("sqlite", i64{code});
}

void Database::leave_as_it_is() {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

// ---- Statement

Result<Statement> Statement::prepare(Database& database, const char* sql) {
  sqlite3_stmt* handle = nullptr;
  const i32 code = sqlite3_prepare_v3(database.handle_, sql, -1, SQLITE_PREPARE_NO_VTAB, &handle,
                                      nullptr);
  if (code != SQLITE_OK) return database.failure("reading");
  return Statement(database, handle);
}

Statement::Statement(Statement&& other) noexcept
    : database_(other.database_), handle_(std::exchange(other.handle_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
  std::swap(database_, other.database_);
  std::swap(handle_, other.handle_);
  return *this;
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Status Statement::bind(i32 parameter, std::string_view value) {
  const char* data = value.empty() ? "" : value.data();  // a null pointer would bind NULL
  const i32 code = sqlite3_bind_text64(handle_, parameter, data, value.size(), SQLITE_STATIC,
                                       SQLITE_UTF8);
  if (code != SQLITE_OK) return database_->failure("writing");
  return {};
}

Status Statement::bind_bytes(i32 parameter, std::string_view value) {
  const char* data = value.empty() ? "" : value.data();
  if (sqlite3_bind_blob64(handle_, parameter, data, value.size(), SQLITE_STATIC) != SQLITE_OK) {
    return database_->failure("writing");
  }
  return {};
}

Status Statement::bind(i32 parameter, i64 value) {
  if (sqlite3_bind_int64(handle_, parameter, value) != SQLITE_OK) {
    return database_->failure("writing");
  }
  return {};
}

Result<bool> Statement::step() {
  const i32 code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) {
    Error failure =
        database_->failure(sqlite3_stmt_readonly(handle_) != 0 ? "reading" : "writing");
    sqlite3_reset(handle_);
    return failure;
  }
  sqlite3_reset(handle_);
  return false;
}

Error Statement::wrong_type(i32 column) const {
  return fail(Reason::journal_corrupt,
              "the journal {} has a value of another type than its table says, in column {}; "
              "restore a copy of the file, or start a new run",
              quoted(database_->path(), 4096), quoted(sqlite3_column_name(handle_, column)))
      .with("path", database_->path());
}

Result<std::string_view> Statement::view_at(i32 column, i32 type) {
  if (sqlite3_column_type(handle_, column) != type) return wrong_type(column);
  const bool is_text = type == SQLITE_TEXT;
  const void* data = is_text ? sqlite3_column_text(handle_, column)
                             : sqlite3_column_blob(handle_, column);
  const auto size = static_cast<size_t>(sqlite3_column_bytes(handle_, column));
  if (!data && (is_text || size != 0)) return database_->failure("reading");
  return std::string_view(static_cast<const char*>(data), size);
}

Result<std::string_view> Statement::text_at(i32 column) { return view_at(column, SQLITE_TEXT); }
Result<std::string_view> Statement::bytes_at(i32 column) { return view_at(column, SQLITE_BLOB); }

Result<i64> Statement::number_at(i32 column) {
  if (sqlite3_column_type(handle_, column) != SQLITE_INTEGER) return wrong_type(column);
  return i64{sqlite3_column_int64(handle_, column)};
}

}  // namespace soma
