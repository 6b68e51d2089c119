// SQLite, as much of it as journals need: a database that is not trusted, and statements.
#pragma once

#include "base/core.hpp"

struct sqlite3;
struct sqlite3_stmt;

namespace soma {

class Database {
 public:
  // A regular file that exists. `vfs` names SQLite's way to the disk; nullptr: the usual one.
  // Nothing of the file is read yet, and nothing that stands in it will be run.
  static Result<Database> open(const std::string& path, const char* vfs);
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();

  const std::string& path() const { return path_; }
  // One statement without parameters, to its end. What it yields is not looked at.
  Status run(const char* sql);
  // The one value of the first row; a number that is none is 0.
  Result<i64> number(const char* sql);
  Result<std::string> word(const char* sql);
  // What the last call failed with, by SQLite's words, and what now. `doing`: "opening".
  Error failure(std::string_view doing) const;
  // Closing shall leave the files as they are.
  void leave_as_it_is();

 private:
  friend class Statement;
  Database(sqlite3* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  sqlite3* handle_ = nullptr;
  std::string path_;
};

// A prepared statement. Its database outlives it and stays where it is.
class Statement {
 public:
  static Result<Statement> prepare(Database& database, const char* sql);
  Statement(Statement&& other) noexcept;
  Statement& operator=(Statement&& other) noexcept;
  ~Statement();

  // The n-th parameter, from 1; texts and bytes must live until the statement is done.
  Status bind(i32 parameter, std::string_view value);
  Status bind_bytes(i32 parameter, std::string_view value);
  Status bind(i32 parameter, i64 value);
  // True: there is a row. False: it is done, and begins anew with the next call.
  Result<bool> step();

  // Of the row, the n-th value, from 0; an error if it is of another type. The views live until the
  // next step.
  Result<std::string_view> text_at(i32 column);
  Result<std::string_view> bytes_at(i32 column);
  Result<i64> number_at(i32 column);

 private:
  Statement(Database& database, sqlite3_stmt* handle) : database_(&database), handle_(handle) {}
  Error wrong_type(i32 column) const;
  Result<std::string_view> view_at(i32 column, i32 type);
  Database* database_;
  sqlite3_stmt* handle_ = nullptr;
};

}  // namespace soma
