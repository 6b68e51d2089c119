// Writes JSON.
#include "base/json_writer.hpp"

#include <cmath>

#include "base/text.hpp"

namespace soma {

void JsonWriter::separate() {
  if (!first_ && !after_key_) out_ += ',';
  first_ = false;
  after_key_ = false;
}

JsonWriter& JsonWriter::object() {
  separate();
  out_ += '{';
  closers_ += '}';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::array() {
  separate();
  out_ += '[';
  closers_ += ']';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close() {
  out_ += closers_.back();
  closers_.pop_back();
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  out_ += ':';
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  quote(text);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  separate();
  std::string digits = std::isfinite(number) ? text("{}", number) : "null";
  // Sixteen plain digits above 2^53 would read as an integer that may have been rounded, and be
  // refused. With an exponent they are what they are: a double.
  if (std::abs(number) > 9007199254740992.0 && digits.find_first_of("en") == std::string::npos) {
    digits.insert(digits.size() - 15, 1, '.');
    digits.erase(digits.find_last_not_of('0') + 1);
    digits += "e+15";
  }
  out_ += digits;
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) {
  separate();
  out_ += truth ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(std::nullptr_t) {
  separate();
  out_ += "null";
  return *this;
}

JsonWriter& JsonWriter::integer(i64 number) {
  separate();
  out_ += text("{}", number);
  return *this;
}

JsonWriter& JsonWriter::natural(u64 number) {
  separate();
  out_ += text("{}", number);
  return *this;
}

namespace {

// How many bytes of the text stand as they are, up to the first that does not.
size_t plain_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && text[at] >= 0x20 && text[at] < 0x7f && text[at] != '"' &&
         text[at] != '\\') {
    ++at;
  }
  return at;
}

}  // namespace

void JsonWriter::quote(std::string_view text_in) {
  const size_t plain = plain_length(text_in), begin = out_.size();
  if (plain == text_in.size()) {
    out_.resize(begin + plain + 2, '"');
    text_in.copy(out_.data() + begin + 1, plain);
    return;
  }
  out_ += '"';
  out_ += text_in.substr(0, plain);
  text_in.remove_prefix(plain);
  while (!text_in.empty()) {
    const size_t bad = find_invalid_utf8(text_in);
    for (const char c : text_in.substr(0, bad)) {
      constexpr std::string_view short_of = "\"\\\b\f\n\r\t", short_form = "\"\\bfnrt";
      if (const size_t at = short_of.find(c); at != std::string_view::npos) {
        out_ += '\\';
        out_ += short_form[at];
      } else if (static_cast<u8>(c) < 0x20 || c == 0x7f) {
        out_ += text("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out_ += c;
      }
    }
    if (bad == std::string_view::npos) break;
    out_ += "\xef\xbf\xbd";
    text_in.remove_prefix(bad + 1);
  }
  out_ += '"';
}

}  // namespace soma
