// A value: what flows along the edges of a graph.
//
// Values are immutable and shared: copying one copies a reference, from any thread. Null, bools and
// numbers lie in the Value itself; the rest lies in one block with a reference count. So a list of
// a million numbers is one block, and handing it to a hundred readers copies nothing.
#pragma once

#include <atomic>
#include <compare>

#include "base/core.hpp"

namespace soma {

enum class ValueKind : u8 { Null, Bool, Integer, Number, Text, Bytes, List, Map, Opaque };
std::string_view value_kind_name(ValueKind kind);  // "null", "bool", "integer", "number", "text", …

class Value;
struct Member;  // of a map

class Value {
 public:
  Value() = default;  // null
  static Value boolean(bool truth);
  static Value integer(i64 number);
  static Value number(double number);
  static Value text(std::string text);          // valid UTF-8: the caller saw to that
  static Value bytes(std::vector<u8> bytes);
  static Value list(std::vector<Value> elements);
  static Value map(std::vector<Member> members);  // keys differ: the caller saw to that
  // Something of the host's: `release` (may be null) is called once, when the last reference goes,
  // on whatever thread that is, or at once if there is no memory for the block. It has no content
  // that others could compare, hash or store.
  static Value opaque(void* object, void (*release)(void* object));

  Value(const Value& other);
  Value(Value&& other) noexcept;  // leaves null
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  ValueKind kind() const { return kind_; }
  bool is(ValueKind kind) const { return kind_ == kind; }
  bool is_null() const { return kind_ == ValueKind::Null; }
  // Each only for its kind.
  bool truth() const;
  i64 integer() const;
  double number() const;
  const std::string& text() const;
  std::span<const u8> bytes() const;
  std::span<const Value> list() const;
  std::span<const Member> map() const;
  void* opaque() const;

  // Of a map; nullptr if it has no such key. Linear.
  const Value* find(std::string_view key) const;
  // No other Value shares the block: who holds this one may change it in place.
  bool is_sole_owner() const;

 private:
  struct Block;
  Value(ValueKind kind, std::unique_ptr<Block> block);
  bool has_block() const { return kind_ >= ValueKind::Text; }
  static void release(Block* block) noexcept;

  ValueKind kind_ = ValueKind::Null;
  union Payload {
    bool truth;
    i64 integer;
    double number;
    Block* block;
  } payload_ = {.integer = 0};
};

struct Member {
  std::string key;
  Value value;
};

// Equal in kind and content; an integer equals the number of the same worth. The order of a map's
// members is content: what reads them reads them in it. Opaque values are equal if they are the
// same object. Iterative: as deep as memory goes.
bool operator==(const Value& a, const Value& b);

// The exact order of two numbers, integers or not: nothing is rounded to compare it. Unordered if
// either is no number, or not a number.
std::partial_ordering order_of_numbers(const Value& a, const Value& b);

}  // namespace soma
