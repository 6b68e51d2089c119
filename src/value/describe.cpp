// Describes values and places in them.
#include "value/describe.hpp"

#include <algorithm>

#include "base/json_scan.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"

namespace soma {

namespace {

std::string describe_map(std::span<const Member> members) {
  constexpr size_t keys_max = 8;
  if (members.empty()) return "an empty map";
  std::string out = "a map of ";
  for (size_t i = 0; i < std::min(members.size(), keys_max); ++i) {
    if (i > 0) out += ", ";
    out += quoted(members[i].key);
  }
  if (members.size() > keys_max) out += text(" and {} more", members.size() - keys_max);
  return out;
}

}  // namespace

std::string describe(const Value& value) {
  switch (value.kind()) {
    case ValueKind::Null: return "null";
    case ValueKind::Bool: return value.truth() ? "true" : "false";
    case ValueKind::Integer: return text("the integer {}", value.integer());
    case ValueKind::Number: return text("the number {}", value.number());
    case ValueKind::Text: return "the text " + quoted(value.text());
    case ValueKind::Bytes: return text("{} bytes", value.bytes().size());
    case ValueKind::List: return text("a list of {}", value.list().size());
    case ValueKind::Map: return describe_map(value.map());
    case ValueKind::Opaque: return "an opaque value";
  }
  return "";
}

bool is_path_name(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && !is_digit(name[0]) &&
         std::all_of(name.begin(), name.end(),
                     [is_letter](char c) { return is_letter(c) || is_digit(c); });
}

void append_member(std::string& path, std::string_view name) {
  if (is_path_name(name)) {
    path += '.';
    path += name;
  } else {
    path += '[' + json_quoted(name) + ']';
  }
}

void append_index(std::string& path, i64 index) { path += text("[{}]", index); }

std::string json_quoted(std::string_view text) {
  JsonWriter writer;
  writer.value(text);
  return std::move(writer).take();
}

}  // namespace soma
