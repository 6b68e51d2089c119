// The folder in which a machine's runs have their journals: one file a run, named after it.
#pragma once

#include "journal/journal.hpp"

namespace soma {

// How a run stands, for who has only the folder.
struct JournalSummary {
  enum class State : u8 {
    InUse,       // somebody has it open: nothing more is known
    Broken,      // it neither ended nor waits: it was broken off, and can be resumed
    Waiting,     // for answers
    Ended,
    Unreadable,  // problem says why
  };
  State state = State::Unreadable;
  RunIdentity identity;           // InUse, Unreadable: only the run's id, from the file's name
  std::string problem;            // as an error says it
  u64 records = 0;
  i64 last_ns = 0;                // when the last of them was made
  std::vector<Record> waiting;    // suspensions without an answer
};

class JournalFolder {
 public:
  // Makes it, and what is missing above it. journal_store.
  static Result<JournalFolder> make(const std::string& path);
  static Result<JournalFolder> open(const std::string& path);  // file_not_found

  Result<std::unique_ptr<JournalStore>> store(std::string_view run) const;  // new, if it is missing
  Result<std::unique_ptr<JournalStore>> existing(std::string_view run) const;  // journal_not_found
  Status remove(std::string_view run) const;
  // In the order of their ids. Keeps no writer out: a run that is going on is listed as such, and
  // one that begins now waits the moment that its journal is being read.
  Result<std::vector<JournalSummary>> list() const;

  const std::string& path() const { return path_; }
  Result<std::string> file(std::string_view run) const;  // where its journal is, or would be

 private:
  explicit JournalFolder(std::string path) : path_(std::move(path)) {}
  JournalSummary summary(const std::string& name) const;
  std::string path_;
};

// A run's id as a file's name, without ".journal": two ids never share one. Letters, digits and
// what is not ASCII stay; a name that would be too long ends in a digest instead.
std::string journal_file_name(std::string_view run);

}  // namespace soma
