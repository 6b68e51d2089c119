// Lays out text in aligned columns.
#include "base/columns.hpp"

#include <algorithm>

namespace soma {

namespace {

// Characters, not bytes: what is shown may hold UTF-8.
size_t shown_width(std::string_view cell) {
  return static_cast<size_t>(std::count_if(
      cell.begin(), cell.end(), [](char byte) { return (static_cast<u8>(byte) & 0xC0) != 0x80; }));
}

}  // namespace

std::string Columns::str() const {
  std::vector<size_t> widths;
  for (const std::vector<std::string>& cells : rows_) {
    widths.resize(std::max(widths.size(), cells.size()));
    for (size_t i = 0; i < cells.size(); ++i) {
      widths[i] = std::max(widths[i], shown_width(cells[i]));
    }
  }
  std::string out;
  for (const std::vector<std::string>& cells : rows_) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - shown_width(cells[i]), ' ');
      const bool right = i < alignment_.size() && alignment_[i] == 'r';
      if (i > 0) line += "  ";
      line += right ? padding + cells[i] : cells[i] + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line;
    out += '\n';
  }
  return out;
}

std::string short_number(double number) {
  const float single = static_cast<float>(number);
  return static_cast<double>(single) == number ? text("{}", single) : text("{}", number);
}

std::string human_bytes(u64 bytes) {
  constexpr std::string_view units[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return text("{} B", bytes);
  double amount = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (amount >= 1024 && unit + 1 < std::size(units)) {
    amount /= 1024;
    ++unit;
  }
  return text("{:.1f} {}", amount, units[unit]);
}

}  // namespace soma
