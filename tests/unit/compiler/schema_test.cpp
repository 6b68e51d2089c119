// Proves that what flows along edges is held to what their ends declare, over the whole graph.
#include <algorithm>

#include "unit/compiler/compile_text.hpp"

namespace soma {

namespace {

struct Edge {
  std::string yields, takes;      // JSON of a port, without its name
};

std::string node_of(const std::string& id, const std::string& takes, const std::string& yields) {
  const auto side = [](const char* name, const std::string& port) {
    return port.empty() ? std::string()
                        : text(R"(,"{}":[{{"name":"p",{}}}])", name, port);
  };
  return text(R"({{"id":"{}"{}{}}})", id, side("inputs", takes), side("outputs", yields));
}

// Edges a0 -> b0, a1 -> b1, …, each between nodes of its own.
std::string said_of(const std::vector<Edge>& edges) {
  std::string nodes, links;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (i > 0) nodes += ",", links += ",";
    nodes += node_of(text("a{}", i), "", edges[i].yields) + ",";
    nodes += node_of(text("b{}", i), edges[i].takes, "");
    links += text(R"({{"from":"a{}","to":"b{}"}})", i, i);
  }
  const std::string said = fixture::diagnostics_of(
      text(R"(json: {{"soma":"graph","version":1,"nodes":[{}],"edges":[{}]}})", nodes, links));
  const size_t leaves = said.find("info graph.several_leaves");
  return said.substr(0, leaves);
}

// Of dimensions as JSON, but that single letters are symbols.
std::string shape(const std::string& dimensions) {
  std::string list;
  for (size_t i = 0; i < dimensions.size(); ++i) {
    const bool is_alone = (i == 0 || dimensions[i - 1] == ',') &&
                          (i + 1 == dimensions.size() || dimensions[i + 1] == ',');
    const bool is_symbol = is_alone && dimensions[i] >= 'a' && dimensions[i] <= 'z';
    list += is_symbol ? text("\"{}\"", dimensions[i]) : std::string(1, dimensions[i]);
  }
  return text(R"("dtype":"f32","shape":[{}])", list);
}

}  // namespace

TEST_CASE("dtypes: the same, any, wider, and none") {
  CHECK(said_of({{R"("dtype":"f32")", R"("dtype":"f32")"}}) == "");
  CHECK(said_of({{R"("dtype":"opaque")", R"("dtype":"any")"}}) == "");
  CHECK(said_of({{R"("dtype":"any")", R"("dtype":"i8")"}}) == "");
  CHECK(said_of({{R"("dtype":"f32")", ""}, {"", R"("dtype":"text")"}}) == "");
  CHECK(said_of({{R"("dtype":"i8")", R"("dtype":"i64")"}}) ==
        "warning schema.widening: 'a0' yields i8, and 'b0' takes i64; nothing is converted: the "
        "reader gets what the other yields\n");
  CHECK(said_of({{R"("dtype":"i64")", R"("dtype":"i8")"}}) ==
        "error schema.dtype: 'a0' yields i64, and 'b0' takes i8; put a node that converts between "
        "them\n");
}

TEST_CASE("shapes: as many dimensions, the same sizes, and what is unknown agrees with all") {
  CHECK(said_of({{shape("2,null,null"), shape("2,3,null")}}) == "");
  CHECK(said_of({{shape(""), R"("dtype":"f32")"}}) == "");
  CHECK(said_of({{shape("2"), shape("2,2")}}) ==
        "error schema.shape: 'a0' yields f32[2], and 'b0' takes f32[2, 2]\n");
  CHECK(said_of({{shape("null,128"), shape("n,256")}}) ==
        "error schema.shape: 'a0' yields f32[?, 128], and 'b0' takes f32[n, 256]\n");
  // Both are wrong, so both are said.
  CHECK(said_of({{R"("dtype":"text","shape":[1])", shape("2")}}).find("schema.shape") !=
        std::string::npos);
}

TEST_CASE("a symbol is one size, wherever it stands") {
  CHECK(said_of({{shape("n"), shape("4")}, {shape("4"), shape("n")}}) == "");
  CHECK(said_of({{shape("n"), shape("null")}, {shape("n"), shape("7")}}) == "");
  CHECK(said_of({{shape("n"), shape("4")}, {shape("8"), shape("n")}}) ==
        "error schema.symbol: the size 'n' is 4 by the edge 'a0' -> 'b0', and 8 by 'a1' -> 'b1'; a "
        "symbol is one size in the whole graph: name another\n");
  // Twice in one port.
  CHECK(said_of({{shape("n,n"), shape("4,8")}}) ==
        "error schema.symbol: the size 'n' is 4 by the edge 'a0' -> 'b0', and 8 by 'a0' -> 'b0'; a "
        "symbol is one size in the whole graph: name another\n");
}

TEST_CASE("symbols that meet are one, whatever came first") {
  const Edge n_is_4 = {shape("n"), shape("4")}, m_is_8 = {shape("8"), shape("m")};
  const Edge k_is_8 = {shape("k"), shape("8")};
  const Edge n_is_k = {shape("n"), shape("k")}, k_is_m = {shape("k"), shape("m")};
  CHECK(said_of({n_is_4, n_is_k, k_is_m}) == "");
  CHECK(said_of({n_is_k, k_is_m, n_is_4, m_is_8}) ==
        "error schema.symbol: the size 'm' is 4 by the edge 'a2' -> 'b2', and 8 by 'a3' -> 'b3'; a "
        "symbol is one size in the whole graph: name another\n");
  CHECK(said_of({n_is_4, k_is_8, n_is_k}) ==
        "error schema.symbol: the size 'k' is 4 by the edge 'a0' -> 'b0', and 8 by 'a1' -> 'b1'; "
        "'a2' -> 'b2' makes them one; a symbol is one size in the whole graph: name another\n");
  // The class keeps its first size, and each edge that disagrees is told.
  const std::string said = said_of({n_is_4, m_is_8, n_is_k, k_is_m, k_is_8});
  CHECK(std::count(said.begin(), said.end(), '\n') == 2);
}

TEST_CASE("a problem names both nodes and all its edges once") {
  const Compilation made = fixture::compiled(R"(
nodes: a b c
edges: a>b b>c
node a: {"outputs":[{"name":"o","dtype":"f32","shape":["n"]}]}
node b: {"inputs":[{"name":"i","dtype":"f32","shape":[4]}],"outputs":[{"name":"o","shape":[8]}]}
node c: {"inputs":[{"name":"i","shape":["n"]}]}
)");
  REQUIRE(made.diagnostics.list().size() == 1);
  const Diagnostic& one = made.diagnostics.list()[0];
  CHECK(one.nodes == std::vector<std::string>{"b", "c", "a"});
  REQUIRE(one.edges.size() == 2);
  CHECK(one.edges[0].from == "b");
  CHECK(one.edges[1].from == "a");
}

TEST_CASE("captures carry values, control edges don't") {
  const std::string nodes = R"(
nodes: o l:loop p
node l: {"max_iterations":2}
node o: {"outputs":[{"name":"o","dtype":"text"}]}
node p: {"inputs":[{"name":"i","dtype":"f32"}]}
)";
  CHECK(fixture::diagnostics_of(nodes + "edges: o>l o^p l~p") ==
        "error schema.dtype: 'o' yields text, and 'p' takes f32; put a node that converts between "
        "them\n");
  CHECK(fixture::diagnostics_of(nodes + "edges: o>l l~p") == "");
}

TEST_CASE("long shapes and odd names stay short and plain in messages") {
  CHECK(said_of({{shape("1,2,3,4,5,6,7,8,9,10"), shape("\"a, b]\"")}}) ==
        "error schema.shape: 'a0' yields f32[1, 2, 3, 4, 5, 6, 7, 8, … 10 dimensions], and 'b0' "
        "takes f32['a, b]']\n");
}

}  // namespace soma
