// Keepers of entries for tests: one that keeps them in memory, and can be made to fail or to lie.
#pragma once

#include <map>

#include "journal/hosted.hpp"
#include "unit/journal/places.hpp"

namespace soma {

// What a host has of its runs. It outlives the journals that are opened on it.
struct KeptEntries {
  std::map<std::string, std::vector<std::string>, std::less<>> runs;
  std::mutex mutex;                      // guards it; several runs may be written at once
  enum class Fails : u8 { Never, Before, After };   // an append: it is not kept, or it is
  Fails fails = Fails::Never;
  u32 appends = 0;
  bool has_locks = false;                // else who uses a run is nobody's business
  std::set<std::string, std::less<>> locked;
};

class TestKeeper final : public EntryKeeper {
 public:
  explicit TestKeeper(KeptEntries& kept) : kept_(kept) {}

  Status load(std::string_view run, Take take, void* user) override {
    const std::lock_guard lock(kept_.mutex);
    const auto place = kept_.runs.find(run);
    if (place == kept_.runs.end()) return {};
    for (const std::string& entry : place->second) {
      if (!take(user, entry)) break;
    }
    return {};
  }

  Status append(std::string_view run, u64 number, std::string_view entry) override {
    const std::lock_guard lock(kept_.mutex);
    ++kept_.appends;
    std::vector<std::string>& entries = kept_.runs[std::string(run)];
    if (number != entries.size()) return fail(Reason::journal_locked, "somebody else wrote");
    if (kept_.fails == KeptEntries::Fails::Before) return lost();
    entries.emplace_back(entry);
    return kept_.fails == KeptEntries::Fails::After ? lost() : Status();
  }

  Result<std::vector<std::string>> runs() override {
    const std::lock_guard lock(kept_.mutex);
    std::vector<std::string> names;
    for (const auto& [run, entries] : kept_.runs) names.push_back(run);
    return names;
  }

  Status remove(std::string_view run) override {
    const std::lock_guard lock(kept_.mutex);
    kept_.runs.erase(std::string(run));
    return {};
  }

  Status lock(std::string_view run) override {
    const std::lock_guard lock(kept_.mutex);
    if (!kept_.has_locks || kept_.locked.emplace(run).second) return {};
    return fail(Reason::journal_locked, "somebody else is at it");
  }

  void unlock(std::string_view run) override {
    const std::lock_guard lock(kept_.mutex);
    kept_.locked.erase(std::string(run));
  }

 private:
  static Status lost() { return fail(Reason::journal_store, "the connection was lost"); }
  KeptEntries& kept_;
};

class HostedPlace final : public TestPlace {
 public:
  Result<std::unique_ptr<JournalStore>> open() override { return journals_.store("nightly"); }
  std::string name() const override { return "a host's"; }

 private:
  KeptEntries kept_;
  HostedJournals journals_{std::make_unique<TestKeeper>(kept_)};
};

}  // namespace soma
