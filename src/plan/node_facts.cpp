// Asks the writer of documents for one key at a time, so that a fact is shown as documents spell it
// and a new key of nodes is a fact by itself.
#include "plan/node_facts.hpp"

#include <algorithm>

#include "plan/document_keys.hpp"

namespace soma {

namespace {

constexpr size_t sources_max = 16;

std::string source_list(const Plan& plan, u32 node) {
  const std::span<const Source> sources = plan.sources_of(node);
  std::string out;
  for (const Source& source : sources.first(std::min(sources.size(), sources_max))) {
    if (!out.empty()) out += ", ";
    out += plan.nodes[source.node].id;
    if (source.output != 0) out += "." + plan.names[source.output];
    if (source.input != 0) out += " as " + plan.names[source.input];
  }
  if (sources.size() > sources_max) out += text(", and {} more", sources.size() - sources_max);
  return out;
}

// The value in {"name":value}, or nothing if the key was not written.
std::string value_in(const std::string& object, std::string_view name) {
  const size_t before = name.size() + 4;  // {"":
  if (object.size() <= before) return "";
  std::string value = object.substr(before, object.size() - before - 1);
  const bool is_plain_text = value.front() == '"' && value.find('\\') == value.npos;
  return is_plain_text ? value.substr(1, value.size() - 2) : value;
}

}  // namespace

std::vector<NodeFact> node_facts(const Plan& plan, u32 node) {
  using document::NodeKey;
  std::vector<NodeFact> out;
  for (size_t i = 0; i < std::size(document::node_keys); ++i) {
    const auto& [name, kinds, documents] = document::node_keys[i];
    const bool is_here = (kinds & document::kind_bit(plan.nodes[node].kind)) != 0 &&
                         (documents & document::in_plans) != 0;
    if (!is_here) continue;
    const NodeKey key = static_cast<NodeKey>(i);
    JsonWriter json;
    json.object();
    document::write_node_key(json, key, plan.nodes[node]);
    json.close();
    std::string value = key == NodeKey::From ? source_list(plan, node)
                                             : value_in(std::move(json).take(), name);
    if (!value.empty()) out.push_back({std::string(name), std::move(value)});
  }
  return out;
}

}  // namespace soma
