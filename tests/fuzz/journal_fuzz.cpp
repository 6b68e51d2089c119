// Opens arbitrary files as a run's journal: a database, or a sound database with an arbitrary log;
// and reads arbitrary bytes as an entry of a host's. What is read can be read again, and gives the
// same; what is refused says why.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "journal/entry.hpp"
#include "journal/journal.hpp"
#include "journal/sqlite_store.hpp"

namespace soma {

namespace {

void check(bool holds) {
  if (!holds) __builtin_trap();
}

// A folder for the files of this process, best one in memory. It stays: libFuzzer just ends.
std::string make_folder() {
  char in_memory[] = "/dev/shm/soma-fuzz-XXXXXX", on_disk[] = "/tmp/soma-fuzz-XXXXXX";
  if (::mkdtemp(in_memory) != nullptr) return in_memory;
  check(::mkdtemp(on_disk) != nullptr);
  return on_disk;
}

void write_file(const std::string& path, std::span<const u8> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  check(file >= 0);
  check(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  ::close(file);
}

std::vector<u8> read_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  check(file >= 0);
  std::vector<u8> bytes(1 << 20);
  const ssize_t size = ::read(file, bytes.data(), bytes.size());
  ::close(file);
  check(size >= 0);
  bytes.resize(static_cast<size_t>(size));
  return bytes;
}

std::vector<u8> sound_database(const std::string& path) {
  Result<std::unique_ptr<JournalStore>> store = open_sqlite_store(path);
  check(store.ok());
  Result<std::unique_ptr<Journal>> journal =
      Journal::open(*std::move(store), {"run", "plan", "input"});
  check(journal.ok());
  const Record intent = {.kind = Record::Kind::Intent, .site = {"a", 0, 0}, .effect = "e",
                         .digest = "d", .content = "{}"};
  check((*journal)->append({intent}).ok());
  journal->reset();
  return read_file(path);
}

std::optional<std::vector<Record>> read_journal(const std::string& path) {
  Result<std::unique_ptr<JournalStore>> store = open_sqlite_store(path, {.must_exist = true});
  if (!store.ok()) {
    check(!store.error().message().empty());
    return std::nullopt;
  }
  const Result<std::unique_ptr<Journal>> journal = Journal::open(*std::move(store));
  if (!journal.ok()) {
    check(!journal.error().message().empty());
    return std::nullopt;
  }
  std::vector<Record> records;
  (*journal)->each([](void* user, const Record& record) {
    static_cast<std::vector<Record>*>(user)->push_back(record);
  }, &records);
  // Only what was recorded last at a site is what it asks for, so some of these diverge.
  size_t known = 0;
  for (const Record& record : records) {
    const Result<Journal::Recorded> found = (*journal)->find(record);
    if (found.ok() && found->state != Journal::Recorded::State::Unknown) ++known;
  }
  check(known <= records.size());
  check((*journal)->waiting().size() <= records.size());
  return records;
}

// As a journal's first entry, and as the one behind a sound first one.
void read_entry(std::string_view bytes) {
  const Result<RunIdentity> identity = EntryChain().read_first(bytes);
  if (identity.ok()) check(EntryChain().write_first(*identity) == bytes);
  EntryChain chain, again;
  const std::string first = again.write_first({"run", "plan", "input"});
  check(chain.read_first(first).ok());
  std::vector<Record> records;
  const Status read = chain.read_next(bytes, [](void* user, Record record) {
    static_cast<std::vector<Record>*>(user)->push_back(std::move(record));
    return Status();
  }, &records);
  if (read.ok()) check(again.write_next(records) == bytes);
  if (!read.ok()) check(!read.error().message().empty());
}

}  // namespace

}  // namespace soma

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace soma;
  static const std::string path = make_folder() + "/run.journal";
  static const std::vector<u8> sound = sound_database(path);
  if (size == 0) return 0;
  // The first byte says what the others are.
  if (data[0] == 'E') {
    read_entry({reinterpret_cast<const char*>(data + 1), size - 1});
    return 0;
  }
  const bool is_log = data[0] == 'W';
  const std::span<const u8> bytes(data + 1, size - 1);
  write_file(path, is_log ? std::span<const u8>(sound) : bytes);
  write_file(path + "-wal", is_log ? bytes : std::span<const u8>());
  const std::optional<std::vector<Record>> first = read_journal(path);
  if (!first) return 0;
  const std::optional<std::vector<Record>> again = read_journal(path);
  check(again && *again == *first);
  if (is_log) check(!first->empty() && first->front().effect == "e");
  return 0;
}
