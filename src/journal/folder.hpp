// The folder in which a machine's runs have their journals: one file a run, named after it.
#pragma once

#include "journal/journals.hpp"

namespace soma {

class JournalFolder final : public Journals {
 public:
  // Makes it, and what is missing above it. journal_store.
  static Result<JournalFolder> make(const std::string& path);
  static Result<JournalFolder> open(const std::string& path);  // file_not_found

  Result<std::unique_ptr<JournalStore>> store(std::string_view run) override;
  Result<std::unique_ptr<JournalStore>> existing(std::string_view run) override;
  Status remove(std::string_view run) override;
  // Keeps no writer out: a run that is going on is listed as such, and one that begins now waits
  // the moment that its journal is being read.
  Result<std::vector<JournalSummary>> list() override;

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
