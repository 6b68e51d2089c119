// Names a group's members in few words.
#include "circuit/fusion/member_names.hpp"

#include <algorithm>

namespace soma {

std::string member_names(const Circuit& circuit, const std::vector<NodeId>& nodes) {
  std::string_view prefix = circuit.nodes[nodes.front()].id;
  for (const NodeId node : nodes) {
    const std::string_view id = circuit.nodes[node].id;
    size_t common = 0;
    while (common < std::min(prefix.size(), id.size()) && prefix[common] == id[common]) ++common;
    prefix = prefix.substr(0, common);
  }
  const size_t dot = nodes.size() > 1 ? prefix.rfind('.') : std::string_view::npos;
  const size_t skipped = dot == std::string_view::npos ? 0 : dot + 1;
  std::string out;
  if (skipped > 0) out = text("{}:", prefix.substr(0, dot));
  for (const NodeId node : nodes) {
    if (!out.empty()) out += ' ';
    out += circuit.nodes[node].id.substr(skipped);
  }
  return out;
}

}  // namespace soma
