// Writing graphs as code: ids that nobody gave, and the two ways of putting graphs together.
//
// Problem of `then`: a graph's sinks and sources are those of its outermost level. What lies in the
// body of a loop, in an arm or behind a hand-off belongs to its construct, which stands for it:
// only the construct can be a sink, and an edge that leaves such a region leaves the construct.
// Idea: in topological order, a node's region follows from the nodes before it. A control edge that
// enters a construct opens a region within the region of the construct's node: one for a whole
// body, one for each arm and each hand-off. Any other edge carries its source's region on. Where
// several come together, the node is in the innermost region that holds them all: so a join of two
// arms is outside of both, and a join inside a body is part of it. Captures are not asked, since
// they cross regions by design. Once each node's outermost construct is known, sinks are those that
// no edge leaves for another, and sources those that none reaches from another.
// Why right: that is the rule of dominance by which the compiler finds regions, on graphs that it
// takes. On a graph with a cycle, the nodes of the cycle and behind it count as outermost; the
// compiler's first pass names the cycle, whatever was built from it.
// Cost: linear, times the depth of nesting where edges of different depths meet.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/problems.hpp"
#include "base/text.hpp"
#include "graph/graph.hpp"

namespace soma {

namespace {

// ---- Ids

bool is_upper(char letter) { return letter >= 'A' && letter <= 'Z'; }
bool is_lower(char letter) { return letter >= 'a' && letter <= 'z'; }
bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }
// Letters beyond ASCII stay as they are.
bool is_word(char letter) {
  const bool is_ascii = static_cast<u8>(letter) < 0x80;
  return is_upper(letter) || is_lower(letter) || is_digit(letter) || !is_ascii;
}

// "LoadCSVFile" and "load csv-file" are both load_csv_file.
std::string snake_case(std::string_view name) {
  std::string out;
  bool parted = false;            // a separator came since the last letter
  for (size_t i = 0; i < name.size(); ++i) {
    const char letter = name[i];
    if (!is_word(letter)) {
      parted = true;
      continue;
    }
    const char before = i > 0 ? name[i - 1] : ' ';
    const char after = i + 1 < name.size() ? name[i + 1] : ' ';
    const bool starts_word =
        is_upper(letter) && (is_lower(before) || is_digit(before) ||
                             (is_upper(before) && is_lower(after)));
    if (!out.empty() && (parted || starts_word)) out += '_';
    out += is_upper(letter) ? static_cast<char>(letter - 'A' + 'a') : letter;
    parted = false;
  }
  return out;
}

// The 7 of "_7", if it is written as automatic_id would.
std::optional<u64> number_in(std::string_view suffix) {
  if (suffix.size() < 2 || suffix.size() > 19 || suffix[0] != '_' || suffix[1] == '0') {
    return std::nullopt;
  }
  u64 number = 0;
  for (const char digit : suffix.substr(1)) {
    if (!is_digit(digit)) return std::nullopt;
    number = number * 10 + static_cast<u64>(digit - '0');
  }
  return number;
}

// ---- Sinks and sources

// Ends and entries of a graph's outermost level, as indices of nodes, in their order.
class Level {
 public:
  explicit Level(const Graph& graph) : graph_(graph) {
    link();
    find_regions();
    find_ends();
  }

  const std::vector<u32>& sinks() const { return sinks_; }
  const std::vector<u32>& sources() const { return sources_; }

 private:
  static constexpr u32 nothing = ~u32{0};
  static constexpr u32 outside = 0;

  struct Region {
    u32 outer;                    // the region around it
    u32 depth;
    u32 construct;                // the outermost construct that it is in
  };
  struct Link {
    u32 from = nothing, to = nothing;
  };

  // Edges whose ends are not there are no edges of this level; so are those of a node to itself.
  void link() {
    std::unordered_map<std::string_view, u32> index;
    index.reserve(graph_.nodes.size());
    for (u32 i = 0; i < graph_.nodes.size(); ++i) index.emplace(graph_.nodes[i].id, i);
    first_.assign(graph_.nodes.size() + 1, 0);
    links_.reserve(graph_.edges.size());
    for (const GraphEdge& edge : graph_.edges) {
      const auto from = index.find(edge.from), to = index.find(edge.to);
      const bool links = from != index.end() && to != index.end() && from != to;
      links_.push_back(links ? Link{from->second, to->second} : Link{});
      if (links) ++first_[from->second + 1];
    }
    for (size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    leaving_.resize(first_.back());
    std::vector<u32> at(first_.begin(), first_.end() - 1);
    for (u32 i = 0; i < links_.size(); ++i) {
      if (links_[i].from != nothing) leaving_[at[links_[i].from]++] = i;
    }
  }

  void find_regions() {
    regions_.push_back({outside, 0, nothing});
    region_of_.assign(graph_.nodes.size(), nothing);
    std::vector<u32> waits_for(graph_.nodes.size(), 0);
    for (const Link& link : links_) {
      if (link.to != nothing) ++waits_for[link.to];
    }
    std::vector<u32> ready;
    for (u32 i = 0; i < graph_.nodes.size(); ++i) {
      if (waits_for[i] == 0) ready.push_back(i);
    }
    while (!ready.empty()) {
      const u32 node = ready.back();
      ready.pop_back();
      if (region_of_[node] == nothing) region_of_[node] = outside;
      u32 body = nothing;         // a loop's entries share one region
      for (u32 i = first_[node]; i < first_[node + 1]; ++i) {
        const GraphEdge& edge = graph_.edges[leaving_[i]];
        const u32 to = links_[leaving_[i]].to;
        if (!edge.capture) meet(region_of_[to], region_behind(node, edge, body));
        if (--waits_for[to] == 0) ready.push_back(to);
      }
    }
    for (u32 i = 0; i < graph_.nodes.size(); ++i) {
      if (waits_for[i] != 0) region_of_[i] = outside;  // on a cycle or behind one
    }
  }

  u32 region_behind(u32 node, const GraphEdge& edge, u32& body) {
    if (!enters_construct(graph_.nodes[node], edge)) return region_of_[node];
    const bool is_loop = graph_.nodes[node].kind == NodeKind::Loop;
    if (is_loop && body != nothing) return body;
    const u32 outer = region_of_[node];
    const u32 construct = outer == outside ? node : regions_[outer].construct;
    regions_.push_back({outer, regions_[outer].depth + 1, construct});
    const u32 opened = static_cast<u32>(regions_.size() - 1);
    if (is_loop) body = opened;
    return opened;
  }

  static bool enters_construct(const GraphNode& node, const GraphEdge& edge) {
    if (edge.kind != EdgeKind::Control) return false;
    return node.kind == NodeKind::Loop || node.kind == NodeKind::Step ||
           node.kind == NodeKind::Branch || edge.arm || edge.label;
  }

  // `region` becomes the innermost one that holds both.
  void meet(u32& region, u32 other) const {
    if (region == nothing) region = other;
    while (region != other) {
      u32& deeper = regions_[region].depth < regions_[other].depth ? other : region;
      deeper = regions_[deeper].outer;
    }
  }

  void find_ends() {
    const auto outermost = [this](u32 node) {
      const u32 region = region_of_[node];
      return region == outside ? node : regions_[region].construct;
    };
    std::vector<bool> leads_on(graph_.nodes.size()), is_led_to(graph_.nodes.size());
    for (const Link& link : links_) {
      if (link.from == nothing || outermost(link.from) == outermost(link.to)) continue;
      leads_on[outermost(link.from)] = true;
      is_led_to[outermost(link.to)] = true;
    }
    for (u32 i = 0; i < graph_.nodes.size(); ++i) {
      if (region_of_[i] != outside) continue;
      if (!leads_on[i]) sinks_.push_back(i);
      if (!is_led_to[i]) sources_.push_back(i);
    }
  }

  const Graph& graph_;
  std::vector<Link> links_;       // by edge
  std::vector<u32> first_, leaving_;  // edges by the node that they leave, in their order
  std::vector<Region> regions_;
  std::vector<u32> region_of_;    // by node
  std::vector<u32> sinks_, sources_;
};

// ---- Putting together

Status check_ids(const Graph& first, const Graph& second) {
  std::unordered_set<std::string_view> ids;
  ids.reserve(first.nodes.size());
  for (const GraphNode& node : first.nodes) ids.insert(node.id);
  Problems problems;
  for (const GraphNode& node : second.nodes) {
    if (ids.erase(node.id) == 0) continue;
    problems.add(fail(Reason::graph_duplicate_id,
                      "node {}: both graphs have a node of that id; give one of them another",
                      quoted(node.id))
                     .with("node", node.id));
  }
  return std::move(problems).status();
}

template <typename T>
void append(std::vector<T>& all, std::vector<T>& more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()),
             std::make_move_iterator(more.end()));
}

}  // namespace

std::string automatic_id(const Graph& graph, std::string_view name) {
  std::string base = snake_case(name);
  if (base.empty()) base = "node";
  // A suffix beyond the number of nodes can't be in the way of the first free one.
  std::vector<bool> taken(graph.nodes.size() + 2);
  bool is_taken = false;
  for (const GraphNode& node : graph.nodes) {
    if (!node.id.starts_with(base)) continue;
    const std::string_view suffix = std::string_view(node.id).substr(base.size());
    is_taken = is_taken || suffix.empty();
    const std::optional<u64> number = number_in(suffix);
    if (number && *number < taken.size()) taken[*number] = true;
  }
  if (!is_taken) return base;
  size_t number = 2;
  while (number < taken.size() && taken[number]) ++number;
  return text("{}_{}", base, number);
}

// The edges between stand between those of the two, so that it does not matter how a chain of
// three is bracketed.
Result<Graph> then(Graph first, Graph second) {
  SOMA_TRY(check_ids(first, second));
  const Level before(first), after(second);
  const size_t ties = before.sinks().size() * after.sources().size();
  if (ties > Graph::edges_max) {
    return fail(Reason::document_limit,
                "{} ends before {} beginnings make {} edges, and {} are allowed: put a node that "
                "joins between them",
                before.sinks().size(), after.sources().size(), ties, Graph::edges_max);
  }
  std::vector<GraphEdge> between;
  between.reserve(ties);
  for (const u32 sink : before.sinks()) {
    for (const u32 source : after.sources()) {
      GraphEdge& edge = between.emplace_back();
      edge.from = first.nodes[sink].id;
      edge.to = second.nodes[source].id;
    }
  }
  append(first.edges, between);
  append(first.nodes, second.nodes);
  append(first.edges, second.edges);
  return first;
}

Result<Graph> beside(Graph first, Graph second) {
  SOMA_TRY(check_ids(first, second));
  append(first.nodes, second.nodes);
  append(first.edges, second.edges);
  return first;
}

}  // namespace soma
