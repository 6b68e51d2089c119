// Fusion plans: their counts, their names and their dump.
#include "circuit/fusion/plan.hpp"

#include <algorithm>
#include <array>

#include "base/columns.hpp"
#include "circuit/fusion/member_names.hpp"

namespace soma {

namespace {

constexpr std::array<std::string_view, mode_count> mode_names = {
    "decode", "multi_seq", "verify", "verify_batch", "draft", "prefill"};

std::string kernel_names(const Group& group) {
  std::string out;
  for (const std::string& kernel : group.kernels) out += (out.empty() ? "" : " ") + kernel;
  return out;
}

}  // namespace

std::string_view mode_name(Mode mode) {
  return mode_names[static_cast<size_t>(mode)];
}

std::optional<Mode> mode_by_name(std::string_view name) {
  const auto found = std::find(mode_names.begin(), mode_names.end(), name);
  if (found == mode_names.end()) return std::nullopt;
  return static_cast<Mode>(found - mode_names.begin());
}

std::string_view numerics_name(Numerics numerics) {
  switch (numerics) {
    case Numerics::BitIdentical: return "bit_identical";
    case Numerics::Reference: return "reference";
    case Numerics::Differs: return "differs";
  }
  return "?";
}

u64 FusionPlan::launches() const {
  u64 count = 0;
  for (const Group& group : groups) count += group.launches;
  return count;
}

u64 FusionPlan::copies() const {
  u64 count = 0;
  for (const Group& group : groups) count += group.copies;
  return count;
}

std::string FusionPlan::dump(const Circuit& circuit) const {
  Columns columns("rllrll");
  columns.row({"group", "kernels", "numerics", "saved", "nodes"});
  double saved_ns = 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const Group& group = groups[i];
    saved_ns += group.saved_ns;
    columns.row({text("{}", i), kernel_names(group), std::string(numerics_name(group.numerics)),
                 text("{:.0f} ns", group.saved_ns), member_names(circuit, group.nodes)});
  }
  const auto edges_in = [this](EdgeState state) {
    return std::count(edge_states.begin(), edge_states.end(), state);
  };
  return text(
      "fusion plan {}: {}, up to {} rows, policy {}\n{}"
      "{} launches, {} copies of {} nodes; {:.1f} us saved; edges: {} fused, {} stored, "
      "{} without bytes\ndigest {}\n",
      architecture, mode_name(request.mode), request.rows_max, policy_name(request.policy),
      columns.str(), launches(), copies(), circuit.nodes.size(), saved_ns / 1000,
      edges_in(EdgeState::Fused), edges_in(EdgeState::Materialized), edges_in(EdgeState::Absent),
      digest);
}

}  // namespace soma
