// Shows ids, arms and settings of items.
#include "plan/label.hpp"

#include <algorithm>

#include "value/describe.hpp"

namespace soma {

std::string printable(std::string_view in) {
  std::string out;
  for (size_t i = 0; i < in.size(); ++i) {
    const u8 byte = static_cast<u8>(in[i]);
    // U+0080..U+009F are control characters too, and two bytes long.
    const u8 next = i + 1 < in.size() ? static_cast<u8>(in[i + 1]) : 0;
    if (byte == 0xC2 && next >= 0x80 && next < 0xA0) {
      out += text("\\u{:04x}", next);
      ++i;
    } else if (byte < 0x20 || byte == 0x7F) {
      out += text("\\u{:04x}", byte);
    } else {
      out += in[i];
    }
  }
  return out;
}

std::string shown_id(std::string_view id) {
  const bool is_one_word = !id.empty() && printable(id) == id &&
                           id.find_first_of(" ,()\"\\") == std::string_view::npos;
  return is_one_word ? std::string(id) : printable(json_quoted(id));
}

std::string shown_target(const Target& target) {
  switch (target.kind) {
    case Target::Kind::Local: break;
    case Target::Kind::Tag: return "target=" + shown_id(target.name);
    case Target::Kind::Worker: return "worker=" + shown_id(target.name);
  }
  return "target=local";
}

std::string shown_loop(const Plan& plan, const PlanLoop& loop) {
  std::string out;
  if (loop.max_iterations) out += text("max={}, ", *loop.max_iterations);
  out += "until=";
  out += loop.signal == no_node ? "exhaust" : shown_id(plan.nodes[loop.signal].id);
  if (loop.carry != no_node) out += ", carry=" + shown_id(plan.nodes[loop.carry].id);
  return out;
}

std::string indentation(u32 level) {
  return std::string(2 * size_t{std::min(level, indented_levels_max)}, ' ');
}

}  // namespace soma
