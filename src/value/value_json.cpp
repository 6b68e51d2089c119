// Turns documents into values and values into JSON, both with stacks of their own: values nest as
// deep as memory goes.
#include "value/value_json.hpp"

#include <cmath>

#include "base/base64.hpp"
#include "value/describe.hpp"

namespace soma {

namespace {

Value number_of(JsonView json) {
  const std::optional<i64> whole = json.integer();
  const bool minus_zero = whole == 0 && std::signbit(json.number());
  return whole && !minus_zero ? Value::integer(*whole) : Value::number(json.number());
}

// An array or object whose elements are being read.
struct Reading {
  JsonView whole;
  JsonView at;  // the next element
  std::vector<Value> elements;
  std::vector<Member> members;

  void take(std::string_view key, Value value) {
    if (whole.is(JsonKind::Object)) {
      members.push_back({std::string(key), std::move(value)});
    } else {
      elements.push_back(std::move(value));
    }
  }
  Value finish() {
    return whole.is(JsonKind::Object) ? Value::map(std::move(members))
                                      : Value::list(std::move(elements));
  }
};

Value scalar_of(JsonView json) {
  switch (json.kind()) {
    case JsonKind::Bool: return Value::boolean(json.truth());
    case JsonKind::Number: return number_of(json);
    case JsonKind::Text: return Value::text(std::string(json.text()));
    case JsonKind::Null:
    case JsonKind::Array:
    case JsonKind::Object: break;
  }
  return {};
}

bool has_parts(JsonView json) {
  return json.is(JsonKind::Array) || json.is(JsonKind::Object);
}

}  // namespace

Value value_of(JsonView json) {
  if (!has_parts(json)) return scalar_of(json);
  std::vector<Reading> open;
  open.push_back({json, json.first(), {}, {}});
  for (;;) {
    Reading& top = open.back();
    if (top.at) {
      const JsonView part = std::exchange(top.at, top.at.next());
      if (has_parts(part)) {
        open.push_back({part, part.first(), {}, {}});
      } else {
        top.take(top.whole.is(JsonKind::Object) ? part.key() : "", scalar_of(part));
      }
      continue;
    }
    const JsonView whole = top.whole;
    Value done = top.finish();
    open.pop_back();
    if (open.empty()) return done;
    Reading& outer = open.back();
    outer.take(outer.whole.is(JsonKind::Object) ? whole.key() : "", std::move(done));
  }
}

// ---- Writing

namespace {

// A list or map of which `at` parts are begun.
struct Writing {
  const Value* whole;
  size_t at = 0;
};

std::string place(std::span<const Writing> open) {
  constexpr size_t bytes_max = 256;
  std::string out = "it";
  for (const Writing& level : open) {
    if (out.size() > bytes_max) return out + "…";
    if (level.whole->is(ValueKind::List)) {
      append_index(out, static_cast<i64>(level.at - 1));
    } else {
      append_member(out, level.whole->map()[level.at - 1].key);
    }
  }
  return out;
}

// Nobody reads NUL in JSON here (base/json_validate.cpp), so nobody writes it.
Error with_nul(std::span<const Writing> open, std::string_view what) {
  return fail(Reason::value_no_json,
              "{}: the {} holds the character NUL, which texts in JSON may not: take it out, or "
              "make it bytes",
              place(open), what);
}

Error without_form(std::span<const Writing> open, const Value& value) {
  return fail(Reason::value_no_json,
              "{}: expected a value that has a JSON form, got {}: leave it out, or turn it into a "
              "text",
              place(open), describe(value));
}

// Writes a value, but of a list or map only the opening, and notes it as open.
Status begin(JsonWriter& writer, const Value& value, std::vector<Writing>& open) {
  switch (value.kind()) {
    case ValueKind::Null: writer.value(nullptr); break;
    case ValueKind::Bool: writer.value(value.truth()); break;
    case ValueKind::Integer: {
      const i64 whole = value.integer();
      if (whole > json_whole_max || whole < -json_whole_max) {
        writer.value(text("{}", whole));
      } else {
        writer.value(whole);
      }
      break;
    }
    case ValueKind::Number:
      if (!std::isfinite(value.number())) return without_form(open, value);
      writer.value(value.number());
      break;
    case ValueKind::Text:
      if (value.text().find('\0') != std::string_view::npos) return with_nul(open, "text");
      writer.value(value.text());
      break;
    case ValueKind::Bytes:
      writer.object().field("bytes", base64(value.bytes())).close();
      break;
    case ValueKind::List:
      writer.array();
      open.push_back({&value});
      break;
    case ValueKind::Map:
      writer.object();
      open.push_back({&value});
      break;
    case ValueKind::Opaque: return without_form(open, value);
  }
  return {};
}

}  // namespace

Status write_value(JsonWriter& writer, const Value& value) {
  std::vector<Writing> open;
  SOMA_TRY(begin(writer, value, open));
  while (!open.empty()) {
    Writing& top = open.back();
    const bool is_list = top.whole->is(ValueKind::List);
    const size_t parts = is_list ? top.whole->list().size() : top.whole->map().size();
    if (top.at == parts) {
      writer.close();
      open.pop_back();
      continue;
    }
    const size_t at = top.at++;
    if (!is_list) {
      const std::string_view key = top.whole->map()[at].key;
      if (key.find('\0') != std::string_view::npos) return with_nul(open, "key");
      writer.key(key);
    }
    const Value& part = is_list ? top.whole->list()[at] : top.whole->map()[at].value;
    SOMA_TRY(begin(writer, part, open));
  }
  return {};
}

Result<std::string> value_json(const Value& value) {
  JsonWriter writer;
  SOMA_TRY(write_value(writer, value));
  return std::move(writer).take();
}

}  // namespace soma
