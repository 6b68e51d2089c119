// Reads JSON strictly, without trusting it, the same way in every locale.
//
// parse() takes what RFC 8259 takes, in UTF-8 and without a byte order mark, and refuses what
// readers disagree about: a key twice in an object, the character NUL, a number that no double
// holds, a whole number beyond ±2^53 (it would be rounded; such numbers travel as text). Every
// refusal names the line, the column and the byte offset, what was expected and what is there.
#pragma once

#include "base/core.hpp"

struct cJSON;

namespace soma {

enum class JsonKind : u8 { Null, Bool, Number, Text, Array, Object };
std::string_view json_kind_name(JsonKind kind);  // "null", "bool", "number", "text", "array", …

// Whole numbers up to here are doubles, all of them.
inline constexpr i64 json_whole_max = i64{1} << 53;

// A value of a document, or nothing. Valid as long as the document lives; cheap to copy.
class JsonView {
 public:
  JsonView() = default;
  explicit operator bool() const { return node_ != nullptr; }
  JsonKind kind() const;
  bool is(JsonKind other) const { return node_ != nullptr && kind() == other; }
  // Each only for its kind.
  bool truth() const;
  double number() const;
  std::string_view text() const;
  // A number without a fraction, within ±2^53.
  std::optional<i64> integer() const;

  // Elements of an array or members of an object, in their order:
  //   for (JsonView at = view.first(); at; at = at.next())
  JsonView first() const;
  JsonView next() const;
  std::string_view key() const;                  // of a member
  size_t size() const;                           // linear
  JsonView member(std::string_view key) const;   // linear; nothing if there is none

 private:
  friend class Json;
  explicit JsonView(const cJSON* node) : node_(node) {}
  const cJSON* node_ = nullptr;
};

struct JsonLimits {
  size_t bytes_max = size_t{1} << 28;
  u32 depth_max = 512;  // of arrays and objects within each other; at most cJSON's own 1000
};

// A document. Movable; released without recursion deeper than the limit.
class Json {
 public:
  // document_syntax, document_duplicate_key (all of them at once), document_limit.
  static Result<Json> parse(std::string_view text, const JsonLimits& limits = {});
  Json(Json&& other) noexcept;
  Json& operator=(Json&& other) noexcept;
  ~Json();
  JsonView root() const { return JsonView(root_); }

 private:
  explicit Json(cJSON* root) : root_(root) {}
  cJSON* root_ = nullptr;
};

}  // namespace soma
