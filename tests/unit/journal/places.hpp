// Where the journals of tests lie: in memory, or in a folder that goes when the test does.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "journal/folder.hpp"
#include "journal/journal.hpp"
#include "journal/memory_store.hpp"
#include "journal/sqlite_store.hpp"
#include "unit/folder.hpp"

namespace soma {

// A place that a run's store can be opened at again and again.
class TestPlace {
 public:
  virtual ~TestPlace() = default;
  virtual Result<std::unique_ptr<JournalStore>> open() = 0;
  virtual std::string name() const = 0;
};

class MemoryPlace final : public TestPlace {
 public:
  Result<std::unique_ptr<JournalStore>> open() override { return memory_.open(); }
  std::string name() const override { return "memory"; }

 private:
  JournalMemory memory_;
};

class FilePlace final : public TestPlace {
 public:
  Result<std::unique_ptr<JournalStore>> open() override {
    return open_sqlite_store(folder_ / "run.journal");
  }
  std::string name() const override { return "SQLite"; }

 private:
  TestFolder folder_;
};

inline const RunIdentity test_identity = {"nightly", "plan-digest", "input-digest"};

inline Record test_intent(std::string path, u32 index, std::string content = "{}") {
  return {.kind = Record::Kind::Intent,
          .site = {std::move(path), 0, index},
          .effect = "std.exec",
          .digest = "d-" + content,
          .content = content,
          .at_ns = 1'700'000'000'000'000'000 + index};
}
inline Record test_outcome(Record::Kind kind, const Record& of, std::string content) {
  return {.kind = kind, .site = of.site, .effect = {}, .digest = {}, .content = std::move(content),
          .at_ns = of.at_ns + 1};
}
inline Record test_suspension(std::string path, std::string content = "\"why\"") {
  return {.kind = Record::Kind::Suspension, .site = {std::move(path), 0, 0}, .effect = {},
          .digest = "s", .content = std::move(content)};
}
inline Record test_end(std::string content) {
  return {.kind = Record::Kind::End, .site = {}, .effect = {}, .digest = {},
          .content = std::move(content)};
}

inline std::vector<Record> records_of(const Journal& journal) {
  std::vector<Record> records;
  journal.each([](void* user, const Record& record) {
    static_cast<std::vector<Record>*>(user)->push_back(record);
  }, &records);
  return records;
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace soma
