// Writes, digests and reads the binary form of values.
//
// Problem. A cache has to give back exactly what it was given, and to name values by their content:
// two equal values must have the same bytes, and what can't be believed must be readable safely.
//
// Idea. A tag for each kind, numbers and sizes in eight bytes, parts in their order: nothing can be
// written in two ways, so the form is canonical without a rule that a reader would have to check.
// (Two exceptions: a number that is none has one form, and a map's keys differ; both are checked.)
// Writing is a walk in order, whose pieces go to whoever wants them: a text, or a digest, which so
// takes a gigabyte of bytes without a copy.
//
// Reading. A list's size is a claim. Each part that is still to come needs some bytes, so a reader
// adds up what all open lists and maps still need, and refuses a claim for which too few bytes are
// left. Then all claims together are no more than what is there, and memory can be reserved.
//
// Cost. Linear; a stack as deep as the value.
#include "value/value_binary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/text.hpp"
#include "value/repeats.hpp"
#include "value/value_walk.hpp"

namespace soma {

namespace {

enum class Form : u8 { Null, False, True, Integer, Number, Text, Bytes, List, Map };
constexpr size_t size_bytes = 8;
constexpr size_t element_bytes_min = 1, member_bytes_min = size_bytes + 1;

static_assert(std::endian::native == std::endian::little);

// Collects small pieces, so that whoever takes them is called seldom.
template <typename Take>
class PieceWriter {
 public:
  explicit PieceWriter(Take take) : take_(take) {}

  void form(Form form) {
    make_room(1);
    buffer_[filled_++] = static_cast<char>(form);
  }
  void number(u64 number) {
    make_room(sizeof number);
    std::memcpy(buffer_ + filled_, &number, sizeof number);
    filled_ += sizeof number;
  }
  void bytes(std::string_view bytes) {
    number(bytes.size());
    if (bytes.size() > sizeof buffer_ / 2) {
      flush();
      take_(bytes);
    } else if (!bytes.empty()) {
      make_room(bytes.size());
      std::memcpy(buffer_ + filled_, bytes.data(), bytes.size());
      filled_ += bytes.size();
    }
  }
  void flush() {
    if (filled_ > 0) take_(std::string_view(buffer_, filled_));
    filled_ = 0;
  }

 private:
  void make_room(size_t size) {
    if (size > sizeof buffer_ - filled_) flush();
  }

  Take take_;
  size_t filled_ = 0;
  char buffer_[512];
};

u64 bits_of(double number) {
  if (std::isnan(number)) number = std::numeric_limits<double>::quiet_NaN();
  return std::bit_cast<u64>(number);
}

// False: an opaque value lies in it, and the pieces are of no use.
template <typename Take>
bool write_pieces(const Value& value, Take take) {
  PieceWriter<Take> writer(take);
  const bool is_whole = each_part(value, [&writer](const std::string* key, const Value& part) {
    if (key) writer.bytes(*key);
    switch (part.kind()) {
      case ValueKind::Null: writer.form(Form::Null); break;
      case ValueKind::Bool: writer.form(part.truth() ? Form::True : Form::False); break;
      case ValueKind::Integer:
        writer.form(Form::Integer);
        writer.number(static_cast<u64>(part.integer()));
        break;
      case ValueKind::Number:
        writer.form(Form::Number);
        writer.number(bits_of(part.number()));
        break;
      case ValueKind::Text:
        writer.form(Form::Text);
        writer.bytes(part.text());
        break;
      case ValueKind::Bytes: {
        const std::span<const u8> bytes = part.bytes();
        writer.form(Form::Bytes);
        writer.bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
        break;
      }
      case ValueKind::List:
        writer.form(Form::List);
        writer.number(part.list().size());
        break;
      case ValueKind::Map:
        writer.form(Form::Map);
        writer.number(part.map().size());
        break;
      case ValueKind::Opaque: return false;
    }
    return true;
  });
  if (is_whole) writer.flush();
  return is_whole;
}

}  // namespace

std::optional<std::string> value_binary(const Value& value) {
  std::string out;
  if (!write_pieces(value, [&out](std::string_view piece) { out += piece; })) return std::nullopt;
  return out;
}

std::optional<DigestBytes> value_digest(const Value& value) {
  ContentDigest digest;
  if (!write_pieces(value, [&digest](std::string_view piece) { digest.feed(piece); })) {
    return std::nullopt;
  }
  return digest.bytes();
}

bool has_opaque(const Value& value) {
  return !each_part(value, [](const std::string*, const Value& part) {
    return !part.is(ValueKind::Opaque);
  });
}

u64 value_memory_bytes(const Value& value) {
  constexpr u64 block_bytes = 96;  // of whatever is no scalar, with what an allocator adds
  u64 bytes = sizeof value;
  each_part(value, [&bytes](const std::string*, const Value& part) {
    switch (part.kind()) {
      case ValueKind::Null:
      case ValueKind::Bool:
      case ValueKind::Integer:
      case ValueKind::Number: break;
      case ValueKind::Text: bytes += block_bytes + part.text().size(); break;
      case ValueKind::Bytes: bytes += block_bytes + part.bytes().size(); break;
      case ValueKind::List: bytes += block_bytes + part.list().size_bytes(); break;
      case ValueKind::Map:
        bytes += block_bytes + part.map().size_bytes();
        for (const Member& member : part.map()) bytes += member.key.size();
        break;
      case ValueKind::Opaque: bytes += block_bytes; break;
    }
    return true;
  });
  return bytes;
}

// ---- Reading

namespace {

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  Result<Value> read() &&;

 private:
  // A list or a map that is being read.
  struct Open {
    bool is_map = false;
    u64 left = 0;
    size_t begin = 0;              // its place, for messages
    std::vector<Value> elements;
    std::vector<Member> members;
  };

  Status read_part(Value& out, bool& opens);
  Status open(bool is_map, size_t begin);
  Status read_key();
  Status close(Value& out);
  Result<u64> number();
  Result<std::string_view> sized();
  u64 bytes_left() const { return bytes_.size() - at_; }
  Error cut_off(u64 needed) const {
    return fail(Reason::document_corrupt, "the value is cut off: at byte {}, {} more are needed, "
                "and {} are there", at_, needed, bytes_left());
  }

  const std::string_view bytes_;
  size_t at_ = 0;
  u64 owed_ = 0;                   // bytes that the open lists and maps still need at least
  std::vector<Open> open_;
};

Result<u64> Reader::number() {
  u64 number = 0;
  if (bytes_left() < sizeof number) return cut_off(sizeof number);
  std::memcpy(&number, bytes_.data() + at_, sizeof number);
  at_ += sizeof number;
  return number;
}

Result<std::string_view> Reader::sized() {
  SOMA_ASSIGN(const u64 size, number());
  if (size > bytes_left()) return cut_off(size);
  const std::string_view piece = bytes_.substr(at_, static_cast<size_t>(size));
  at_ += piece.size();
  return piece;
}

Status Reader::open(bool is_map, size_t begin) {
  SOMA_ASSIGN(const u64 count, number());
  const u64 each = is_map ? member_bytes_min : element_bytes_min;
  const std::optional<u64> needed = checked_mul(count, each);
  if (!needed || bytes_left() < owed_ || *needed > bytes_left() - owed_) {
    return fail(Reason::document_corrupt,
                "at byte {}, a {} of {} is claimed, and {} bytes are left", begin,
                is_map ? "map" : "list", count, bytes_left());
  }
  owed_ += *needed;
  Open& made = open_.emplace_back();
  made.is_map = is_map;
  made.left = count;
  made.begin = begin;
  if (is_map) made.members.reserve(static_cast<size_t>(count));
  else made.elements.reserve(static_cast<size_t>(count));
  return {};
}

Status Reader::read_key() {
  const size_t begin = at_;
  SOMA_ASSIGN(const std::string_view key, sized());
  if (find_invalid_utf8(key) != std::string_view::npos) {
    return fail(Reason::document_corrupt, "the key at byte {} is no UTF-8", begin);
  }
  open_.back().members.push_back({std::string(key), {}});
  return {};
}

// Sets `out`, unless it opens a list or a map.
Status Reader::read_part(Value& out, bool& opens) {
  const size_t begin = at_;
  if (bytes_left() == 0) return cut_off(1);
  const auto form = static_cast<Form>(bytes_[at_++]);
  opens = form == Form::List || form == Form::Map;
  switch (form) {
    case Form::Null: out = Value(); return {};
    case Form::False: out = Value::boolean(false); return {};
    case Form::True: out = Value::boolean(true); return {};
    case Form::Integer: {
      SOMA_ASSIGN(const u64 bits, number());
      out = Value::integer(static_cast<i64>(bits));
      return {};
    }
    case Form::Number: {
      SOMA_ASSIGN(const u64 bits, number());
      const double number = std::bit_cast<double>(bits);
      if (bits != bits_of(number)) break;
      out = Value::number(number);
      return {};
    }
    case Form::Text: {
      SOMA_ASSIGN(const std::string_view text, sized());
      if (find_invalid_utf8(text) != std::string_view::npos) break;
      out = Value::text(std::string(text));
      return {};
    }
    case Form::Bytes: {
      SOMA_ASSIGN(const std::string_view bytes, sized());
      out = Value::bytes({bytes.begin(), bytes.end()});
      return {};
    }
    case Form::List: return open(false, begin);
    case Form::Map: return open(true, begin);
  }
  return fail(Reason::document_corrupt, "at byte {} there is no value: {}", begin,
              quoted(bytes_.substr(begin, 9)));
}

Status Reader::close(Value& out) {
  Open& done = open_.back();
  if (!done.is_map) {
    out = Value::list(std::move(done.elements));
  } else {
    const std::vector<Member>& members = done.members;
    const auto key_of = [&members](u32 at) -> std::string_view { return members[at].key; };
    constexpr size_t few = 8;
    bool repeats = members.size() > std::numeric_limits<u32>::max();
    if (members.size() <= few) {
      for (size_t i = 0; i < members.size(); ++i) {
        for (size_t j = 0; j < i; ++j) repeats = repeats || members[i].key == members[j].key;
      }
    } else if (!repeats) {
      repeats = !find_repeats(static_cast<u32>(members.size()), key_of).empty();
    }
    if (repeats) {
      return fail(Reason::document_corrupt, "the map at byte {} has a key twice", done.begin);
    }
    out = Value::map(std::move(done.members));
  }
  open_.pop_back();
  return {};
}

Result<Value> Reader::read() && {
  Value value;
  bool opens = false;
  SOMA_TRY(read_part(value, opens));
  while (!open_.empty()) {
    if (!opens) {                  // `value` is a part of the innermost
      Open& top = open_.back();
      if (top.is_map) top.members.back().value = std::move(value);
      else top.elements.push_back(std::move(value));
    }
    Open& top = open_.back();
    if (top.left == 0) {
      SOMA_TRY(close(value));
      opens = false;
      if (open_.empty()) break;
      continue;
    }
    --top.left;
    owed_ -= top.is_map ? member_bytes_min : element_bytes_min;
    if (top.is_map) SOMA_TRY(read_key());
    SOMA_TRY(read_part(value, opens));
  }
  if (bytes_left() != 0) {
    return fail(Reason::document_corrupt, "{} bytes follow the value, at byte {}", bytes_left(),
                at_);
  }
  return value;
}

}  // namespace

Result<Value> value_from_binary(std::string_view bytes) { return Reader(bytes).read(); }

}  // namespace soma
