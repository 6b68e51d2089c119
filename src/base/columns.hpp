// Lays out text in aligned columns: every dump of the library is a table that goes through here.
#pragma once

#include "base/core.hpp"

namespace soma {

// Rows may have fewer cells than there are columns. A column is as wide as its widest cell, two
// spaces part neighbours, the last cell of a row is never padded, and no line ends in a space.
class Columns {
 public:
  // One letter a column: 'l' aligns left, 'r' right. Columns beyond the letters align left.
  explicit Columns(std::string_view alignment) : alignment_(alignment) {}

  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string str() const;  // each row ends in a newline

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

// The shortest digits that give the number back; of a number that is an f32, those of the f32.
std::string short_number(double number);

// 1536 -> "1.5 KiB": with one decimal and the largest unit that leaves at least 1.
std::string human_bytes(u64 bytes);

}  // namespace soma
