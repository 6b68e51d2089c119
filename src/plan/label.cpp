// Shows ids, arms and settings of items.
#include "plan/label.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "value/describe.hpp"

namespace soma {

std::string printable(std::string_view in) {
  std::string out;
  for (size_t i = 0; i < in.size(); ++i) {
    const size_t control = control_length(in, i);
    if (control == 0) {
      out += in[i];
      continue;
    }
    // The code point: in UTF-8 those of two and three bytes have six bits a byte behind the first.
    u32 point = static_cast<u8>(in[i]) & (control == 1 ? 0x7FU : control == 2 ? 0x1FU : 0x0FU);
    for (size_t more = 1; more < control; ++more) {
      point = point << 6 | (static_cast<u8>(in[++i]) & 0x3FU);
    }
    out += text("\\u{:04x}", point);
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
