// Compares two plans by what their nodes say and by where they have their place.
//
// A node is compared as it would be printed: only what a document shows can differ, and two plans
// of which nothing differs have the same document. What the tree says of nodes (a loop's rules,
// arms, hand-offs, the rows of a stream, what parts of a Dataflow are after) counts as theirs.
// Which nodes moved: stay.cpp. Cost: O(n log n).
#include "plan/diff.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/json.hpp"
#include "plan/document_keys.hpp"
#include "plan/stay.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

// The fields of a plan or a node, with the JSON of their values.
using Fields = std::vector<std::pair<std::string, std::string>>;

// What is said of nodes in the tree instead of in the table.
class TreeFields {
 public:
  explicit TreeFields(const PlanLayout& layout)
      : layout_(layout), plan_(layout.plan), fields_(plan_.nodes.size()) {
    for (u32 at = 0; at < plan_.items.size(); ++at) {
      const PlanItem& item = plan_.items[at];
      if (item.variant == Variant::Dataflow) note_parts(at);
      if (item.variant == Variant::Stream) note_chunks(at);
      if (item.variant == Variant::Branch) note_arms(item);
      if (item.variant == Variant::Step) note_handoffs(item);
      if (item.variant == Variant::Loop) note_loop(item);
    }
  }
  const Fields& of(u32 node) const { return fields_[node]; }

 private:
  template <typename Write>
  void note(u32 node, std::string_view name, Write write) {
    JsonWriter json;
    write(json);
    fields_[node].emplace_back(name, std::move(json).take());
  }

  // Which parts of a Dataflow one is after is said of its first node, by their first nodes.
  void note_parts(u32 at) {
    const std::vector<std::vector<u32>>& after = plan_.dataflows[plan_.items[at].detail];
    std::vector<u32> firsts;
    plan_.each_child(at, [&](u32 child) { firsts.push_back(layout_.nodes_before[child]); });
    for (size_t i = 0; i < firsts.size(); ++i) {
      note(firsts[i], document::key::after, [&](JsonWriter& json) {
        json.array();
        for (const u32 before : after[i]) json.value(plan_.nodes[firsts[before]].id);
        json.close();
      });
    }
  }

  void note_chunks(u32 at) {
    plan_.each_child(at, [&](u32 child) {
      note(plan_.items[child].node, document::key::chunk_size,
           [&](JsonWriter& json) { json.value(plan_.items[at].detail); });
    });
  }

  void note_arms(const PlanItem& item) {
    note(item.node, document::key::arms, [&](JsonWriter& json) {
      json.array();
      for (const Arm& arm : plan_.branches[item.detail]) json.value(arm.text());
      json.close();
    });
  }

  void note_handoffs(const PlanItem& item) {
    if (plan_.handoffs[item.detail].empty()) return;
    note(item.node, document::key::handoffs, [&](JsonWriter& json) {
      json.array();
      for (const std::string& target : plan_.handoffs[item.detail]) json.value(target);
      json.close();
    });
  }

  void note_loop(const PlanItem& item) {
    const PlanLoop& loop = plan_.loops[item.detail];
    if (loop.max_iterations) {
      note(item.node, document::key::max_iterations,
           [&](JsonWriter& json) { json.value(*loop.max_iterations); });
    }
    note(item.node, document::key::until,
         [&](JsonWriter& json) { document::write_until(json, plan_, loop); });
    if (loop.carry == no_node) return;
    note(item.node, document::key::carry_from,
         [&](JsonWriter& json) { document::write_carry(json, plan_, loop); });
  }

  const PlanLayout& layout_;
  const Plan& plan_;
  std::vector<Fields> fields_;
};

Fields fields_of(const Plan& plan) {
  JsonWriter mode, graph, leaves;
  mode.value(plan_mode_name(plan.mode));
  graph.value(plan.graph_digest());
  leaves.array();
  for (const u32 leaf : plan.leaves) leaves.value(plan.nodes[leaf].id);
  leaves.close();
  Fields out;
  out.emplace_back(document::key::mode, std::move(mode).take());
  out.emplace_back(document::key::graph, std::move(graph).take());
  out.emplace_back(document::key::leaves, std::move(leaves).take());
  return out;
}

// The whole record of a node, to see at once that nothing in it differs.
std::string record_of(const Plan& plan, u32 node) {
  JsonWriter json;
  document::write_node(json, document::in_plans, plan.nodes[node],
                       [&](document::NodeKey) { document::write_sources(json, plan, node); });
  return std::move(json).take();
}

Fields fields_of(const Plan& plan, u32 node, const TreeFields& tree) {
  Fields out;
  for (size_t i = 0; i < std::size(document::node_keys); ++i) {
    const document::Key& key = document::node_keys[i];
    const PlanNode& record = plan.nodes[node];
    if ((key.documents & document::in_plans) == 0) continue;
    if ((key.kinds & document::kind_bit(record.kind)) == 0) continue;
    JsonWriter json;
    json.object();
    if (static_cast<document::NodeKey>(i) == document::NodeKey::From) {
      document::write_sources(json, plan, node);
    } else {
      document::write_node_key(json, static_cast<document::NodeKey>(i), record);
    }
    // {"name":value}, or {}
    const std::string object = std::move(json.close()).take();
    const size_t begin = key.name.size() + 4;
    if (object.size() > begin) {
      out.emplace_back(key.name, object.substr(begin, object.size() - begin - 1));
    }
  }
  out.insert(out.end(), tree.of(node).begin(), tree.of(node).end());
  return out;
}

// All fields of the one that the other says otherwise or not at all, then those that only the other
// says.
std::vector<PlanDiff::Field> compare(const Fields& before, const Fields& after) {
  const auto find = [](const Fields& fields, const std::string& name) {
    const auto at = std::find_if(fields.begin(), fields.end(),
                                 [&](const auto& field) { return field.first == name; });
    return at == fields.end() ? std::string() : at->second;
  };
  // Settings that are too deep for a reader stay the text that they are.
  const auto value = [](const std::string& json) {
    if (json.empty()) return Value();
    const Result<Json> parsed = Json::parse(json);
    return parsed.ok() ? value_of(parsed->root()) : Value::text(json);
  };
  std::vector<PlanDiff::Field> out;
  for (const auto& [name, json] : before) {
    const std::string other = find(after, name);
    if (json != other) out.push_back({name, value(json), value(other)});
  }
  for (const auto& [name, json] : after) {
    if (find(before, name).empty()) out.push_back({name, Value(), value(json)});
  }
  return out;
}

// ---- All of it

class Differ {
 public:
  Differ(const Plan& before, const Plan& after)
      : before_(before, contexts_), after_(after, contexts_) {}

  PlanDiff run() && {
    match();
    find_moved();
    find_changed();
    out_.plan = compare(fields_of(before_.plan), fields_of(after_.plan));
    return std::move(out_);
  }

 private:
  void match() {
    std::unordered_map<std::string_view, u32> ids;
    for (u32 i = 0; i < before_.plan.nodes.size(); ++i) ids.emplace(before_.plan.nodes[i].id, i);
    std::vector<bool> is_left(before_.plan.nodes.size());
    for (u32 i = 0; i < after_.plan.nodes.size(); ++i) {
      const std::string_view id = after_.plan.nodes[i].id;
      const auto known = ids.find(id);
      if (known == ids.end()) {
        out_.added.push_back({std::string(id), after_.place(i)});
      } else {
        is_left[known->second] = true;
        common_.push_back({known->second, i});
      }
    }
    for (u32 i = 0; i < is_left.size(); ++i) {
      if (!is_left[i]) out_.removed.push_back({before_.plan.nodes[i].id.str(), before_.place(i)});
    }
  }

  void find_moved() {
    const std::vector<bool> stays = find_staying(before_, after_, common_);
    for (const Pair& pair : common_) {
      if (stays[pair.after]) continue;
      out_.moved.push_back({after_.plan.nodes[pair.after].id.str(), before_.place(pair.before),
                            after_.place(pair.after)});
    }
  }

  void find_changed() {
    const TreeFields before(before_), after(after_);
    for (const Pair& pair : common_) {
      if (before.of(pair.before) == after.of(pair.after) &&
          record_of(before_.plan, pair.before) == record_of(after_.plan, pair.after)) {
        continue;
      }
      out_.changed.push_back({after_.plan.nodes[pair.after].id.str(),
                              compare(fields_of(before_.plan, pair.before, before),
                                      fields_of(after_.plan, pair.after, after))});
    }
  }

  Contexts contexts_;
  const PlanLayout before_, after_;
  std::vector<Pair> common_;      // in the order of the plan after
  PlanDiff out_;
};

}  // namespace

PlanDiff diff(const Plan& before, const Plan& after) { return Differ(before, after).run(); }

}  // namespace soma
