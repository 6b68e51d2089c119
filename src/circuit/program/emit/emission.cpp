// Builds the launches of one group, argument by argument.
#include <algorithm>

#include "circuit/program/emit/emit.hpp"

namespace soma {

const Node& Emission::first() const {
  return **std::find_if(members_.begin(), members_.end(),
                        [](const Node* node) { return node != nullptr; });
}

Emission& Emission::launch(size_t kernel, Grid grid) {
  Launch launch;
  launch.group = index_;
  launch.grid = grid;
  if (kernel < group_.kernels.size()) {
    launch.kernel = group_.kernels[kernel];
  } else {
    emitted_.problems.add(fail(Reason::program_emit,
                              "emitter '{}' of group {} launches kernel {}, but "
                              "rule '{}' lists {}",
                              group_.emitter, index_, kernel, group_.rule, group_.kernels.size()));
  }
  emitted_.program.launches.push_back(std::move(launch));
  return *this;
}

Emission& Emission::matrix(std::string_view name, EdgeId edge, bool written) {
  const Slot* slot = buffers_.find(edge);
  Arg& arg = argument(name, ArgKind::Edge);
  if (slot == nullptr) {
    emitted_.problems.add(fail(Reason::program_emit,
                              "emitter '{}' of group {} (rule '{}') passes '{}' as "
                              "'{}', which this plan does not store",
                              group_.emitter, index_, group_.rule, circuit_.edges[edge].id, name));
    return *this;
  }
  arg.edge = edge;
  arg.buffer = slot->buffer;
  arg.offset = slot->offset;
  arg.row_bytes = slot->row_bytes;
  arg.format = circuit_.edges[edge].format;
  arg.rows = circuit_.edges[edge].rows;
  arg.width = circuit_.edges[edge].width;
  arg.written = written;
  return *this;
}

// A tensor that several launches read, like a tied embedding, is one weight of the program.
Emission& Emission::weight(std::string_view name, const Node& node) {
  const WeightRef& ref = node.weights[0];
  std::vector<WeightRef>& weights = emitted_.program.weights;
  const auto [entry, is_new] =
      emitted_.weight_index.emplace(ref.tensor, static_cast<u32>(weights.size()));
  if (is_new) weights.push_back(ref);
  argument(name, ArgKind::Weight).index = entry->second;
  return *this;
}

Emission& Emission::state(std::string_view name, const Node& node, bool written) {
  Arg& arg = argument(name, ArgKind::State);
  arg.index = static_cast<u32>(node.layer);
  arg.written = written;
  return *this;
}

Emission& Emission::params(const Node& node, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    argument(name, ArgKind::Number).number = node.param(name);
  }
  return *this;
}

Emission& Emission::terms(const Node& quant) {
  argument("terms", ArgKind::Number).number = int8_terms(circuit_.edges[quant.outputs[0]].format);
  return *this;
}

Arg& Emission::argument(std::string_view name, ArgKind kind) {
  Arg arg;
  arg.name = name;
  arg.kind = kind;
  std::vector<Arg>& args = emitted_.program.launches.back().args;
  args.push_back(std::move(arg));
  return args.back();
}

}  // namespace soma
