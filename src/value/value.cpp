// Values: blocks with reference counts, made and released without recursion.
//
// Problem. Whoever drops the last reference to a list drops its elements' too, and theirs. As
// destructors that is a recursion as deep as the value, which is as deep as its maker liked.
//
// Idea. A block whose count reached zero belongs to nobody, so a field of it may link it into a
// list of blocks still to be freed. Releasing one block takes its references to its children from
// it, links those that reached zero, and then frees it: nothing is left for its destructor to
// descend into. Nothing is allocated, so a destructor never fails. Comparing keeps a stack on the
// heap.
//
// Why it is right. Each block enters the list once, when its count falls to zero, and nothing can
// raise a count of zero: a copy needs a Value that still holds a reference.
#include "value/value.hpp"

#include <cmath>
#include <type_traits>

namespace soma {

struct Value::Block {
  using List = std::vector<Value>;
  using Map = std::vector<Member>;
  struct Opaque {
    void* object;
    void (*release)(void* object);
  };

  template <typename Content>
  explicit Block(Content made) : content(std::move(made)) {}

  bool drop() {
    // Acquires what other owners did before they released their references in this same line.
    return references.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }

  std::atomic<u64> references{1};
  Block* next_dead = nullptr;
  std::variant<std::string, std::vector<u8>, List, Map, Opaque> content;
};

static_assert(sizeof(Value) == 16);

std::string_view value_kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::Null: return "null";
    case ValueKind::Bool: return "bool";
    case ValueKind::Integer: return "integer";
    case ValueKind::Number: return "number";
    case ValueKind::Text: return "text";
    case ValueKind::Bytes: return "bytes";
    case ValueKind::List: return "list";
    case ValueKind::Map: return "map";
    case ValueKind::Opaque: return "opaque";
  }
  return "";
}

// ---- Making

Value::Value(ValueKind kind, std::unique_ptr<Block> block)
    : kind_(kind), payload_{.block = block.release()} {}

Value Value::boolean(bool truth) {
  Value out;
  out.kind_ = ValueKind::Bool;
  out.payload_.truth = truth;
  return out;
}

Value Value::integer(i64 number) {
  Value out;
  out.kind_ = ValueKind::Integer;
  out.payload_.integer = number;
  return out;
}

Value Value::number(double number) {
  Value out;
  out.kind_ = ValueKind::Number;
  out.payload_.number = number;
  return out;
}

Value Value::text(std::string text) {
  return {ValueKind::Text, std::make_unique<Block>(std::move(text))};
}

Value Value::bytes(std::vector<u8> bytes) {
  return {ValueKind::Bytes, std::make_unique<Block>(std::move(bytes))};
}

Value Value::list(std::vector<Value> elements) {
  return {ValueKind::List, std::make_unique<Block>(std::move(elements))};
}

Value Value::map(std::vector<Member> members) {
  return {ValueKind::Map, std::make_unique<Block>(std::move(members))};
}

Value Value::opaque(void* object, void (*release)(void* object)) {
  try {
    return {ValueKind::Opaque, std::make_unique<Block>(Block::Opaque{object, release})};
  } catch (...) {
    if (release) release(object);
    throw;
  }
}

// ---- Sharing and releasing

Value::Value(const Value& other) : kind_(other.kind_), payload_(other.payload_) {
  // Who copies holds a reference already: nothing can be missed.
  if (has_block()) payload_.block->references.fetch_add(1, std::memory_order_relaxed);
}

Value::Value(Value&& other) noexcept
    : kind_(std::exchange(other.kind_, ValueKind::Null)), payload_(other.payload_) {}

Value& Value::operator=(const Value& other) {
  Value copy(other);
  std::swap(kind_, copy.kind_);
  std::swap(payload_, copy.payload_);
  return *this;
}

Value& Value::operator=(Value&& other) noexcept {
  Value taken(std::move(other));
  std::swap(kind_, taken.kind_);
  std::swap(payload_, taken.payload_);
  return *this;
}

Value::~Value() {
  if (has_block() && payload_.block->drop()) release(payload_.block);
}

void Value::release(Block* block) noexcept {
  Block* dead = block;
  const auto let_go = [&dead](Value& child) {
    if (!child.has_block()) return;
    Block* of_child = child.payload_.block;
    child.kind_ = ValueKind::Null;
    if (!of_child->drop()) return;
    of_child->next_dead = dead;
    dead = of_child;
  };
  while (dead) {
    const std::unique_ptr<Block> now(std::exchange(dead, dead->next_dead));
    if (auto* list = std::get_if<Block::List>(&now->content)) {
      for (Value& element : *list) let_go(element);
    } else if (auto* map = std::get_if<Block::Map>(&now->content)) {
      for (Member& member : *map) let_go(member.value);
    } else if (auto* opaque = std::get_if<Block::Opaque>(&now->content)) {
      if (opaque->release) opaque->release(opaque->object);
    }
  }
}

bool Value::is_sole_owner() const {
  // Acquires what other owners did before drop() released their references.
  return !has_block() || payload_.block->references.load(std::memory_order_acquire) == 1;
}

// ---- Reading

bool Value::truth() const { return payload_.truth; }
i64 Value::integer() const { return payload_.integer; }
double Value::number() const { return payload_.number; }
const std::string& Value::text() const { return std::get<std::string>(payload_.block->content); }

std::span<const u8> Value::bytes() const {
  return std::get<std::vector<u8>>(payload_.block->content);
}

std::span<const Value> Value::list() const {
  return std::get<Block::List>(payload_.block->content);
}

std::span<const Member> Value::map() const { return std::get<Block::Map>(payload_.block->content); }
void* Value::opaque() const { return std::get<Block::Opaque>(payload_.block->content).object; }

const Value* Value::find(std::string_view key) const {
  for (const Member& member : map()) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

// ---- Comparing

namespace {

std::partial_ordering order(i64 whole, double number) {
  constexpr double beyond = 9223372036854775808.0;  // 2^63: the first above every i64
  if (std::isnan(number)) return std::partial_ordering::unordered;
  if (number >= beyond) return std::partial_ordering::less;
  if (number < -beyond) return std::partial_ordering::greater;
  // Within the range the whole part is an i64 exactly, and so is the difference to it a double.
  const double floor = std::floor(number);
  const std::partial_ordering by_whole = whole <=> static_cast<i64>(floor);
  if (by_whole != 0 || floor == number) return by_whole;
  return std::partial_ordering::less;
}

bool is_number(const Value& value) {
  return value.is(ValueKind::Integer) || value.is(ValueKind::Number);
}

// Two lists or two maps of one length, whose elements are compared from `at` on.
struct Pair {
  const Value* a;
  const Value* b;
  size_t at = 0;
};

const Value& child(const Value& value, size_t at) {
  return value.is(ValueKind::List) ? value.list()[at] : value.map()[at].value;
}

size_t children(const Value& value) {
  if (value.is(ValueKind::List)) return value.list().size();
  return value.is(ValueKind::Map) ? value.map().size() : 0;
}

// Equal, but for the elements of lists and maps.
bool equal_without_children(const Value& a, const Value& b) {
  if (is_number(a) && is_number(b)) return order_of_numbers(a, b) == 0;
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case ValueKind::Null:
    case ValueKind::Integer:
    case ValueKind::Number: return true;
    case ValueKind::Bool: return a.truth() == b.truth();
    case ValueKind::Text: return a.text() == b.text();
    case ValueKind::Bytes: {
      const std::span<const u8> left = a.bytes(), right = b.bytes();
      return std::equal(left.begin(), left.end(), right.begin(), right.end());
    }
    case ValueKind::List: return a.list().size() == b.list().size();
    case ValueKind::Map: {
      const std::span<const Member> left = a.map(), right = b.map();
      return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                        [](const Member& x, const Member& y) { return x.key == y.key; });
    }
    case ValueKind::Opaque: return a.opaque() == b.opaque();
  }
  return false;
}

}  // namespace

std::partial_ordering order_of_numbers(const Value& a, const Value& b) {
  if (!is_number(a) || !is_number(b)) return std::partial_ordering::unordered;
  const bool a_whole = a.is(ValueKind::Integer), b_whole = b.is(ValueKind::Integer);
  if (a_whole && b_whole) return a.integer() <=> b.integer();
  if (a_whole) return order(a.integer(), b.number());
  if (b_whole) return 0 <=> order(b.integer(), a.number());
  return a.number() <=> b.number();
}

bool operator==(const Value& a, const Value& b) {
  if (!equal_without_children(a, b)) return false;
  if (children(a) == 0) return true;
  std::vector<Pair> open = {{&a, &b}};
  while (!open.empty()) {
    Pair& top = open.back();
    if (top.at == children(*top.a)) {
      open.pop_back();
      continue;
    }
    const Value& left = child(*top.a, top.at);
    const Value& right = child(*top.b, top.at);
    ++top.at;
    if (!equal_without_children(left, right)) return false;
    if (children(left) != 0) open.push_back({&left, &right});
  }
  return true;
}

}  // namespace soma
