// Adds up what a plan's tables hold.
#include "plan/memory.hpp"

#include "value/value_binary.hpp"

namespace soma {

namespace {

// Of short texts nothing lies elsewhere, which is counted all the same: it is small.
template <typename T>
u64 table(const std::vector<T>& rows) {
  return rows.size() * sizeof(T);
}

u64 texts(const std::vector<std::string>& rows) {
  u64 bytes = table(rows);
  for (const std::string& row : rows) bytes += row.size();
  return bytes;
}

u64 ports(const std::vector<Port>& rows) {
  u64 bytes = table(rows);
  for (const Port& port : rows) {
    bytes += port.name.size();
    if (port.shape) bytes += table(*port.shape);
  }
  return bytes;
}

u64 node(const PlanNode& node) {
  u64 bytes = sizeof node + node.id.view().size() + node.op.view().size();
  if (node.settings.is_usual()) return bytes;
  bytes += sizeof(NodeSettings) + ports(node.inputs()) + ports(node.outputs());
  bytes += value_memory_bytes(node.config()) + value_memory_bytes(node.deployment());
  return bytes + node.state().size() + node.model().size();
}

}  // namespace

u64 plan_memory_bytes(const Plan& plan) {
  u64 bytes = sizeof plan + plan.origin.memory_bytes() + table(plan.items) +
              table(plan.sources) + table(plan.leaves) + table(plan.loops) + texts(plan.names);
  for (const PlanNode& each : plan.nodes) bytes += node(each);
  for (const std::vector<Arm>& arms : plan.branches) bytes += table(arms);
  for (const std::vector<std::string>& targets : plan.handoffs) bytes += texts(targets);
  for (const std::vector<std::vector<u32>>& flow : plan.dataflows) {
    for (const std::vector<u32>& after : flow) bytes += sizeof after + table(after);
  }
  return bytes;
}

}  // namespace soma
