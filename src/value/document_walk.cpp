// Places in documents, and what is said about a value that does not belong there.
#include "value/document_walk.hpp"

#include "base/text.hpp"

namespace soma::document {

namespace {

// Keys that are unknown may hold anything, and end up in a message.
bool is_plain(std::string_view key) {
  return !key.empty() && key.size() <= 64 &&
         key.find_first_not_of("abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == key.npos;
}

std::string shown(JsonView json) {
  switch (json.kind()) {
    case JsonKind::Bool: return json.truth() ? "true" : "false";
    case JsonKind::Number: return text("{}", json.number());
    case JsonKind::Text: return quoted(json.text());
    case JsonKind::Null:
    case JsonKind::Array:
    case JsonKind::Object: break;
  }
  return std::string(json_kind_name(json.kind()));
}

}  // namespace

std::string Place::str() const {
  if (!outer) return "";
  std::string out = outer->str();
  if (index != no_index) return out + text("[{}]", index);
  if (!is_plain(key)) return out + text("[{}]", quoted(key));
  return out.append(out.empty() ? "" : ".").append(key);
}

bool Walk::read_header(JsonView json, const Place& at, std::string_view name, i64 version,
                       bool is_required) {
  const JsonView named = json.member("soma"), versioned = json.member("version");
  const Place name_at = {&at, "soma"}, version_at = {&at, "version"};
  const std::string expected = text("\"{}\"", name);
  const size_t before = problems_.count();
  if (!named) {
    if (is_required) missing(name_at, expected);
  } else if (!named.is(JsonKind::Text) || named.text() != name) {
    mistyped(name_at, expected, named);
  }
  if (!versioned) {
    if (is_required) missing(version_at, "a version");
  } else if (const std::optional<i64> got = integer_in(versioned); !got) {
    mistyped(version_at, "a version, which is an integer", versioned);
  } else if (*got != version) {
    complain(Reason::document_version, version_at,
             text("the document is of version {}, and this libsoma reads version {}: write it "
                  "again for version {}, or use the libsoma that it is for",
                  *got, version, version));
  }
  return problems_.count() == before;
}

bool Walk::is_object(JsonView json, const Place& at) {
  if (json.is(JsonKind::Object)) return true;
  mistyped(at, "an object", json);
  return false;
}

JsonView Walk::required(JsonView json, const Place& at, std::string_view name,
                        std::string_view expected) {
  const JsonView member = json.member(name);
  if (!member) missing({&at, name}, expected);
  return member;
}

void Walk::read_text(JsonView json, const Place& at, std::string& out) {
  if (!json.is(JsonKind::Text)) return mistyped(at, "a text", json);
  out = json.text();
}

void Walk::read_bool(JsonView json, const Place& at, bool& out) {
  if (!json.is(JsonKind::Bool)) return mistyped(at, "true or false", json);
  out = json.truth();
}

void Walk::read_integer(JsonView json, const Place& at, i64& out) {
  const std::optional<i64> integer = integer_in(json);
  if (!integer) return mistyped(at, "an integer", json);
  out = *integer;
}

std::optional<i64> Walk::integer_in(JsonView json) {
  return json.is(JsonKind::Number) ? json.integer() : std::nullopt;
}

bool Walk::read_choice(JsonView json, const Place& at, std::string_view name, std::string& out) {
  if (!json.is(JsonKind::Object) || !json.member(name)) return false;
  const Key keys[] = {{name}};
  each_member<size_t>(json, at, "this object", keys,
                      [&](size_t, JsonView member, const Place& place) {
    read_text(member, place, out);
  });
  return true;
}

bool Walk::takes(JsonView json, const Place& at, size_t& count, size_t limit,
                 std::string_view what) {
  if (!json.is(JsonKind::Array)) return true;
  count += json.size();
  if (count <= limit) return true;
  complain(Reason::document_limit, at,
           text("a document has at most {} {}; up to here there are {}", limit, what, count));
  return false;
}

void Walk::missing(const Place& at, std::string_view expected) {
  complain(Reason::document_type, at, text("{} is expected, and the key is missing", expected));
}

void Walk::mistyped(const Place& at, std::string_view expected, JsonView got) {
  complain(Reason::document_type, at, text("{} is expected, {} is there", expected, shown(got)));
}

void Walk::unknown(const Place& at, std::string_view what, std::span<const Key> keys) {
  std::string known;
  for (const Key& key : keys) {
    if (is_here(key)) known.append(known.empty() ? "" : ", ").append(key.name);
  }
  complain(Reason::document_unknown_key, at,
           text("{} has no such key; it may have {}", what, known));
}

void Walk::complain(Reason reason, const Place& at, std::string_view what) {
  std::string place = at.str();
  if (place.empty()) place = "document";
  problems_.add(fail(reason, "{}: {}", place, what).with("place", place));
}

}  // namespace soma::document
