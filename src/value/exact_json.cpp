// Writes every value so that a reader of JSON gets all of it back.
//
// Problem. JSON has fewer kinds than values have: it knows no bytes, no NaN, no 64-bit integers,
// and whether 3 was an integer or a number it does not say. A run that goes on with a recorded
// result must not see another value than the run that recorded it.
//
// Idea. What a reader would give back as it is, is written as it is. Anything else is an object of
// one member whose name begins with "$":
//
//   {"$integer": "9007199254740993"}    beyond ±2^53
//   {"$number": "3"}                    without a fraction, or not finite: "nan", "inf", "-inf"
//   {"$bytes": "base64…"}
//   {"$text": "base64…"}                with a NUL in it, which JSON's readers stumble over
//   {"$map": [key, value, …]}           that would look like one of these, or has a NUL in a key
//
// So there is one form for each value, which may be hashed. All NaN are one.
#include "value/exact_json.hpp"

#include <charconv>
#include <cmath>

#include "base/base64.hpp"
#include "base/json.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "value/repeats.hpp"

namespace soma {

namespace {

bool has_nul(std::string_view text) { return text.find('\0') != text.npos; }

std::string base64_of(std::string_view text) {
  return base64({reinterpret_cast<const u8*>(text.data()), text.size()});
}

void write_text(JsonWriter& writer, std::string_view text) {
  if (has_nul(text)) {
    writer.object().field("$text", base64_of(text)).close();
  } else {
    writer.value(text);
  }
}

void write_number(JsonWriter& writer, double number) {
  if (std::isfinite(number) && std::trunc(number) != number) {
    writer.value(number);
  } else {
    const std::string name = std::isnan(number) ? "nan" : text("{}", number);
    writer.object().field("$number", name).close();
  }
}

void write_integer(JsonWriter& writer, i64 whole) {
  if (whole <= json_whole_max && whole >= -json_whole_max) {
    writer.value(whole);
  } else {
    writer.object().field("$integer", text("{}", whole)).close();
  }
}

bool needs_pairs(std::span<const Member> members) {
  if (members.size() == 1 && members[0].key.starts_with('$')) return true;
  for (const Member& member : members) {
    if (has_nul(member.key)) return true;
  }
  return false;
}

Status write(JsonWriter& writer, const Value& value, u32 depth);

Status write_map(JsonWriter& writer, std::span<const Member> members, u32 depth) {
  const bool in_pairs = needs_pairs(members);
  writer.object();
  if (in_pairs) writer.key("$map").array();
  for (const Member& member : members) {
    if (in_pairs) {
      write_text(writer, member.key);
    } else {
      writer.key(member.key);
    }
    SOMA_TRY(write(writer, member.value, depth + 1));
  }
  if (in_pairs) writer.close();
  writer.close();
  return {};
}

Status write(JsonWriter& writer, const Value& value, u32 depth) {
  if (depth > exact_json_depth_max) {
    return fail(Reason::value_no_json,
                "the value has more than {} lists and maps within each other, and what is recorded "
                "may not: make it flatter",
                exact_json_depth_max);
  }
  switch (value.kind()) {
    case ValueKind::Null: writer.value(nullptr); break;
    case ValueKind::Bool: writer.value(value.truth()); break;
    case ValueKind::Integer: write_integer(writer, value.integer()); break;
    case ValueKind::Number: write_number(writer, value.number()); break;
    case ValueKind::Text: write_text(writer, value.text()); break;
    case ValueKind::Bytes:
      writer.object().field("$bytes", base64(value.bytes())).close();
      break;
    case ValueKind::List:
      writer.array();
      for (const Value& element : value.list()) SOMA_TRY(write(writer, element, depth + 1));
      writer.close();
      break;
    case ValueKind::Map: return write_map(writer, value.map(), depth);
    case ValueKind::Opaque:
      return fail(Reason::value_no_json,
                  "the value is opaque, or has an opaque one inside, and can't be recorded: yield "
                  "what it stands for, as a text or as bytes");
  }
  return {};
}

// ---- Reading

Error no_form(std::string_view name) {
  return fail(Reason::document_type, "expected the exact form of a value, got a member {} that "
              "does not say one", quoted(name));
}

template <typename T>
std::optional<T> parsed(std::string_view text) {
  T value = {};
  const char* const end = text.data() + text.size();
  const std::from_chars_result read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return value;
}

Result<Value> read(JsonView json);

Result<Value> read_text(std::string_view name, std::string_view text) {
  if (name == "$integer") {
    if (const std::optional<i64> whole = parsed<i64>(text)) return Value::integer(*whole);
  } else if (name == "$number") {
    if (const std::optional<double> number = parsed<double>(text)) return Value::number(*number);
  } else if (std::optional<std::vector<u8>> bytes = bytes_of_base64(text)) {
    if (name == "$bytes") return Value::bytes(*std::move(bytes));
    std::string plain(bytes->begin(), bytes->end());
    if (name == "$text" && find_invalid_utf8(plain) == plain.npos) {
      return Value::text(std::move(plain));
    }
  }
  return no_form(name);
}

Result<Value> read_pairs(JsonView array) {
  std::vector<Member> members;
  for (JsonView at = array.first(); at; at = at.next()) {
    SOMA_ASSIGN(const Value key, read(at));
    at = at.next();
    if (!key.is(ValueKind::Text) || !at) return no_form("$map");
    SOMA_ASSIGN(Value value, read(at));
    members.push_back({key.text(), std::move(value)});
  }
  const auto key_of = [&members](u32 i) { return std::string_view(members[i].key); };
  if (!find_repeats(static_cast<u32>(members.size()), key_of).empty()) return no_form("$map");
  return Value::map(std::move(members));
}

Result<Value> read_object(JsonView json) {
  const JsonView only = json.first();
  if (only && !only.next() && only.key().starts_with('$')) {
    if (only.key() == "$map" && only.is(JsonKind::Array)) return read_pairs(only);
    if (only.is(JsonKind::Text)) return read_text(only.key(), only.text());
    return no_form(only.key());
  }
  std::vector<Member> members;
  for (JsonView at = json.first(); at; at = at.next()) {
    SOMA_ASSIGN(Value value, read(at));
    members.push_back({std::string(at.key()), std::move(value)});
  }
  return Value::map(std::move(members));
}

// As deep as the reader of JSON lets anything be.
Result<Value> read(JsonView json) {
  switch (json.kind()) {
    case JsonKind::Null: return Value();
    case JsonKind::Bool: return Value::boolean(json.truth());
    case JsonKind::Text: return Value::text(std::string(json.text()));
    case JsonKind::Number: {
      const std::optional<i64> whole = json.integer();
      return whole ? Value::integer(*whole) : Value::number(json.number());
    }
    case JsonKind::Object: return read_object(json);
    case JsonKind::Array: break;
  }
  std::vector<Value> elements;
  for (JsonView at = json.first(); at; at = at.next()) {
    SOMA_ASSIGN(Value element, read(at));
    elements.push_back(std::move(element));
  }
  return Value::list(std::move(elements));
}

}  // namespace

Result<std::string> exact_json(const Value& value) {
  JsonWriter writer;
  SOMA_TRY(write(writer, value, 0));
  return std::move(writer).take();
}

Result<Value> value_of_exact_json(std::string_view json) {
  SOMA_ASSIGN(const Json document, Json::parse(json));
  return read(document.root());
}

}  // namespace soma
