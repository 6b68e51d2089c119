// Writes JSON: always valid, always UTF-8, the same bytes for the same calls in every locale.
#pragma once

#include <concepts>

#include "base/core.hpp"

namespace soma {

// Values go into the innermost open array, or into the innermost open object after their key:
//   json.object().field("name", "x").key("shape").array().value(1).value(2).close().close();
class JsonWriter {
 public:
  JsonWriter& object();
  JsonWriter& array();
  JsonWriter& close();  // of the innermost
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);  // what is not valid UTF-8 becomes U+FFFD
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(double number);          // null unless finite
  JsonWriter& value(float number) { return value(double{number}); }
  JsonWriter& value(bool truth);
  JsonWriter& value(std::nullptr_t);
  JsonWriter& value(std::signed_integral auto number) { return integer(number); }
  JsonWriter& value(std::unsigned_integral auto number) { return natural(number); }

  template <typename T>
  JsonWriter& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  std::string take() && { return std::move(out_); }
  // For who passes on what was written, piece by piece: what was, since it was last forgotten.
  std::string_view written() const { return out_; }
  void forget() { out_.clear(); }

 private:
  JsonWriter& integer(i64 number);
  JsonWriter& natural(u64 number);
  void separate();
  void quote(std::string_view text);

  std::string out_;
  std::string closers_;       // of the open arrays and objects, innermost last
  bool first_ = true;         // nothing precedes in the innermost
  bool after_key_ = false;
};

}  // namespace soma
