// Puts groups in an order in which they can run.
//
// Kahn's algorithm over groups instead of nodes: of those whose predecessors have all run, the one
// with the lowest node goes next, so the order is near the circuit's own and one for all machines.
#include "circuit/fusion/order.hpp"

#include <algorithm>
#include <set>

namespace soma {

Result<std::vector<Group>> order_groups(const Dependencies& dependencies,
                                        std::vector<Group> groups) {
  std::vector<size_t> group_of(dependencies.after.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const NodeId node : groups[g].nodes) group_of[node] = g;
  }
  std::vector<std::set<size_t>> after(groups.size());
  std::vector<size_t> waits_for(groups.size());
  for (NodeId node = 0; node < dependencies.after.size(); ++node) {
    for (const NodeId next : dependencies.after[node]) {
      const size_t from = group_of[node], to = group_of[next];
      if (from != to && after[from].insert(to).second) ++waits_for[to];
    }
  }

  std::set<std::pair<NodeId, size_t>> ready;  // lowest node, group
  const auto make_ready = [&](size_t g) {
    ready.emplace(*std::min_element(groups[g].nodes.begin(), groups[g].nodes.end()), g);
  };
  for (size_t g = 0; g < groups.size(); ++g) {
    if (waits_for[g] == 0) make_ready(g);
  }
  std::vector<Group> ordered;
  while (!ready.empty()) {
    const size_t g = ready.begin()->second;
    ready.erase(ready.begin());
    for (const size_t next : after[g]) {
      if (--waits_for[next] == 0) make_ready(next);
    }
    ordered.push_back(std::move(groups[g]));
  }
  if (ordered.size() != groups.size()) {
    return fail(Reason::internal, "{} of {} groups wait for each other",
                groups.size() - ordered.size(), groups.size());
  }
  return ordered;
}

}  // namespace soma
