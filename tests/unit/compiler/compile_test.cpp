// Proves on random and on very large graphs what plans are: the tree that the expression wrote,
// every node once, every edge respected, the same bytes twice.
#include "compiler/compile.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "unit/sanitized.hpp"

namespace soma {

namespace {

Graph single(std::string id) {
  Graph graph;
  graph.nodes.emplace_back().id = std::move(id);
  return graph;
}

Plan plan_of(const Graph& graph, bool parallelize_dag = false) {
  CompileOptions options;
  options.parallelize_dag = parallelize_dag;
  Compilation made = compile(graph, options);
  INFO(made.diagnostics.text());
  REQUIRE(made.plan);
  return std::move(*made.plan);
}

// S[a P[b c]]: a tree in a line.
std::string line_of(const Plan& plan, u32 item = 0) {
  const PlanItem& at = plan.items[item];
  if (at.variant == Variant::Execute) return plan.nodes[at.node].id.str();
  std::string out;
  plan.each_child(item, [&](u32 child) {
    out += (out.empty() ? "" : " ") + line_of(plan, child);
  });
  const char* name = at.variant == Variant::Sequence   ? "S"
                     : at.variant == Variant::Parallel ? "P"
                                                       : "?";
  return name + ("[" + out + "]");
}

// ---- Expressions

struct Expression {
  char kind = 'L';                // S, P, or a leaf
  std::vector<Expression> parts;
  std::string id;

  std::string line() const {
    if (kind == 'L') return id;
    std::string out;
    for (const Expression& part : parts) out += (out.empty() ? "" : " ") + part.line();
    return std::string(1, kind) + "[" + out + "]";
  }
};

// The expression in canonical form, and its graph by `then` and `beside`.
std::pair<Expression, Graph> random_expression(std::mt19937& random, u32 leaves, u32& named) {
  if (leaves == 1) {
    const std::string id = text("n{}", ++named);
    return {Expression{'L', {}, id}, single(id)};
  }
  const u32 left = 1 + static_cast<u32>(random() % (leaves - 1));
  auto [a, first] = random_expression(random, left, named);
  auto [b, second] = random_expression(random, leaves - left, named);
  const char kind = random() % 2 == 0 ? 'S' : 'P';
  Expression out;
  out.kind = kind;
  for (Expression* part : {&a, &b}) {
    if (part->kind == kind) {
      out.parts.insert(out.parts.end(), part->parts.begin(), part->parts.end());
    } else {
      out.parts.push_back(std::move(*part));
    }
  }
  return {std::move(out),
          (kind == 'S' ? then : beside)(std::move(first), std::move(second)).value()};
}

Graph random_graph(std::mt19937& random, u32 nodes, u32 density) {
  Graph graph;
  for (u32 i = 0; i < nodes; ++i) graph.nodes.emplace_back().id = text("n{}", i);
  std::vector<u32> order(nodes);
  for (u32 i = 0; i < nodes; ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  for (u32 i = 0; i < nodes; ++i) {
    for (u32 j = i + 1; j < nodes; ++j) {
      if (random() % 100 >= density) continue;
      GraphEdge& edge = graph.edges.emplace_back();
      edge.from = order[i];
      edge.to = order[j];
      if (random() % 4 == 0) edge.kind = EdgeKind::Control;
    }
  }
  std::shuffle(graph.edges.begin(), graph.edges.end(), random);
  return graph;
}

u32 place_of(const Plan& plan, std::string_view id) {
  const auto at = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                               [id](const PlanNode& node) { return node.id == id; });
  REQUIRE(at != plan.nodes.end());
  return static_cast<u32>(at - plan.nodes.begin());
}

// Do the nodes run one after the other in every run of the plan?
bool are_ordered(const Plan& plan, u32 before, u32 after) {
  const auto holds = [&](u32 item, u32 node) {
    for (u32 at = item; at < plan.items[item].end; ++at) {
      if (plan.items[at].node == node) return true;
    }
    return false;
  };
  u32 item = 0;
  for (;;) {                      // down to where their ways part
    u32 inside = 0, first = 0, second = 0;
    plan.each_child(item, [&](u32 child) {
      const bool has_before = holds(child, before), has_after = holds(child, after);
      if (has_before && has_after) inside = child;
      if (has_before) first = child;
      if (has_after) second = child;
    });
    if (inside == 0) return plan.items[item].variant == Variant::Sequence && first < second;
    item = inside;
  }
}

}  // namespace

TEST_CASE("random expressions of >> and | become the tree that they write") {
  constexpr u32 rounds = fixture::is_sanitized ? 2000 : 10'000;
  std::mt19937 random(11);
  for (u32 i = 0; i < rounds; ++i) {
    u32 named = 0;
    const auto [expression, graph] = random_expression(random, 1 + i % 14, named);
    CAPTURE(expression.line());
    REQUIRE(line_of(plan_of(graph)) == expression.line());
  }
}

TEST_CASE("passes that change the plan leave behind what they made of it, if asked") {
  Graph graph = then(single("a"), single("b")).value();
  for (GraphNode& node : graph.nodes) node.differentiable = true;
  CompileOptions options;
  options.mode = PlanMode::Differentiable;
  const Compilation made = compile(graph, options, true);
  REQUIRE(made.plan);
  std::string dumps;
  for (const PassReport& report : made.passes) {
    if (!report.dump.empty()) dumps += text("{}: {}", report.pass, report.dump);
  }
  CHECK(dumps == "decompose: Sequence:\n  Execute(a)\n  Execute(b)\n"
                 "composite: Composite(a, b)\n"
                 "distribute: Composite(a, b)\n");
  for (const PassReport& report : compile(graph, options).passes) CHECK(report.dump.empty());
}

TEST_CASE("random graphs: every node once, every edge respected, what is read exact, twice alike") {
  std::mt19937 random(5);
  for (u32 i = 0; i < 1500; ++i) {
    const Graph graph = random_graph(random, 1 + static_cast<u32>(random() % 12),
                                     5 + static_cast<u32>(random() % 50));
    const Plan plan = plan_of(graph);
    CAPTURE(graph.document());
    REQUIRE(plan.document() == plan_of(graph).document());
    REQUIRE(plan.nodes.size() == graph.nodes.size());
    for (const GraphEdge& edge : graph.edges) {
      REQUIRE(are_ordered(plan, place_of(plan, graph.id_of(edge.from)),
                          place_of(plan, graph.id_of(edge.to))));
    }
    for (u32 node = 0; node < plan.nodes.size(); ++node) {
      std::vector<std::string> reads, expected;
      for (const Source& source : plan.sources_of(node)) {
        reads.push_back(plan.nodes[source.node].id.str());
      }
      for (const GraphEdge& edge : graph.edges) {
        if (graph.id_of(edge.to) == plan.nodes[node].id && edge.kind == EdgeKind::Data) {
          expected.emplace_back(graph.id_of(edge.from));
        }
      }
      REQUIRE(reads == expected);
    }
  }
}

TEST_CASE("random graphs by counting: each node after all that lead to it, and no other order") {
  std::mt19937 random(6);
  for (u32 i = 0; i < 300; ++i) {
    const Graph graph = random_graph(random, 4 + static_cast<u32>(random() % 9), 30);
    const Plan plan = plan_of(graph, true);
    CAPTURE(graph.document());
    REQUIRE(plan.verify().ok());
    for (u32 item = 0; item < plan.items.size(); ++item) {
      if (plan.items[item].variant != Variant::Dataflow) continue;
      const std::vector<std::vector<u32>>& after = plan.dataflows[plan.items[item].detail];
      std::vector<u32> nodes;
      plan.each_child(item, [&](u32 child) { nodes.push_back(plan.items[child].node); });
      for (u32 k = 0; k < nodes.size(); ++k) {
        std::set<std::string> expected, got;
        for (const GraphEdge& edge : graph.edges) {
          const bool is_here = std::any_of(nodes.begin(), nodes.end(), [&](u32 node) {
            return plan.nodes[node].id == graph.id_of(edge.from);
          });
          if (graph.id_of(edge.to) == plan.nodes[nodes[k]].id && is_here) {
            expected.emplace(graph.id_of(edge.from));
          }
        }
        for (const u32 earlier : after[k]) got.insert(plan.nodes[nodes[earlier]].id.str());
        REQUIRE(got == expected);
      }
    }
  }
}

namespace {

void add_edge(Graph& graph, size_t from, size_t to, EdgeKind kind = EdgeKind::Data) {
  GraphEdge& edge = graph.edges.emplace_back();
  edge.from = static_cast<u32>(from);
  edge.to = static_cast<u32>(to);
  edge.kind = kind;
}

Graph nodes_only(size_t count) {
  Graph graph;
  graph.nodes.resize(count);
  for (size_t i = 0; i < count; ++i) graph.nodes[i].id = std::to_string(i);
  return graph;
}

}  // namespace

TEST_CASE("a chain, a fan and a layered graph of a million nodes") {
  constexpr size_t many = fixture::is_sanitized ? 50'000 : 1'000'000;
  Graph chain = nodes_only(many);
  for (size_t i = 0; i + 1 < many; ++i) add_edge(chain, i, i + 1);
  CHECK(plan_of(chain).items.size() == many + 1);

  Graph fan = nodes_only(many);
  for (size_t i = 1; i + 1 < many; ++i) {
    add_edge(fan, 0, i);
    add_edge(fan, i, many - 1);
  }
  CHECK(plan_of(fan).items.size() == many + 2);

  std::mt19937 random(3);
  constexpr size_t width = 1000;
  Graph layered = nodes_only(many);
  for (size_t i = width; i < many; ++i) {
    const size_t before = i / width * width - width, step = 1 + random() % 300;
    const size_t first = random() % width;
    for (size_t k = 0; k < 3; ++k) add_edge(layered, before + (first + k * step) % width, i);
  }
  CHECK(plan_of(layered).nodes.size() == many);
}

TEST_CASE("constructs nested ten thousand deep, and waves a hundred thousand") {
  constexpr size_t deep = 10'000;
  Graph loops = nodes_only(deep + 1);
  for (size_t i = 0; i < deep; ++i) {
    loops.nodes[i].kind = NodeKind::Loop;
    loops.nodes[i].edit().max_iterations = 1;
    add_edge(loops, i, i + 1, EdgeKind::Control);
  }
  CHECK(plan_of(loops).items.size() == deep + 1);

  constexpr size_t waves = 100'000;
  Graph nest = nodes_only(2 * waves + 1);
  for (size_t i = 0; i < waves; ++i) {
    add_edge(nest, 2 * i, 2 * i + 1);
    add_edge(nest, 2 * i, 2 * i + 2);
  }
  CHECK(plan_of(nest).items.size() == 2 * waves + 1 + 2 * waves);
}

}  // namespace soma
