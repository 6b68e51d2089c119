// A run's records in a file of its own, a SQLite database: see format.md.
#pragma once

#include "journal/lock_file.hpp"
#include "journal/store.hpp"

namespace soma {

struct SqliteStoreOptions {
  bool must_exist = false;                             // else bind makes the file
  JournalLock::Use use = JournalLock::Use::Write;
  const char* vfs = nullptr;                           // SQLite's way to the disk; for tests
};

// Beside the file lie, with its name and more, its lock file (".lock") and, while it is open or
// after a crash, SQLite's log ("-wal"). The folder must exist. journal_locked, journal_not_found,
// journal_corrupt, journal_version, journal_store.
Result<std::unique_ptr<JournalStore>> open_sqlite_store(const std::string& path,
                                                        const SqliteStoreOptions& options = {});
// With all that lies beside it, for good. Not while somebody has it open.
Status remove_sqlite_store(const std::string& path);

// Makes what has happened to the names in a folder durable.
Status flush_folder(const std::string& path);

}  // namespace soma
