// The names of kinds of nodes and of ways to stream, and what nodes say that say nothing.
#include "value/node.hpp"

#include <algorithm>
#include <array>

namespace soma {

namespace {

constexpr std::array<std::string_view, 6> node_kinds = {"function", "step",     "loop",
                                                        "branch",   "subgraph", "program"};
constexpr std::array<std::string_view, 4> stream_modes = {"none", "stateless", "stateful",
                                                          "barrier"};

// The enumerator that stands where the name does in the table.
template <typename Enum, size_t count>
std::optional<Enum> by_name(const std::array<std::string_view, count>& names,
                            std::string_view name) {
  const auto at = std::find(names.begin(), names.end(), name);
  if (at == names.end()) return std::nullopt;
  return static_cast<Enum>(at - names.begin());
}

// Made by the compiler and never destroyed: nothing runs before the library is called.
union Usual {
  char nothing;                   // a type for constants has one such member
  NodeSettings settings;
  constexpr Usual() : settings() {}
#ifdef __clang__
  ~Usual() {}
};
[[clang::no_destroy]] constinit const Usual usual_node;
#else
  constexpr ~Usual() {}              // so that nothing is registered to be done at exit
};
constexpr Usual usual_node;
#endif

}  // namespace

template class Rare<NodeSettings>;

const NodeSettings& NodeSettings::usual() { return usual_node.settings; }

std::string_view node_kind_name(NodeKind kind) { return node_kinds[static_cast<size_t>(kind)]; }
std::optional<NodeKind> node_kind_by_name(std::string_view name) {
  return by_name<NodeKind>(node_kinds, name);
}

std::string_view stream_mode_name(StreamMode mode) {
  return stream_modes[static_cast<size_t>(mode)];
}
std::optional<StreamMode> stream_mode_by_name(std::string_view name) {
  return by_name<StreamMode>(stream_modes, name);
}

}  // namespace soma
