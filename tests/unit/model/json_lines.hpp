// Reads golden vectors: one object of texts, whole numbers and lists of both on each line, as
// Python's json writes it. For files of our own: what is not of that form fails the test.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/file.hpp"

namespace soma::test {

struct JsonRow {
  std::map<std::string, std::string> texts;
  std::map<std::string, std::vector<std::string>> text_lists;
  std::map<std::string, std::vector<i64>> numbers;  // a lone number is a list of one
};

class JsonLineReader {
 public:
  explicit JsonLineReader(std::string_view line) : rest_(line) {}

  JsonRow row() {
    JsonRow row;
    expect('{');
    do {
      const std::string key = text();
      expect(':');
      if (rest_[0] == '"') {
        row.texts[key] = text();
      } else if (rest_.starts_with("[\"")) {
        list([&] { row.text_lists[key].push_back(text()); });
      } else if (rest_[0] == '[') {
        row.numbers[key] = {};
        list([&] { row.numbers[key].push_back(number()); });
      } else {
        row.numbers[key] = {number()};
      }
    } while (take(','));
    expect('}');
    REQUIRE(rest_.empty());
    return row;
  }

 private:
  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void expect(char c) { REQUIRE_MESSAGE(take(c), "expected ", c, " before ", std::string(rest_)); }

  template <typename Element>
  void list(Element element) {
    expect('[');
    if (take(']')) return;
    do element();
    while (take(','));
    expect(']');
  }
  i64 number() {
    size_t used = 0;
    const i64 value = std::stoll(std::string(rest_.substr(0, 20)), &used);
    rest_.remove_prefix(used);
    return value;
  }
  std::string text() {
    expect('"');
    std::string out;
    while (!take('"')) {
      REQUIRE_FALSE(rest_.empty());
      if (!take('\\')) {
        out += rest_[0];
        rest_.remove_prefix(1);
        continue;
      }
      const std::string_view names = "\"\\/bfnrt";
      const std::string_view meanings = "\"\\/\b\f\n\r\t";
      if (const size_t at = names.find(rest_[0]); at != std::string_view::npos) {
        out += meanings[at];
        rest_.remove_prefix(1);
      } else {
        // Only control characters are written so: everything else stands as it is.
        REQUIRE(rest_.starts_with("u00"));
        out += static_cast<char>(std::stoi(std::string(rest_.substr(3, 2)), nullptr, 16));
        rest_.remove_prefix(5);
      }
    }
    return out;
  }

  std::string_view rest_;
};

// All lines of a file, for example of "tests/golden/tokenizer/classes.txt".
inline std::vector<std::string> read_lines(const std::string& path) {
  // Not by a stream: it would allocate within libstdc++ what the library's operator delete frees.
  const Result<FileBytes> file = FileBytes::open(path, LoadMode::Read);
  REQUIRE_MESSAGE(file.ok(), "can't open ", path);
  const std::span<const u8> bytes = file->bytes();
  std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> lines;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  REQUIRE_FALSE(lines.empty());
  return lines;
}

// All rows of a file, for example of "tests/golden/tokenizer/smollm2.jsonl".
inline std::vector<JsonRow> read_json_lines(const std::string& path) {
  std::vector<JsonRow> rows;
  for (const std::string& line : read_lines(path)) rows.push_back(JsonLineReader(line).row());
  return rows;
}

}  // namespace soma::test
