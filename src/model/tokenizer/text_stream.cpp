// Cuts a stream of bytes into text that is always whole characters.
#include "model/tokenizer/tokenizer.hpp"

namespace soma {

namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

enum class Shape {
  Whole,       // a well-formed character
  Unfinished,  // the start of one, cut off by the end of the bytes
  IllFormed,   // can't become one, whatever follows
};

struct Part {
  Shape shape;
  size_t length;  // of the character, of what there is of it, or of the maximal ill-formed part
};

// What `bytes` (not empty) starts with. A part is maximal when it is the longest start of some
// well-formed character: after E0 A0 a letter ends a part of two bytes, after E0 80 the E0 alone
// is one, since no character starts E0 80. So only the second byte needs a range of its own.
Part first_part(std::string_view bytes) {
  const u8 lead = static_cast<u8>(bytes[0]);
  if (lead < 0x80) return {Shape::Whole, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Shape::IllFormed, 1};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  u8 lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  u8 highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {Shape::Unfinished, i};
    const u8 byte = static_cast<u8>(bytes[i]);
    if (byte < lowest || byte > highest) return {Shape::IllFormed, i};
    lowest = 0x80;
    highest = 0xBF;
  }
  return {Shape::Whole, length};
}

}  // namespace

std::string TextStream::push(std::string_view bytes) {
  pending_ += bytes;
  std::string out;
  out.reserve(pending_.size());
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Part part = first_part(rest);
    if (part.shape == Shape::Unfinished) break;
    out += part.shape == Shape::Whole ? rest.substr(0, part.length) : replacement_character;
    rest.remove_prefix(part.length);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return out;
}

std::string TextStream::finish() {
  if (pending_.empty()) return {};
  pending_.clear();
  return std::string(replacement_character);
}

}  // namespace soma
