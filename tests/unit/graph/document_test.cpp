// Proves that graph documents are read as their keys say and printed canonically, and that all else
// in them is refused, each problem with its place, all of them at once.
#include <doctest/doctest.h>

#include <ctime>

#include "graph/graph.hpp"
#include "unit/graph/graph_text.hpp"

namespace soma {

namespace {

using fixture::problems_of;

// A document with this as its only node, or its only edge.
std::string with_node(std::string_view node) {
  return text(R"({{"soma":"graph","version":1,"nodes":[{}]}})", node);
}
std::string with_edge(std::string_view edge) {
  return text(R"({{"soma":"graph","version":1,"nodes":[],"edges":[{}]}})", edge);
}

std::string reprinted(std::string_view json) {
  const Result<Graph> graph = Graph::parse(json);
  if (!graph.ok()) return problems_of(graph);
  return graph->document();
}

constexpr std::string_view example = R"json(
{"soma":"graph","version":1,
 "nodes":[
  {"id":"load","kind":"function","op":"std.identity",
   "outputs":[{"name":"out","dtype":"f32","shape":["batch",128]}]},
  {"id":"score","kind":"function","op":"std.identity",
   "inputs":[{"name":"in","dtype":"f32","shape":["batch",128],"required":true}],
   "differentiable":true,"cacheable":true,"deterministic":true,"waits":false,"cost_us":12.5,
   "target":{"tag":"gpu"},"device":"cpu","state":"AAECAw==","config":{}},
  {"id":"gate","kind":"branch","op":"std.identity"},
  {"id":"refine","kind":"loop","max_iterations":4,"until":"body_terminal"},
  {"id":"ask","kind":"step","op":"std.exec","max_turns":24},
  {"id":"talk","kind":"program","model":"model.gguf","task":"generate","deployment":null,
   "config":{"max_tokens":64}}],
 "edges":[{"from":"load","to":"score"},
  {"from":"gate","to":"deploy","kind":"control","arm":"score > 0.8"},
  {"from":"gate","to":"retrain","kind":"control","arm":"else"}]})json";

}  // namespace

TEST_CASE("the manual's example is read key by key") {
  const Result<Graph> parsed = Graph::parse(example);
  REQUIRE(parsed.ok());
  const Graph& graph = *parsed;
  REQUIRE(graph.nodes.size() == 6);
  REQUIRE(graph.edges.size() == 3);

  const GraphNode& load = graph.nodes[0];
  CHECK(load.id == "load");
  CHECK(load.op == "std.identity");
  REQUIRE(load.outputs().size() == 1);
  CHECK(load.outputs()[0].dtype == Dtype::F32);
  REQUIRE(load.outputs()[0].shape.has_value());
  CHECK(load.outputs()[0].shape ==
        std::vector<Dimension>{{Dimension::Kind::Symbol, 0, "batch"},
                               {Dimension::Kind::Fixed, 128, ""}});

  const GraphNode& score = graph.nodes[1];
  CHECK(score.inputs()[0].name == "in");
  CHECK(score.differentiable);
  CHECK(score.cacheable);
  CHECK(score.deterministic);
  CHECK_FALSE(score.waits);
  CHECK(score.cost_us() == 12.5);
  CHECK(score.target() == Target{Target::Kind::Tag, "gpu"});
  CHECK(score.state() == std::vector<u8>{0, 1, 2, 3});
  CHECK(score.config().is_null());

  CHECK(graph.nodes[2].kind == NodeKind::Branch);
  CHECK(graph.nodes[3].kind == NodeKind::Loop);
  CHECK(graph.nodes[3].max_iterations() == 4);
  CHECK(graph.nodes[3].until() == StopRule{});
  CHECK(graph.nodes[4].kind == NodeKind::Step);
  CHECK(graph.nodes[4].max_turns() == 24);
  const GraphNode& talk = graph.nodes[5];
  CHECK(talk.kind == NodeKind::Program);
  CHECK(talk.model() == "model.gguf");
  CHECK(talk.task() == "generate");
  CHECK(talk.deployment().is_null());
  REQUIRE(talk.config().find("max_tokens") != nullptr);
  CHECK(talk.config().find("max_tokens")->integer() == 64);

  CHECK(graph.edges[0].kind == EdgeKind::Data);
  CHECK_FALSE(graph.edges[0].arm().has_value());
  CHECK(graph.edges[1].kind == EdgeKind::Control);
  CHECK(graph.edges[1].arm() == "score > 0.8");
  CHECK(graph.id_of(graph.edges[2].to) == "retrain");
}

TEST_CASE("the manual's example prints without its defaults, always the same bytes") {
  const std::string once = reprinted(example);
  CHECK(once ==
        R"({"soma":"graph","version":1,"nodes":[{"id":"load","op":"std.identity","outputs":)"
        R"([{"name":"out","dtype":"f32","shape":["batch",128]}]},{"id":"score","op":)"
        R"("std.identity","inputs":[{"name":"in","dtype":"f32","shape":["batch",128]}],)"
        R"("differentiable":true,"cacheable":true,"cost_us":12.5,"target":{"tag":"gpu"},)"
        R"("state":"AAECAw=="},{"id":"gate","kind":"branch","op":"std.identity"},)"
        R"({"id":"refine","kind":"loop","max_iterations":4},{"id":"ask","kind":"step",)"
        R"("op":"std.exec","max_turns":24},{"id":"talk","kind":"program","model":"model.gguf",)"
        R"("task":"generate","config":{"max_tokens":64}}],"edges":[{"from":"load","to":"score"},)"
        R"({"from":"gate","to":"deploy","kind":"control","arm":"score > 0.8"},{"from":"gate",)"
        R"("to":"retrain","kind":"control","arm":"else"}]})");
  CHECK(reprinted(once) == once);
}

TEST_CASE("a digest is that of the canonical document, whatever the document read was like") {
  const Graph graph = Graph::parse(example).value();
  const Graph again = Graph::parse(graph.document()).value();
  CHECK(graph.digest().size() == 64);
  CHECK(graph.digest() == again.digest());
  // Python: hashlib.blake2b(b'{"soma":"graph","version":1,"nodes":[]}', digest_size=32)
  CHECK(Graph().document() == R"({"soma":"graph","version":1,"nodes":[]})");
  CHECK(Graph().digest() == "d049ab14edc061d1c767f2e20695bee2131c0bafc2e4009b6a7fe490792dd8d3");
  CHECK(graph.digest() != Graph().digest());
}

// ---- Every key: what is printed again, and what is left out as its default

TEST_CASE("what has a meaning is printed as it was read") {
  for (const std::string_view node : {
           R"({"id":"a"})",
           R"({"id":"a","op":"f"})",
           R"({"id":"a","op":"f","op_version":2})",
           R"({"id":"a","op_version":4294967295})",
           R"({"id":"a","kind":"step"})",
           R"({"id":"a","kind":"step","max_turns":-1})",
           R"({"id":"a","kind":"branch"})",
           R"({"id":"a","kind":"loop","op":"kept"})",
           R"({"id":"a","kind":"loop","max_iterations":0,"until":"exhaust","carry_from":"b"})",
           R"({"id":"a","kind":"loop","max_iterations":9007199254740992})",
           R"({"id":"a","kind":"loop","until":{"when_signaled":"judge"},"carry_from":""})",
           R"({"id":"a","kind":"program","model":"m","task":"t","deployment":{"x":[1,2.5,null]}})",
           R"({"id":"a","kind":"program","deployment":"file.toml"})",
           R"({"id":"a","kind":"subgraph","graph":{"nodes":[]}})",
           R"({"id":"a","kind":"subgraph","graph":{"nodes":[{"id":"b"}],)"
           R"("edges":[{"from":"b","to":"b"}]}})",
           R"({"id":"a","inputs":[{"name":"x"},{"name":"","dtype":"text","required":false}]})",
           R"({"id":"a","outputs":[{"name":"x","dtype":"bf16","shape":[]}]})",
           R"({"id":"a","outputs":[{"name":"x","shape":[0,"n",null,9007199254740992]}]})",
           R"({"id":"a","differentiable":true,"cacheable":true,"deterministic":false,)"
           R"("waits":true})",
           R"({"id":"a","stream_mode":"stateless"})",
           R"({"id":"a","stream_mode":"stateful"})",
           R"({"id":"a","stream_mode":"barrier"})",
           R"({"id":"a","cost_us":0})",
           R"({"id":"a","cost_us":0.1})",
           R"({"id":"a","cost_us":1e-07})",
           R"({"id":"a","target":{"worker":"w1"},"device":"cuda:1"})",
           R"({"id":"a","target":{"tag":""},"device":""})",
           R"({"id":"a","state":"Zg=="})",
           R"({"id":"a","config":{"b":1,"a":[true,null,"\u0001é\"\\"],"":{}}})",
           R"({"id":"a","config":{"big":9007199254740992,"bigger":1e+16,"small":-5e-324}})",
           R"({"id":"","op":"/"})",
       }) {
    CAPTURE(node);
    CHECK(reprinted(with_node(node)) == with_node(node));
  }
  for (const std::string_view edge : {
           R"({"from":"a","to":"b"})",
           R"({"from":"a","to":"b","kind":"control"})",
           R"({"from":"a","to":"b","kind":"control","arm":"it == 1"})",
           R"({"from":"a","to":"b","kind":"control","label":""})",
           R"({"from":"a","to":"b","capture":true,"output":"o","input":"i"})",
       }) {
    CAPTURE(edge);
    CHECK(reprinted(with_edge(edge)) == with_edge(edge));
  }
}

TEST_CASE("what says its default is left out") {
  for (const std::string_view member : {
           R"("kind":"function")", R"("op":"")", R"("op_version":1)", R"("inputs":[])",
           R"("outputs":[])", R"("differentiable":false)", R"("cacheable":false)",
           R"("deterministic":true)", R"("waits":false)", R"("target":"local")",
           R"("device":"cpu")", R"("state":"")", R"("config":null)", R"("config":{})",
       }) {
    CAPTURE(member);
    CHECK(reprinted(with_node(text(R"({{{},"id":"a"}})", member))) == with_node(R"({"id":"a"})"));
  }
  CHECK(reprinted(with_node(R"({"id":"a","kind":"loop","until":"body_terminal"})")) ==
        with_node(R"({"id":"a","kind":"loop"})"));
  CHECK(reprinted(with_node(R"({"id":"a","kind":"program","model":"","deployment":null})")) ==
        with_node(R"({"id":"a","kind":"program"})"));
  CHECK(reprinted(with_node(
            R"({"id":"a","cost_us":-0.0,"inputs":[{"required":true,"name":"x","dtype":"any"}]})"))
        ==
        with_node(R"({"id":"a","inputs":[{"name":"x"}],"cost_us":0})"));
  CHECK(reprinted(with_edge(R"({"to":"b","output":"","input":"","kind":"data","capture":false,)"
                            R"("from":"a"})")) == with_edge(R"({"from":"a","to":"b"})"));
  // Beyond 2^53 only reals are read, and they stay such.
  const std::string real = reprinted(with_node(R"({"id":"a","config":{"x":9007199254740994.0}})"));
  CHECK(real.starts_with("{"));
  CHECK(reprinted(real) == real);
  CHECK(reprinted(R"({"edges":[],"nodes":[],"version":1.0,"soma":"graph"})") ==
        Graph().document());
}

TEST_CASE("a graph within a node has no header, or the document's own") {
  const std::string plain = with_node(R"({"id":"a","kind":"subgraph","graph":{"nodes":[]}})");
  CHECK(reprinted(with_node(R"({"id":"a","kind":"subgraph","graph":)"
                            R"({"soma":"graph","version":1,"nodes":[],"edges":[]}})")) == plain);
  CHECK(reprinted(with_node(R"({"id":"a","kind":"subgraph","graph":{"version":2,"nodes":[]}})"))
            .starts_with("document.version nodes[0].graph.version: the document is of version 2, "
                         "and this libsoma reads version 1"));
  Graph without;
  GraphNode& node = without.nodes.emplace_back();
  node.id = "a";
  node.kind = NodeKind::Subgraph;
  CHECK(without.document() == plain);
}

// ---- Refusals

namespace {

struct Refusal {
  std::string_view json;
  std::string_view reason;
  std::string_view place;
};

void refused(const std::string& document, const Refusal& refusal) {
  CAPTURE(document);
  const std::string expected = text("{} {}: ", refusal.reason, refusal.place);
  const std::string got = problems_of(Graph::parse(document));
  CAPTURE(got);
  CHECK(got.starts_with(expected));
  CHECK(got.find('\n') == got.size() - 1);  // and nothing else
  // The same in lenient reading, which passes over unknown keys and nothing more.
  const std::string lenient = problems_of(Graph::parse(document, Graph::Reading::Lenient));
  CHECK(lenient == (refusal.reason == "document.unknown_key" ? "" : got));
}

// Keys of nodes of any kind, with values of wrong types.
constexpr Refusal node_refusals[] = {
    {R"("id":1)", "document.type", "id"},
    {R"("id":null)", "document.type", "id"},
    {R"("op":["f"])", "document.type", "op"},
    {R"("op_version":"1")", "document.type", "op_version"},
    {R"("op_version":-1)", "document.type", "op_version"},
    {R"("op_version":1.5)", "document.type", "op_version"},
    {R"("op_version":4294967296)", "document.type", "op_version"},
    {R"("inputs":{})", "document.type", "inputs"},
    {R"("inputs":null)", "document.type", "inputs"},
    {R"("inputs":[1])", "document.type", "inputs[0]"},
    {R"("inputs":[{}])", "document.type", "inputs[0].name"},
    {R"("inputs":[{"name":"a"},{"name":2}])", "document.type", "inputs[1].name"},
    {R"("inputs":[{"name":"a","dtype":"f33"}])", "document.type", "inputs[0].dtype"},
    {R"("inputs":[{"name":"a","dtype":null}])", "document.type", "inputs[0].dtype"},
    {R"("inputs":[{"name":"a","required":"yes"}])", "document.type", "inputs[0].required"},
    {R"("inputs":[{"name":"a","shape":4}])", "document.type", "inputs[0].shape"},
    {R"("inputs":[{"name":"a","shape":[1,-1]}])", "document.type", "inputs[0].shape[1]"},
    {R"("inputs":[{"name":"a","shape":[1.5]}])", "document.type", "inputs[0].shape[0]"},
    {R"("inputs":[{"name":"a","shape":[""]}])", "document.type", "inputs[0].shape[0]"},
    {R"("inputs":[{"name":"a","shape":[true]}])", "document.type", "inputs[0].shape[0]"},
    {R"("inputs":[{"name":"a","type":"f32"}])", "document.unknown_key", "inputs[0].type"},
    {R"("outputs":"out")", "document.type", "outputs"},
    {R"("outputs":[{"name":"a","required":true}])", "document.type", "outputs[0].required"},
    {R"("differentiable":1)", "document.type", "differentiable"},
    {R"("cacheable":"true")", "document.type", "cacheable"},
    {R"("deterministic":null)", "document.type", "deterministic"},
    {R"("waits":[])", "document.type", "waits"},
    {R"("stream_mode":"none")", "stream.mode", "stream_mode"},
    {R"("stream_mode":"Stateful")", "stream.mode", "stream_mode"},
    {R"("stream_mode":0)", "document.type", "stream_mode"},
    {R"("cost_us":"12")", "document.type", "cost_us"},
    {R"("cost_us":-0.5)", "document.type", "cost_us"},
    {R"("cost_us":1e300)", "document.type", "cost_us"},
    {R"("target":"gpu")", "document.type", "target"},
    {R"("target":{})", "document.type", "target"},
    {R"("target":{"host":"x"})", "document.type", "target"},
    {R"("target":{"tag":1})", "document.type", "target.tag"},
    {R"("target":{"worker":null})", "document.type", "target.worker"},
    {R"("target":{"tag":"a","worker":"b"})", "document.type", "target"},
    {R"("target":{"tag":"a","port":1})", "document.unknown_key", "target.port"},
    {R"("device":0)", "document.type", "device"},
    {R"("state":[0,1])", "document.type", "state"},
    {R"("state":"Zg")", "document.type", "state"},
    {R"("state":"Zh==")", "document.type", "state"},
    {R"("config":[])", "document.type", "config"},
    {R"("config":"x")", "document.type", "config"},
    {R"("label":"x")", "document.unknown_key", "label"},
    {R"("":1)", "document.unknown_key", "['']"},
    {R"("a.b[0]\u001b":1)", "document.unknown_key", R"(['a.b[0]\x1b'])"},
};

// Whole nodes, for what depends on the kind.
constexpr Refusal kind_refusals[] = {
    {R"(1)", "document.type", ""},
    {R"(null)", "document.type", ""},
    {R"([])", "document.type", ""},
    {R"({})", "document.type", ".id"},
    {R"({"id":"a","kind":1})", "document.type", ".kind"},
    {R"({"id":"a","kind":"filter"})", "graph.unknown_kind", ".kind"},
    {R"({"id":"a","kind":"Loop","max_iterations":4,"graph":{"nodes":[]}})", "graph.unknown_kind",
     ".kind"},
    {R"({"id":"a","max_iterations":4})", "document.type", ".max_iterations"},
    {R"({"id":"a","until":"exhaust","kind":"step"})", "document.type", ".until"},
    {R"({"id":"a","carry_from":"b","kind":"branch"})", "document.type", ".carry_from"},
    {R"({"id":"a","kind":"loop","max_turns":4})", "document.type", ".max_turns"},
    {R"({"id":"a","model":"m"})", "document.type", ".model"},
    {R"({"id":"a","kind":"subgraph","task":"t","graph":{"nodes":[]}})", "document.type", ".task"},
    {R"({"id":"a","deployment":null})", "document.type", ".deployment"},
    {R"({"id":"a","kind":"program","graph":{"nodes":[]}})", "document.type", ".graph"},
    {R"({"id":"a","kind":"loop","max_iterations":"4"})", "document.type", ".max_iterations"},
    {R"({"id":"a","kind":"loop","max_iterations":0.5})", "document.type", ".max_iterations"},
    {R"({"id":"a","kind":"loop","max_iterations":null})", "document.type", ".max_iterations"},
    {R"({"id":"a","kind":"loop","until":"judge"})", "document.type", ".until"},
    {R"({"id":"a","kind":"loop","until":{}})", "document.type", ".until"},
    {R"({"id":"a","kind":"loop","until":{"when_signaled":4}})", "document.type",
     ".until.when_signaled"},
    {R"({"id":"a","kind":"loop","until":{"when_signaled":"j","x":0}})", "document.unknown_key",
     ".until.x"},
    {R"({"id":"a","kind":"loop","carry_from":false})", "document.type", ".carry_from"},
    {R"({"id":"a","kind":"step","max_turns":{}})", "document.type", ".max_turns"},
    {R"({"id":"a","kind":"program","model":4})", "document.type", ".model"},
    {R"({"id":"a","kind":"program","task":null})", "document.type", ".task"},
    {R"({"id":"a","kind":"subgraph"})", "document.type", ".graph"},
    {R"({"id":"a","kind":"subgraph","graph":null})", "document.type", ".graph"},
    {R"({"id":"a","kind":"subgraph","graph":{}})", "document.type", ".graph.nodes"},
    {R"({"id":"a","kind":"subgraph","graph":{"soma":"plan","nodes":[]}})", "document.type",
     ".graph.soma"},
    {R"({"id":"a","kind":"subgraph","graph":{"nodes":[{"id":"b"},{"id":"c","kind":"subgraph",)"
     R"("graph":{"nodes":[{"id":0}]}}]}})",
     "document.type", ".graph.nodes[1].graph.nodes[0].id"},
};

constexpr Refusal edge_refusals[] = {
    {R"("a->b")", "document.type", ""},
    {R"({"to":"b"})", "document.type", ".from"},
    {R"({"from":"a"})", "document.type", ".to"},
    {R"({"from":0,"to":"b"})", "document.type", ".from"},
    {R"({"from":"a","to":["b"]})", "document.type", ".to"},
    {R"({"from":"a","to":"b","kind":"order"})", "document.type", ".kind"},
    {R"({"from":"a","to":"b","kind":null})", "document.type", ".kind"},
    {R"({"from":"a","to":"b","arm":true})", "document.type", ".arm"},
    {R"({"from":"a","to":"b","label":true})", "document.type", ".label"},
    {R"({"from":"a","to":"b","arm":"x","label":"y"})", "document.type", ".label"},
    {R"({"from":"a","to":"b","capture":"true"})", "document.type", ".capture"},
    {R"({"from":"a","to":"b","output":1})", "document.type", ".output"},
    {R"({"from":"a","to":"b","input":null})", "document.type", ".input"},
    {R"({"from":"a","to":"b","weight":1})", "document.unknown_key", ".weight"},
};

constexpr Refusal document_refusals[] = {
    {R"(1)", "document.type", "document"},
    {R"([])", "document.type", "document"},
    {R"({"version":1,"nodes":[]})", "document.type", "soma"},
    {R"({"soma":"plan","version":1,"nodes":[]})", "document.type", "soma"},
    {R"({"soma":null,"version":1,"nodes":[]})", "document.type", "soma"},
    {R"({"soma":"graph","nodes":[]})", "document.type", "version"},
    {R"({"soma":"graph","version":"1","nodes":[]})", "document.type", "version"},
    {R"({"soma":"graph","version":1.5,"nodes":[]})", "document.type", "version"},
    {R"({"soma":"graph","version":2,"nodes":7,"x":1})", "document.version", "version"},
    {R"({"soma":"graph","version":0,"nodes":[]})", "document.version", "version"},
    {R"({"soma":"graph","version":1})", "document.type", "nodes"},
    {R"({"soma":"graph","version":1,"nodes":{}})", "document.type", "nodes"},
    {R"({"soma":"graph","version":1,"nodes":[],"edges":null})", "document.type", "edges"},
    {R"({"soma":"graph","version":1,"nodes":[],"edge":[]})", "document.unknown_key", "edge"},
};

}  // namespace

TEST_CASE("a key of a node is refused with its place when its value is of another type") {
  for (const Refusal& refusal : node_refusals) {
    const bool is_id = refusal.place == "id";
    const std::string node = text(R"({{{}{}}})", is_id ? "" : R"("id":"a",)", refusal.json);
    const std::string place =
        text("nodes[1]{}{}", refusal.place.starts_with("[") ? "" : ".", refusal.place);
    refused(with_node(R"({"id":"before"},)" + node), {node, refusal.reason, place});
  }
}

TEST_CASE("a key belongs to its kind of node") {
  for (const Refusal& refusal : kind_refusals) {
    refused(with_node(refusal.json),
            {refusal.json, refusal.reason, text("nodes[0]{}", refusal.place)});
  }
}

TEST_CASE("a key of an edge is refused with its place when its value is of another type") {
  for (const Refusal& refusal : edge_refusals) {
    refused(with_edge(refusal.json),
            {refusal.json, refusal.reason, text("edges[0]{}", refusal.place)});
  }
}

TEST_CASE("the header and the lists are refused with their place") {
  for (const Refusal& refusal : document_refusals) refused(std::string(refusal.json), refusal);
}

TEST_CASE("messages say what was expected, what is there and what now") {
  CHECK(problems_of(Graph::parse(with_node(R"({"id":"a","max_iterations":4})"))) ==
        "document.type nodes[0].max_iterations: only a node of kind loop has this key, and this "
        "one is of kind function\n");
  CHECK(problems_of(Graph::parse(with_node(R"({"id":"a","kind":"filter"})"))) ==
        "graph.unknown_kind nodes[0].kind: 'filter' is no kind of node; one of function, step, "
        "loop, branch, subgraph, program is expected\n");
  CHECK(problems_of(Graph::parse(with_edge(R"({"from":"a","to":"b","kind":"order"})"))) ==
        "document.type edges[0].kind: \"data\" or \"control\" is expected, 'order' is there\n");
  CHECK(problems_of(Graph::parse(R"({"soma":"graph","version":1,"node":[],"nodes":[]})")) ==
        "document.unknown_key node: a graph has no such key; it may have soma, version, nodes, "
        "edges\n");
  const Result<Graph> newer = Graph::parse(R"({"soma":"graph","version":12,"nodes":[]})");
  REQUIRE_FALSE(newer.ok());
  CHECK(newer.error().code() == Code::Incompatible);
  CHECK(newer.error().message().find("version 12") != std::string::npos);
  CHECK(newer.error().message().find("version 1:") != std::string::npos);
  REQUIRE(newer.error().details().size() == 1);
  CHECK(newer.error().details()[0].value == "version");
}

TEST_CASE("all problems of a document come at once, in its order") {
  CHECK(fixture::reasons_of(Graph::parse(R"json({"soma":"graph","version":1,"extra":0,
    "nodes":[{"id":1},{"kind":"filter"},{"id":"c","inputs":[{"name":"x","dtype":"f33"}]}],
    "edges":[{"from":"a"},7]})json")) ==
        "document.unknown_key extra\n"
        "document.type nodes[0].id\n"
        "graph.unknown_kind nodes[1].kind\n"
        "document.type nodes[1].id\n"
        "document.type nodes[2].inputs[0].dtype\n"
        "document.type edges[0].to\n"
        "document.type edges[1]\n");
}

TEST_CASE("what is no strict JSON, or has a key twice, is refused in both readings") {
  for (const Graph::Reading reading : {Graph::Reading::Strict, Graph::Reading::Lenient}) {
    CHECK(Graph::parse("", reading).error().reason() == Reason::document_syntax);
    CHECK(Graph::parse(R"({"soma":"graph","version":1,"nodes":[],})", reading).error().reason() ==
          Reason::document_syntax);
    CHECK(Graph::parse(R"({"soma":"graph","version":1,"nodes":[],"nodes":[]})", reading)
              .error()
              .reason() == Reason::document_duplicate_key);
    CHECK(Graph::parse(with_node(R"({"id":"a","id":"a"})"), reading).error().reason() ==
          Reason::document_duplicate_key);
  }
}

TEST_CASE("lenient reading passes over unknown keys and keeps the rest") {
  const std::string known = with_node(R"({"id":"a","op":"f"})");
  const Result<Graph> graph = Graph::parse(
      R"({"soma":"graph","later":[{}],"version":1,"nodes":[{"id":"a","new":{"id":2},"op":"f"}]})",
      Graph::Reading::Lenient);
  REQUIRE(graph.ok());
  CHECK(graph->document() == known);
}

// ---- Sizes

namespace {

std::string nested(size_t depth) {
  std::string out = R"({"soma":"graph","version":1,"nodes":[)";
  for (size_t i = 0; i < depth; ++i) out += R"({"id":"a","kind":"subgraph","graph":{"nodes":[)";
  for (size_t i = 0; i < depth; ++i) out += "]}}";
  return out + "]}";
}

std::string chain(size_t count) {
  std::string out = R"({"soma":"graph","version":1,"nodes":[)";
  for (size_t i = 0; i < count; ++i) out += text(R"({}{{"id":"n{}"}})", i ? "," : "", i);
  out += R"(],"edges":[)";
  for (size_t i = 1; i < count; ++i) {
    out += text(R"({}{{"from":"n{}","to":"n{}"}})", i > 1 ? "," : "", i - 1, i);
  }
  return out + "]}";
}

// Of the processor, not of the clock: others may be using the machine.
double seconds_to_reprint(const std::string& document) {
  const std::clock_t begin = std::clock();
  CHECK(reprinted(document) == document);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

}  // namespace

TEST_CASE("graphs nest as deep as JSON may, and no deeper") {
  CHECK(reprinted(nested(160)) == nested(160));
  CHECK(Graph::parse(nested(400)).error().reason() == Reason::document_limit);
  CHECK(Graph::parse(nested(400), Graph::Reading::Lenient).error().reason() ==
        Reason::document_limit);
}

TEST_CASE("a chain of 100,000 nodes is read and printed in linear time") {
  // Ten times the nodes may take ten times as long, and three times that once they don't fit a
  // cache; a quadratic step anywhere would make it a hundred.
  const double small = seconds_to_reprint(chain(10000));
  const double large = seconds_to_reprint(chain(100000));
  CAPTURE(small);
  CAPTURE(large);
  CHECK(large < 30 * small + 0.1);
}

TEST_CASE("a flood of problems is bounded") {
  std::string nodes = "0";
  for (int i = 0; i < 100000; ++i) nodes += ",0";
  const Result<Graph> graph = Graph::parse(with_node(nodes));
  REQUIRE_FALSE(graph.ok());
  CHECK(graph.error().others().size() <= 16);
}

TEST_CASE("a document with more nodes than the limit is refused before they are made") {
  std::string nodes = "0";
  nodes.reserve(2 * Graph::nodes_max + 2);
  for (size_t i = 0; i < Graph::nodes_max; ++i) nodes += ",0";
  CHECK(problems_of(Graph::parse(with_node(nodes))) ==
        text("document.limit nodes: a document has at most {} nodes; up to here there are {}\n",
             Graph::nodes_max, Graph::nodes_max + 1));
}

// ---- Parts of documents, for hosts that build graphs piece by piece

TEST_CASE("one node is read as it would be in a document") {
  const Result<GraphNode> node =
      Graph::parse_node(R"({"id":"refine","kind":"loop","max_iterations":4})");
  REQUIRE(node.ok());
  CHECK(node->id == "refine");
  CHECK(node->kind == NodeKind::Loop);
  CHECK(node->max_iterations() == 4);
  const Result<GraphNode> wrong = Graph::parse_node(R"({"id":7,"max_iterations":4,"x":1})");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().reason() == Reason::document_type);
  REQUIRE(wrong.error().others().size() == 2);
  CHECK(wrong.error().others()[1].reason() == Reason::document_unknown_key);
  CHECK(Graph::parse_node("{").error().reason() == Reason::document_syntax);
}

TEST_CASE("an edge's settings are read without its ends and its kind") {
  const Result<GraphEdge> edge =
      Graph::parse_edge_settings(R"({"arm":"it > 1","output":"x","input":"y"})");
  REQUIRE(edge.ok());
  CHECK(edge->arm() == "it > 1");
  CHECK(edge->output() == "x");
  CHECK(edge->input() == "y");
  CHECK_FALSE(edge->capture);
  const Result<GraphEdge> wrong =
      Graph::parse_edge_settings(R"({"from":"a","kind":"data","capture":1})");
  REQUIRE_FALSE(wrong.ok());
  CHECK(wrong.error().others().size() == 2);
}

TEST_CASE("how deep subgraphs nest") {
  CHECK(Graph::parse(nested(0))->depth() == 0);
  CHECK(Graph::parse(nested(7))->depth() == 7);
}

}  // namespace soma
