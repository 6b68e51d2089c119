// Writes and reads the entries of a journal.
//
// Problem. A host that keeps a run's journal, in a database or a service of its own, should have
// to understand nothing of it, and can't be believed: its bytes may be cut, changed, doubled, in
// another order or another run's.
//
// Idea. An entry is a row of numbers and texts, written as seals digest them (format.md): there is
// one way to write a record, so what is read can only be what was written. What one append makes
// durable is one entry, and so whole or not there for any host that keeps a piece of bytes whole or
// not at all. An entry says which records it holds, and each record has its seal, which stands for
// all before it; so an entry is believed in its own place of its own journal only. Only the last
// entries can be missing without a trace.
//
// Reading. A length is a claim, and compared with what is left before anything is copied. So an
// entry costs at most twice its bytes, whatever it says.
#include "journal/entry.hpp"

#include <bit>
#include <cstring>
#include <limits>

#include "base/text.hpp"
#include "journal/seal.hpp"

namespace soma {

namespace {

constexpr std::string_view first_mark = "journal", next_mark = "records";
static_assert(std::endian::native == std::endian::little);

class Writer {
 public:
  Writer& number(u64 value) {
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& text(std::string_view value) {
    number(value.size());
    out_ += value;
    return *this;
  }
  std::string take() && { return std::move(out_); }

 private:
  std::string out_;
};

// After something that is not there, it is at its end and has failed.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : left_(bytes) {}

  u64 number() {
    u64 value = 0;
    const std::string_view bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::string_view text() { return take(number()); }
  bool has_failed() const { return has_failed_; }
  bool is_at_end() const { return left_.empty(); }

 private:
  std::string_view take(u64 size) {
    if (size > left_.size()) {
      has_failed_ = true;
      left_ = {};
      return {};
    }
    const std::string_view taken = left_.substr(0, static_cast<size_t>(size));
    left_.remove_prefix(taken.size());
    return taken;
  }

  std::string_view left_;
  bool has_failed_ = false;
};

Error corrupt(std::string_view why) {
  return fail(Reason::journal_corrupt,
              "{}; each entry must come back as it was, in its order: restore a copy, or start a "
              "new run", why);
}

Status check_begin(Cursor& entry, std::string_view mark) {
  const std::string_view found = entry.text();
  if (entry.has_failed() || found != mark) {
    return corrupt(text("it begins with {} where '{}' is due", quoted(found), mark));
  }
  const u64 version = entry.number();
  if (entry.has_failed()) return corrupt("it is cut off");
  if (version == journal_version) return {};
  return fail(Reason::journal_version,
              "it is of version {}, and this library reads version {}; resume the run with the "
              "library that began it", version, journal_version);
}

Status check_end(const Cursor& entry) {
  if (entry.has_failed()) return corrupt("it is cut off");
  if (!entry.is_at_end()) return corrupt("it has bytes behind its end");
  return {};
}

Result<Record> read_record(Cursor& entry) {
  constexpr u64 small_max = std::numeric_limits<u32>::max();
  Record record;
  const std::string_view kind_name = entry.text();
  record.site.path = entry.text();
  const u64 turn = entry.number(), index = entry.number();
  record.effect = entry.text();
  record.digest = entry.text();
  record.content = entry.text();
  record.at_ns = static_cast<i64>(entry.number());
  if (entry.has_failed()) return corrupt("it is cut off");
  const std::optional<Record::Kind> kind = record_kind_by_name(kind_name);
  if (!kind) return corrupt(text("it has a record of no known kind, {}", quoted(kind_name)));
  if (turn > small_max || index > small_max) {
    return corrupt("it has a record with a turn or a position that is none");
  }
  record.kind = *kind;
  record.site.turn = static_cast<u32>(turn);
  record.site.index = static_cast<u32>(index);
  return record;
}

}  // namespace

std::string EntryChain::write_first(const RunIdentity& identity) {
  seal_ = seal_of(identity);
  entries_ = 1;
  records_ = 0;
  Writer entry;
  entry.text(first_mark).number(journal_version).text(identity.run).text(identity.plan)
      .text(identity.input).text(seal_);
  return std::move(entry).take();
}

std::string EntryChain::write_next(std::span<const Record> records) {
  Writer entry;
  entry.text(next_mark).number(journal_version).number(records_ + 1).number(records.size());
  for (const Record& record : records) {
    seal_ = seal_of(record, ++records_, seal_);
    entry.text(record_kind_name(record.kind)).text(record.site.path).number(record.site.turn)
        .number(record.site.index).text(record.effect).text(record.digest).text(record.content)
        .number(static_cast<u64>(record.at_ns)).text(seal_);
  }
  ++entries_;
  return std::move(entry).take();
}

Result<RunIdentity> EntryChain::read_first(std::string_view bytes) {
  Cursor entry(bytes);
  SOMA_TRY(check_begin(entry, first_mark));
  RunIdentity identity;
  for (std::string* part : {&identity.run, &identity.plan, &identity.input, &seal_}) {
    *part = entry.text();
  }
  SOMA_TRY(check_end(entry));
  if (seal_ != seal_of(identity) || !check_run_id(identity.run).ok()) {
    return corrupt("it is damaged where it says of which run it is");
  }
  entries_ = 1;
  return identity;
}

Status EntryChain::read_next(std::string_view bytes, Take take, void* user) {
  Cursor entry(bytes);
  SOMA_TRY(check_begin(entry, next_mark));
  const u64 number = entry.number(), count = entry.number();
  if (entry.has_failed()) return corrupt("it is cut off");
  if (number != records_ + 1 || count == 0) {
    return corrupt(text("it holds {} records from record {} on, and record {} is due", count,
                        number, records_ + 1));
  }
  for (u64 i = 0; i < count; ++i) {
    SOMA_ASSIGN(Record record, read_record(entry));
    std::string expected = seal_of(record, ++records_, seal_);
    if (entry.text() != expected) {
      return corrupt(text("it is damaged, or of another journal: record {} has a seal that does "
                          "not fit", records_));
    }
    seal_ = std::move(expected);
    SOMA_TRY(take(user, std::move(record)));
  }
  SOMA_TRY(check_end(entry));
  ++entries_;
  return {};
}

}  // namespace soma
