// Prints a plan as its canonical document, which is what its digest is taken of.
//
// The tree is walked in pre-order with a stack of open items, so a plan may nest deeper than any
// reader of JSON lets it. What an item puts around each of its children is written when the child
// is reached, what follows the children when the item is left.
#include "base/hash.hpp"
#include "plan/document_keys.hpp"

namespace soma {

namespace document {

namespace {

class Writer {
 public:
  explicit Writer(const Plan& plan) : plan_(plan) {}

  std::string print() && {
    json_.object().field(key::soma, plan_name).field(key::version, plan_version);
    json_.field(key::mode, plan_mode_name(plan_.mode)).field(key::graph, plan_.graph_digest());
    json_.key(key::nodes).array();
    for (u32 i = 0; i < plan_.nodes.size(); ++i) write_node(i);
    json_.close().key(key::leaves).array();
    for (const u32 leaf : plan_.leaves) json_.value(id(leaf));
    json_.close().key(key::plan);
    write_tree();
    json_.close();
    return std::move(json_).take();
  }

 private:
  struct Open {
    u32 item = 0;
    u32 children = 0;             // so far
  };

  std::string_view id(u32 node) const { return plan_.nodes[node].id; }

  void write_node(u32 index) {
    document::write_node(json_, in_plans, plan_.nodes[index],
                         [&](NodeKey) { write_sources(json_, plan_, index); });
  }

  void write_tree() {
    for (u32 at = 0; at < plan_.items.size(); ++at) {
      while (!open_.empty() && plan_.items[open_.back().item].end == at) leave();
      if (!open_.empty()) before_child();
      enter(at);
      open_.push_back({at});
    }
    while (!open_.empty()) leave();
  }

  // Up to the first child.
  void enter(u32 at) {
    const PlanItem& item = plan_.items[at];
    if (item.variant == Variant::Empty) {
      json_.value(empty_name);
      return;
    }
    if (is_by_id()) {
      json_.value(id(item.node));
      return;
    }
    json_.object().key(variant_name(item.variant));
    switch (item.variant) {
      case Variant::Empty: break;
      case Variant::Execute:
        json_.object().field(key::node, id(item.node)).key(key::from).array();
        for (const Source& source : plan_.sources_of(item.node)) json_.value(id(source.node));
        break;
      case Variant::Sequence:
      case Variant::Parallel:
      case Variant::Composite:
      case Variant::Dataflow: json_.array(); break;
      case Variant::Stream: json_.object().key(key::nodes).array(); break;
      case Variant::Step:
        json_.object().field(key::node, id(item.node)).key(key::handoffs).array();
        break;
      case Variant::Branch:
        json_.object().field(key::node, id(item.node)).key(key::arms).array();
        break;
      case Variant::Loop: json_.object().field(key::node, id(item.node)).key(key::body); break;
      case Variant::Remote:
        json_.object().field(key::node, id(item.node)).key(key::target);
        write_target(json_, plan_.nodes[item.node].target());
        json_.key(key::plan);
        break;
    }
  }

  // Composite and stream hold ids, in which there is nothing to enter or to leave.
  bool is_by_id() const {
    if (open_.empty()) return false;
    const Variant around = plan_.items[open_.back().item].variant;
    return around == Variant::Composite || around == Variant::Stream;
  }

  void before_child() {
    Open& open = open_.back();
    const PlanItem& item = plan_.items[open.item];
    const u32 index = open.children++;
    switch (item.variant) {
      case Variant::Step: json_.array().value(plan_.handoffs[item.detail][index]); break;
      case Variant::Branch: json_.array().value(plan_.branches[item.detail][index].text()); break;
      case Variant::Dataflow:
        json_.object().key(key::after).array();
        for (const u32 before : plan_.dataflows[item.detail][index]) json_.value(before);
        json_.close().key(key::plan);
        break;
      case Variant::Empty:
      case Variant::Execute:
      case Variant::Sequence:
      case Variant::Parallel:
      case Variant::Loop:
      case Variant::Remote:
      case Variant::Composite:
      case Variant::Stream: break;
    }
  }

  void after_child() {
    const Variant variant = plan_.items[open_.back().item].variant;
    const bool is_wrapped = variant == Variant::Step || variant == Variant::Branch ||
                            variant == Variant::Dataflow;
    if (is_wrapped) json_.close();
  }

  void leave() {
    const PlanItem& item = plan_.items[open_.back().item];
    open_.pop_back();
    if (item.variant != Variant::Empty && !is_by_id()) {
      finish(item);
      json_.close();
    }
    if (!open_.empty()) after_child();
  }

  // Behind the last child.
  void finish(const PlanItem& item) {
    switch (item.variant) {
      case Variant::Empty: break;
      case Variant::Sequence:
      case Variant::Parallel:
      case Variant::Composite:
      case Variant::Dataflow:
      case Variant::Remote: json_.close(); break;
      case Variant::Execute:
      case Variant::Step:
      case Variant::Branch: json_.close().close(); break;
      case Variant::Stream: json_.close().field(key::chunk_size, item.detail).close(); break;
      case Variant::Loop: finish_loop(plan_.loops[item.detail]); break;
    }
  }

  void finish_loop(const PlanLoop& loop) {
    json_.key(key::max_iterations);
    loop.max_iterations ? json_.value(*loop.max_iterations) : json_.value(nullptr);
    write_until(json_.key(key::until), plan_, loop);
    write_carry(json_.key(key::carry_from), plan_, loop);
    json_.close();
  }

  const Plan& plan_;
  JsonWriter json_;
  std::vector<Open> open_;
};

}  // namespace

void write_sources(JsonWriter& json, const Plan& plan, u32 node) {
  const std::span<const Source> sources = plan.sources_of(node);
  if (sources.empty()) return;
  json.key(key::from).array();
  for (const Source& source : sources) {
    const std::string_view id = plan.nodes[source.node].id;
    if (source.output == 0 && source.input == 0) {
      json.value(id);
      continue;
    }
    json.object().field(key::node, id);
    if (source.output != 0) json.field(key::output, plan.names[source.output]);
    if (source.input != 0) json.field(key::input, plan.names[source.input]);
    json.close();
  }
  json.close();
}

void write_until(JsonWriter& json, const Plan& plan, const PlanLoop& loop) {
  if (loop.signal == no_node) {
    json.value(exhaust_name);
  } else {
    json.object().field(key::when_signaled, plan.nodes[loop.signal].id).close();
  }
}

void write_carry(JsonWriter& json, const Plan& plan, const PlanLoop& loop) {
  loop.carry == no_node ? json.value(nullptr) : json.value(plan.nodes[loop.carry].id.view());
}

}  // namespace document

std::string Plan::document() const { return document::Writer(*this).print(); }

std::string Plan::digest() const { return content_digest(document()); }

}  // namespace soma
