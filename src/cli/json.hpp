// JSON for the tool: a tree over cJSON that owns itself. The library's facts are read with it, and
// what --json prints is built with it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

struct cJSON;

namespace cli {

// A part of a document, which belongs to the Json that it came from. What is missing is false, and
// its parts are missing too.
class JsonView {
 public:
  explicit JsonView(const cJSON* node) : node_(node) {}
  explicit operator bool() const { return node_ != nullptr; }

  JsonView at(const char* key) const;  // a member of an object
  JsonView first() const;              // of an array or object: its first element or member
  JsonView next() const;               // what follows this one in its array or object
  std::string key() const;             // of a member
  std::string text() const;            // "" of what is no text
  double number() const;               // 0 of what is no number
  std::string print() const;           // one line

 private:
  const cJSON* node_ = nullptr;
};

class Json {
 public:
  static Json object();
  static Json parse(const std::string& text);  // of the library's own blobs: throws Failure
  Json(Json&& other) noexcept;
  Json& operator=(Json&& other) noexcept;
  ~Json();

  // Members of this object; a missing one is 0, "" or an empty list.
  double number(const char* key) const;
  std::string text(const char* key) const;
  std::vector<int32_t> integers(const char* key) const;
  Json object(const char* key) const;  // a copy
  JsonView view() const { return JsonView(root_); }

  Json& add(const char* key, double value);
  Json& add(const char* key, bool value);
  Json& add(const char* key, std::string_view value);
  Json& add(const char* key, const char* value) { return add(key, std::string_view(value)); }
  Json& add(const char* key, const std::vector<int32_t>& values);
  Json& add(const char* key, Json value);

  std::string print() const;  // one line

 private:
  explicit Json(cJSON* root) : root_(root) {}
  cJSON* root_ = nullptr;
};

// A document with line breaks and indentation, for people.
std::string indented(const std::string& text);

}  // namespace cli
