// Reads a plan document and tells everything that is wrong with it, each with its place.
//
// The objects are walked as graph documents are (graph/document_read.cpp says why): members are
// looked up in a table of keys, problems are noted with their places and the walk goes on. But a
// plan refers to itself: first the table of nodes is read, then the leaves and the tree, whose ids
// are turned into indices on the way. What a node reads stands before it in the table, so its
// sources are known when it is reached.
// What no key can be blamed for, the tree's own rules, is Plan::verify's to prove: the reader ends
// with it, and asks it nothing as long as there are other problems.
// Cost: linear, but for a table of ids. Recursion is bounded by JSON's limit of nesting: an item
// that holds others takes two levels of it.
#include <algorithm>
#include <unordered_map>

#include "base/text.hpp"
#include "plan/document_keys.hpp"

namespace soma {

namespace document {

namespace {

// As many as graphs have, whose subgraphs are inlined by then.
constexpr size_t nodes_max = size_t{1} << 21;
constexpr size_t sources_max = size_t{1} << 23;

// The variants that are keys: all but Empty.
constexpr Key item_keys[] = {{"execute"}, {"sequence"}, {"parallel"},  {"step"},   {"loop"},
                             {"branch"},  {"remote"},   {"composite"}, {"stream"}, {"dataflow"}};
static_assert(std::size(item_keys) == static_cast<size_t>(Variant::Dataflow));

class Reader : private NodeReader {
 public:
  explicit Reader(bool is_strict) : NodeReader(in_plans, is_strict) {}

  Result<Plan> read(JsonView root) && {
    read_plan(root, {});
    if (!problems_.none()) return std::move(problems_).take();
    SOMA_TRY(plan_.verify());
    return std::move(plan_);
  }

 private:
  // An object, of whose keys the unknown ones are noted.
  bool is_object_of(std::span<const Key> keys, JsonView json, const Place& at,
                    std::string_view what) {
    if (!is_object(json, at)) return false;
    each_member<size_t>(json, at, what, keys, [](size_t, JsonView, const Place&) {});
    return true;
  }

  void read_plan(JsonView json, const Place& at) {
    if (!is_object(json, at) || !read_header(json, at, plan_name, plan_version, true)) return;
    is_object_of(plan_keys, json, at, "a plan");
    if (const JsonView mode = required(json, at, key::mode, "a mode")) {
      read_mode(mode, {&at, key::mode});
    }
    if (const JsonView graph = required(json, at, key::graph, "the digest of a graph")) {
      std::string digest;
      read_text(graph, {&at, key::graph}, digest);
      plan_.origin = GraphOrigin(std::move(digest));
    }
    if (const JsonView nodes = required(json, at, key::nodes, "a list of nodes")) {
      read_nodes(nodes, {&at, key::nodes});
    }
    is_table_read_ = true;
    is_table_sound_ = problems_.none();
    if (const JsonView leaves = required(json, at, key::leaves, "a list of ids")) {
      each_element(leaves, {&at, key::leaves}, "a list of ids",
                   [&](JsonView leaf, const Place& place) {
        plan_.leaves.push_back(read_id(leaf, place));
      });
    }
    read_required_item(json, at, key::plan);
  }

  void read_mode(JsonView json, const Place& at) {
    const std::optional<PlanMode> mode =
        json.is(JsonKind::Text) ? plan_mode_by_name(json.text()) : std::nullopt;
    if (!mode) return mistyped(at, "one of inference, differentiable, no_cache", json);
    plan_.mode = *mode;
  }

  // ---- The table of nodes

  void read_nodes(JsonView json, const Place& at) {
    if (!takes(json, at, nodes_, nodes_max, "nodes")) return;
    each_element(json, at, "a list of nodes", [&](JsonView element, const Place& place) {
      read_node(element, place);
    });
  }

  void read_node(JsonView json, const Place& at) {
    const u32 index = static_cast<u32>(plan_.nodes.size());
    PlanNode& node = plan_.nodes.emplace_back();
    node.sources_begin = static_cast<u32>(plan_.sources.size());
    if (is_object(json, at)) {
      const u32 kinds = begin_node(json, at, node);
      NodeReader::read_node(json, at, kinds, node, [&](NodeKey, JsonView from, const Place& place) {
        read_sources(from, place);
      });
      // Only now: no node reads itself.
      const JsonView id = json.member("id");
      if (id && id.is(JsonKind::Text)) add_id(id.text(), index, at);
    }
    node.sources_end = static_cast<u32>(plan_.sources.size());
  }

  // The id's text belongs to the document, which stays as long as the reader.
  void add_id(std::string_view id, u32 index, const Place& at) {
    if (ids_.emplace(id, index).second) return;
    complain(Reason::document_type, {&at, "id"},
             text("another node before it has the id {}", quoted(id)));
  }

  void read_sources(JsonView json, const Place& at) {
    if (!takes(json, at, sources_, sources_max, "sources")) return;
    each_element(json, at, "a list of what the node reads",
                 [&](JsonView element, const Place& place) { read_source(element, place); });
  }

  void read_source(JsonView json, const Place& at) {
    Source source;
    if (json.is(JsonKind::Object)) {
      is_object_of(source_keys, json, at, "a source");
      source.node = read_required_id(json, at);
      source.output = read_name(json.member(key::output), {&at, key::output});
      source.input = read_name(json.member(key::input), {&at, key::input});
    } else if (json.is(JsonKind::Text)) {
      source.node = read_id(json, at);
    } else {
      return mistyped(at, R"(the id of a node or {"node": id, "output": …, "input": …})", json);
    }
    plan_.sources.push_back(source);
  }

  // A port, by its place in the table of names.
  u32 read_name(JsonView json, const Place& at) {
    std::string name;
    if (json) read_text(json, at, name);
    if (name.empty()) return 0;
    const auto [known, is_new] =
        names_.emplace(std::move(name), static_cast<u32>(plan_.names.size()));
    if (is_new) plan_.names.push_back(known->first);
    return known->second;
  }

  u32 read_id(JsonView json, const Place& at) {
    if (!json.is(JsonKind::Text)) {
      mistyped(at, "the id of a node", json);
      return no_node;
    }
    const auto known = ids_.find(json.text());
    if (known != ids_.end()) return known->second;
    complain(Reason::document_type, at,
             text("{} is the id of no node {}", quoted(json.text()),
                  is_table_read_ ? "of the table" : "before this one"));
    return no_node;
  }

  // ---- The tree

  void read_required_item(JsonView json, const Place& at, std::string_view name) {
    if (const JsonView item = required(json, at, name, item_expected)) {
      read_item(item, {&at, name});
    }
  }

  void read_item(JsonView json, const Place& at) {
    if (json.is(JsonKind::Text) && json.text() == empty_name) {
      close(open(Variant::Empty));
      return;
    }
    if (!json.is(JsonKind::Object)) return mistyped(at, item_expected, json);
    const size_t before = problems_.count();
    size_t variants = 0;
    each_member<size_t>(json, at, "an item", item_keys,
                        [&](size_t index, JsonView member, const Place& place) {
      if (++variants > 1) {
        return complain(Reason::document_type, place, "an item is of one variant, which it has");
      }
      const u32 item = open(static_cast<Variant>(index + 1));
      read_variant(item, member, place);
      close(item);
    });
    if (variants == 0 && problems_.count() == before) mistyped(at, item_expected, json);
  }

  u32 open(Variant variant) {
    const u32 item = static_cast<u32>(plan_.items.size());
    plan_.items.push_back({variant, no_node, 0, 0});
    return item;
  }
  void close(u32 item) { plan_.items[item].end = static_cast<u32>(plan_.items.size()); }

  void read_variant(u32 item, JsonView json, const Place& at) {
    switch (plan_.items[item].variant) {
      case Variant::Empty: break;
      case Variant::Execute: read_execute(item, json, at); break;
      case Variant::Sequence:
      case Variant::Parallel:
        each_element(json, at, "a list of items", [&](JsonView element, const Place& place) {
          read_item(element, place);
        });
        break;
      case Variant::Step: read_step(item, json, at); break;
      case Variant::Loop: read_loop(item, json, at); break;
      case Variant::Branch: read_branch(item, json, at); break;
      case Variant::Remote: read_remote(item, json, at); break;
      case Variant::Composite: read_chain(json, at); break;
      case Variant::Stream: read_stream(item, json, at); break;
      case Variant::Dataflow: read_dataflow(item, json, at); break;
    }
  }

  void read_execute(u32 item, JsonView json, const Place& at) {
    if (!is_object_of(execute_keys, json, at, "this item")) return;
    const u32 node = plan_.items[item].node = read_required_id(json, at);
    const JsonView from = required(json, at, key::from, "a list of ids");
    if (!from) return;
    std::vector<u32> sources;
    const Place place = {&at, key::from};
    each_element(from, place, "a list of ids", [&](JsonView element, const Place& source) {
      sources.push_back(read_id(element, source));
    });
    if (node == no_node || !is_table_sound_) return;
    const std::span<const Source> known = plan_.sources_of(node);
    const bool agrees = std::equal(sources.begin(), sources.end(), known.begin(), known.end(),
                                   [](u32 a, const Source& b) { return a == b.node; });
    if (!agrees) {
      complain(Reason::document_type, place,
               text("in the table of nodes, {} reads others, or in another order",
                    quoted(plan_.nodes[node].id)));
    }
  }

  void read_step(u32 item, JsonView json, const Place& at) {
    if (!is_object_of(step_keys, json, at, "this item")) return;
    plan_.items[item].node = read_required_id(json, at);
    const size_t detail = add_detail(item, plan_.handoffs);
    read_pairs(json, at, key::handoffs, [&](JsonView target, const Place& place) {
      read_text(target, place, plan_.handoffs[detail].emplace_back());
    });
  }

  void read_branch(u32 item, JsonView json, const Place& at) {
    if (!is_object_of(branch_keys, json, at, "this item")) return;
    plan_.items[item].node = read_required_id(json, at);
    const size_t detail = add_detail(item, plan_.branches);
    read_pairs(json, at, key::arms, [&](JsonView arm, const Place& place) {
      std::string text;
      read_text(arm, place, text);
      if (!arm.is(JsonKind::Text)) return;
      Result<Arm> parsed = Arm::parse(text);
      if (!parsed.ok()) return complain(parsed.error().reason(), place, parsed.error().message());
      plan_.branches[detail].push_back(*std::move(parsed));
    });
  }

  // [[a text, an item], …]: read_first(text, place) for each.
  template <typename ReadFirst>
  void read_pairs(JsonView json, const Place& at, std::string_view name, ReadFirst read_first) {
    const JsonView pairs = required(json, at, name, "a list of pairs");
    if (!pairs) return;
    each_element(pairs, {&at, name}, "a list of pairs",
                 [&](JsonView pair, const Place& place) {
      const JsonView first = pair.is(JsonKind::Array) ? pair.first() : JsonView();
      const JsonView second = first ? first.next() : JsonView();
      if (!second || second.next()) return mistyped(place, "a list of a text and an item", pair);
      read_first(first, Place{&place, {}, 0});
      read_item(second, Place{&place, {}, 1});
    });
  }

  void read_loop(u32 item, JsonView json, const Place& at) {
    if (!is_object_of(loop_keys, json, at, "this item")) return;
    plan_.items[item].node = read_required_id(json, at);
    const size_t detail = add_detail(item, plan_.loops);
    read_required_item(json, at, key::body);
    PlanLoop& loop = plan_.loops[detail];
    if (const JsonView bound = json.member(key::max_iterations); is_said(bound)) {
      const std::optional<i64> passes = integer_in(bound);
      if (!passes || *passes < 1) {
        mistyped({&at, key::max_iterations}, "an integer from 1 or null", bound);
      } else {
        loop.max_iterations = static_cast<u64>(*passes);
      }
    }
    if (const JsonView until = required(json, at, key::until, until_expected)) {
      read_until(until, {&at, key::until}, loop);
    }
    if (const JsonView carry = json.member(key::carry_from); is_said(carry)) {
      loop.carry = read_id(carry, {&at, key::carry_from});
    }
  }

  static bool is_said(JsonView json) { return json && !json.is(JsonKind::Null); }

  void read_until(JsonView json, const Place& at, PlanLoop& loop) {
    if (json.is(JsonKind::Text) && json.text() == exhaust_name) return;
    const JsonView signal =
        json.is(JsonKind::Object) ? json.member(key::when_signaled) : JsonView();
    if (!signal) return mistyped(at, until_expected, json);
    const Key keys[] = {{key::when_signaled}};
    is_object_of(keys, json, at, "this object");
    loop.signal = read_id(signal, {&at, key::when_signaled});
  }

  void read_remote(u32 item, JsonView json, const Place& at) {
    if (!is_object_of(remote_keys, json, at, "this item")) return;
    const u32 node = plan_.items[item].node = read_required_id(json, at);
    if (const JsonView said = required(json, at, key::target, "a target")) {
      const Place place = {&at, key::target};
      const size_t before = problems_.count();
      Target target;
      read_target(said, place, target);
      if (node != no_node && is_table_sound_ && problems_.count() == before &&
          target != plan_.nodes[node].target()) {
        complain(Reason::document_type, place,
                 text("in the table of nodes, {} has another target",
                      quoted(plan_.nodes[node].id)));
      }
    }
    read_required_item(json, at, key::plan);
  }

  void read_stream(u32 item, JsonView json, const Place& at) {
    if (!is_object_of(stream_keys, json, at, "this item")) return;
    if (const JsonView nodes = required(json, at, key::nodes, "a list of ids")) {
      read_chain(nodes, {&at, key::nodes});
    }
    if (const JsonView said = required(json, at, key::chunk_size, chunk_expected)) {
      const std::optional<i64> rows = integer_in(said);
      if (!rows || *rows < 1 || *rows > i64{~u32{0}}) {
        return mistyped({&at, key::chunk_size}, chunk_expected, said);
      }
      plan_.items[item].detail = static_cast<u32>(*rows);
    }
  }

  // Ids of nodes that execute one after the other.
  void read_chain(JsonView json, const Place& at) {
    each_element(json, at, "a list of ids", [&](JsonView element, const Place& place) {
      const u32 item = open(Variant::Execute);
      plan_.items[item].node = read_id(element, place);
      close(item);
    });
  }

  void read_dataflow(u32 item, JsonView json, const Place& at) {
    const size_t detail = add_detail(item, plan_.dataflows);
    each_element(json, at, "a list of parts", [&](JsonView part, const Place& place) {
      if (!is_object_of(part_keys, part, place, "a part")) return;
      const size_t index = plan_.dataflows[detail].size();
      plan_.dataflows[detail].emplace_back();
      if (const JsonView after = required(part, place, key::after, "a list of indices")) {
        each_element(after, {&place, key::after}, "a list of indices",
                     [&](JsonView before, const Place& at_index) {
          const std::optional<i64> number = integer_in(before);
          if (!number || *number < 0 || *number >= static_cast<i64>(index)) {
            return mistyped(at_index, "the index of a part before this one", before);
          }
          plan_.dataflows[detail][index].push_back(static_cast<u32>(*number));
        });
      }
      read_required_item(part, place, key::plan);
    });
  }

  u32 read_required_id(JsonView json, const Place& at) {
    const JsonView id = required(json, at, key::node, "the id of a node");
    return id ? read_id(id, {&at, key::node}) : no_node;
  }

  // A new row of a table for an item. Others may come before it is filled.
  template <typename Row>
  size_t add_detail(u32 item, std::vector<Row>& table) {
    plan_.items[item].detail = static_cast<u32>(table.size());
    table.emplace_back();
    return table.size() - 1;
  }

  static constexpr std::string_view item_expected =
      R"("empty" or an object of execute, sequence, parallel, step, loop, branch, remote, )"
      "composite, stream or dataflow";
  static constexpr std::string_view until_expected =
      R"("exhaust" or {"when_signaled": the id of a node})";
  static constexpr std::string_view chunk_expected = "a number of rows from 1 to 4294967295";

  Plan plan_;
  std::unordered_map<std::string_view, u32> ids_;
  std::unordered_map<std::string, u32> names_;
  size_t nodes_ = 0, sources_ = 0;
  bool is_table_read_ = false, is_table_sound_ = false;
};

}  // namespace

}  // namespace document

Result<Plan> Plan::parse(std::string_view json, Reading reading) {
  SOMA_ASSIGN(const Json parsed, Json::parse(json));
  return document::Reader(reading == Reading::Strict).read(parsed.root());
}

}  // namespace soma
