// Graphs: values, pieces of graphs and how they are put together, and plans.
#ifndef SOMA_GRAPH_HPP
#define SOMA_GRAPH_HPP

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "soma/base.hpp"

namespace soma {

// What flows along edges; without a handle, null. What its functions answer for other kinds than
// theirs stands in value.h.
class value : public detail::handle<soma_value, soma_value_retain, soma_value_release> {
 public:
  using handle::handle;
  using member = std::pair<std::string, value>;

  static value parse(const runtime& owner, std::string_view json) {
    return value(made(soma_value_parse, owner.get(), json.data(), json.size()));
  }
  // Of nullptr, bool, any other integer type, any floating-point type, or text.
  template <typename T>
  static value of(const runtime& owner, const T& content) {
    if constexpr (std::is_same_v<T, std::nullptr_t>) {
      return value(made(soma_value_of_null, owner.get()));
    } else if constexpr (std::is_same_v<T, bool>) {
      return value(made(soma_value_of_bool, owner.get(), content ? 1 : 0));
    } else if constexpr (std::is_integral_v<T>) {
      constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
      if (std::is_unsigned_v<T> && static_cast<std::uint64_t>(content) > most) {
        throw std::out_of_range("an integer value has 64 bits, of which one is its sign");
      }
      return value(made(soma_value_of_int, owner.get(), static_cast<std::int64_t>(content)));
    } else if constexpr (std::is_floating_point_v<T>) {
      return value(made(soma_value_of_double, owner.get(), static_cast<double>(content)));
    } else {
      const std::string_view text = content;
      return value(made(soma_value_of_text, owner.get(), text.data(), text.size()));
    }
  }
  static value bytes(const runtime& owner, std::string_view content) {
    return value(made(soma_value_of_bytes, owner.get(), content.data(), content.size()));
  }
  static value list(const runtime& owner, const std::vector<value>& elements) {
    const columns of(owner, elements);
    return value(made(soma_value_of_list, owner.get(), of.raw.data(), of.raw.size()));
  }
  static value map(const runtime& owner, const std::vector<member>& members) {
    std::vector<const char*> keys;
    std::vector<value> values;
    for (const member& one : members) {
      keys.push_back(one.first.c_str());
      values.push_back(one.second);
    }
    const columns of(owner, values);
    return value(
        made(soma_value_of_map, owner.get(), keys.data(), of.raw.data(), of.raw.size()));
  }
  // Anything that can be moved; object<T>() gives it back.
  template <typename T>
  static value opaque(const runtime& owner, T content) {
    auto* kept = new T(std::move(content));
    return value(made(soma_value_of_opaque, owner.get(), static_cast<void*>(kept),
                      +[](void* object) { delete static_cast<T*>(object); }));
  }

  std::int32_t kind() const { return get() ? soma_value_kind(get()) : SOMA_VALUE_NULL; }
  bool is_null() const { return kind() == SOMA_VALUE_NULL; }
  bool truth() const { return integer() != 0; }
  std::int64_t integer() const {
    std::int64_t out = 0;
    detail::call(soma_value_int, get(), &out);
    return out;
  }
  double number() const {
    double out = 0;
    detail::call(soma_value_double, get(), &out);
    return out;
  }
  // Of a text, or of bytes.
  std::string text() const {
    if (kind() != SOMA_VALUE_TEXT && kind() != SOMA_VALUE_BYTES) return {};
    return {static_cast<const char*>(soma_value_data(get())), soma_value_size(get())};
  }
  std::size_t size() const { return soma_value_size(get()); }
  value at(std::size_t index) const { return value(made(soma_value_at, get(), index)); }
  value at(std::string_view key) const {
    return value(made(soma_value_get, get(), key.data(), key.size()));
  }
  std::string key(std::size_t index) const {
    const char* found = soma_value_key(get(), index);
    return found ? found : "";
  }
  // What opaque() got: T must be the same.
  template <typename T>
  T* object() const {
    return static_cast<T*>(soma_value_opaque(get()));
  }
  std::string json() const { return get() ? detail::text(soma_value_json, get()) : "null"; }

 private:
  struct columns {
    std::vector<value> kept;  // in which null has a handle
    std::vector<const soma_value*> raw;
    columns(const runtime& owner, const std::vector<value>& values) {
      for (const value& one : values) kept.push_back(one ? one : parse(owner, "null"));
      for (const value& one : kept) raw.push_back(one.get());
    }
  };
};

// A graph, or a piece of one. `a >> b` is a graph of both, in which every sink of a feeds every
// source of b; `a | b` is one with nothing between them: (load >> (left | right) >> join).
class graph : public detail::handle<soma_graph, soma_graph_retain, soma_graph_release> {
 public:
  explicit graph(const runtime& owner)
      : graph(owner, made(soma_graph_create, owner.get())) {}
  static graph parse(const runtime& owner, std::string_view json) {
    return {owner, made(soma_graph_parse, owner.get(), json.data(), json.size())};
  }
  // Pieces of one node: any, as it stands in a document; or an id and an op, by default the id.
  static graph node(const runtime& owner, std::string_view json) {
    graph made_here(owner);
    made_here.add_node(json);
    return made_here;
  }
  static graph function(const runtime& owner, std::string_view id, std::string_view op = {}) {
    graph made_here(owner);
    made_here.add_function(id, op);
    return made_here;
  }

  // Nodes have numbers, counted from 0.
  std::uint32_t add_node(std::string_view json) {
    std::uint32_t out = 0;
    detail::call(soma_graph_add_node, get(), json.data(), json.size(), &out);
    return out;
  }
  std::uint32_t add_function(std::string_view id, std::string_view op = {}) {
    std::uint32_t out = 0;
    detail::call(soma_graph_add_function, get(), id.data(), id.size(), op.data(), op.size(), &out);
    return out;
  }
  std::uint32_t add_subgraph(std::string_view id, const graph& inner) {
    std::uint32_t out = 0;
    detail::call(soma_graph_add_subgraph, get(), id.data(), id.size(), inner.get(), &out);
    return out;
  }
  void add_edge(std::uint32_t from, std::uint32_t to, std::string_view settings = {},
                std::int32_t kind = SOMA_EDGE_DATA) {
    detail::call(soma_graph_add_edge, get(), from, to, kind, settings.data(), settings.size());
  }
  std::string automatic_id(std::string_view name) const {
    return detail::text(soma_graph_automatic_id, get(), name.data(), name.size());
  }

  std::string document() const { return detail::text(soma_graph_document, get()); }
  std::string facts() const { return detail::text(soma_graph_facts, get()); }
  std::string check(const options& settings = {}) const {
    return detail::text(soma_graph_check, get(), settings.get());
  }
  const runtime& owner() const { return owner_; }

  friend graph operator>>(const graph& first, const graph& second) {
    return {first.owner_, made(soma_graph_then, first.get(), second.get())};
  }
  friend graph operator|(const graph& first, const graph& second) {
    return {first.owner_, made(soma_graph_beside, first.get(), second.get())};
  }

 private:
  graph(const runtime& owner, soma_graph* taken) : handle(taken), owner_(owner) {}
  runtime owner_;
};

namespace detail {

// What a construct owns, and what the edges into it say: "" or `,"arm":"…"`.
struct owned {
  graph piece;
  std::string settings;
};

// A node and the pieces it owns, with control edges from it to their sources. `>>` knows what these
// are; its edges are then written anew.
inline graph construct(const runtime& owner, std::string_view id, std::string_view kind,
                       std::string_view settings, const std::vector<owned>& pieces) {
  const auto quoted = [&owner](std::string_view text) { return value::of(owner, text).json(); };
  const std::string name = quoted(id);
  std::string nodes = "{\"id\":" + name + ",\"kind\":" + quoted(kind);
  const value more = value::parse(owner, settings);
  for (std::size_t i = 0; i < more.size(); ++i) {
    nodes += ',' + quoted(more.key(i)) + ':' + more.at(i).json();
  }
  nodes += '}';
  const graph alone = graph::node(owner, nodes);
  std::string edges;
  for (const owned& one : pieces) {
    const value tied = value::parse(owner, (alone >> one.piece).document());
    const value its_nodes = tied.at("nodes"), its_edges = tied.at("edges");
    for (std::size_t i = 1; i < its_nodes.size(); ++i) nodes += ',' + its_nodes.at(i).json();
    for (std::size_t i = 0; i < its_edges.size(); ++i) {
      const value edge = its_edges.at(i);
      if (!edges.empty()) edges += ',';
      edges += edge.at("from").text() != id
                   ? edge.json()
                   : "{\"from\":" + name + ",\"to\":" + edge.at("to").json() +
                         ",\"kind\":\"control\"" + one.settings + '}';
    }
  }
  return graph::parse(owner, "{\"soma\":\"graph\",\"version\":1,\"nodes\":[" + nodes +
                                 "],\"edges\":[" + edges + "]}");
}

}  // namespace detail

// Constructs as pieces. `settings` is a JSON object: what their node says beside id and kind.

// Runs its body again and again: "max_iterations", "until", "carry_from".
inline graph loop(std::string_view id, const graph& body, std::string_view settings = "{}") {
  return detail::construct(body.owner(), id, "loop", settings, {{body, ""}});
}

// One way on from a branch: a predicate or "else"; or a label.
struct arm {
  std::string condition;
  graph piece;
  bool is_label = false;
};

// Runs its op, then the first arm that takes the value.
inline graph branch(std::string_view id, const std::vector<arm>& arms,
                    std::string_view settings = "{}") {
  if (arms.empty()) throw std::invalid_argument("a branch has arms");
  const runtime& owner = arms.front().piece.owner();
  std::vector<detail::owned> pieces;
  for (const arm& one : arms) {
    pieces.push_back({one.piece, (one.is_label ? ",\"label\":" : ",\"arm\":") +
                                     value::of(owner, one.condition).json()});
  }
  return detail::construct(owner, id, "branch", settings, pieces);
}

// A step, and what it may hand over to.
inline graph handoff(std::string_view id, const std::vector<graph>& targets,
                     std::string_view settings = "{}") {
  if (targets.empty()) throw std::invalid_argument("a hand-off has targets");
  std::vector<detail::owned> pieces;
  for (const graph& one : targets) pieces.push_back({one, ""});
  return detail::construct(targets.front().owner(), id, "step", settings, pieces);
}

// One node that stands for a whole graph, whose ids become id/inner.
inline graph subgraph(std::string_view id, const graph& inner) {
  graph made(inner.owner());
  made.add_subgraph(id, inner);
  return made;
}

class plan : public detail::handle<soma_plan, soma_plan_retain, soma_plan_release> {
 public:
  explicit plan(const graph& of, const options& settings = {})
      : plan(of.owner(), made(soma_plan_compile, of.get(), settings.get())) {}
  // From a plan document, as JSON or in its binary form.
  static plan parse(const runtime& owner, std::string_view document) {
    return {owner, made(soma_plan_parse, owner.get(), document.data(), document.size())};
  }
  std::string binary() const { return detail::text(soma_plan_binary, get()); }
  std::string document() const { return detail::text(soma_plan_document, get()); }
  std::string facts() const { return detail::text(soma_plan_facts, get()); }
  std::string diagnostics() const { return detail::text(soma_plan_diagnostics, get()); }
  std::string show(std::string_view format = "tree") const {
    return detail::text(soma_plan_show, get(), format.data(), format.size());
  }
  // `measured`: JSON of microseconds, or nothing.
  std::string estimate(std::string_view measured = {}, uint64_t threads = 0) const {
    return detail::text(soma_plan_estimate, get(), measured.data(), measured.size(), threads);
  }
  std::string diff(const plan& after) const {
    return detail::text(soma_plan_diff, get(), after.get());
  }
  const runtime& owner() const { return owner_; }

 private:
  friend class plan_cache;
  plan(const runtime& owner, soma_plan* taken) : handle(taken), owner_(owner) {}
  runtime owner_;
};

// Plans in memory: a graph that was compiled before is not compiled again.
class plan_cache : public detail::handle<soma_plan_cache, soma_plan_cache_retain,
                                         soma_plan_cache_release> {
 public:
  explicit plan_cache(const runtime& owner, const options& settings = {})
      : handle(made(soma_plan_cache_create, owner.get(), settings.get())) {}

  plan compile(const graph& of, const options& settings = {}) const {
    soma_plan* found = nullptr;
    detail::call(soma_plan_cache_compile, get(), of.get(), settings.get(), &found);
    return {of.owner(), found};
  }
  // As JSON: what plan_cache.h says.
  std::string facts() const { return detail::text(soma_plan_cache_facts, get()); }
};

}  // namespace soma

#endif
