// Writing graphs as code: ids that nobody gave, and the two ways of putting graphs together.
//
// Problem of `then`: what are a graph's ends and beginnings, if what lies in the body of a loop, in
// an arm or behind a hand-off belongs to its construct? Its beginnings are those of its outermost
// level: a construct stands for all that it owns, so what comes before it comes before its node.
// Its ends are what would be its leaves: a loop stands for its body, whose values the loop yields,
// but a branch runs one arm of several, so the ends of its arms count one by one, and whoever comes
// after reads from those that ran. The same holds for hand-offs.
// Idea: regions.cpp says in which regions a node lies, and which nodes are leaves. Once each node's
// outermost construct is known, beginnings are those that no edge reaches from another. Why right:
// that is the rule by which the compiler finds regions and leaves, on graphs that it takes. On a
// graph with a cycle, the nodes of the cycle and behind it count as outermost; the compiler's first
// pass names the cycle, whatever was built from it. Cost: that of the regions.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/problems.hpp"
#include "base/text.hpp"
#include "graph/graph.hpp"
#include "graph/regions.hpp"

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

// As indices of nodes, in their order.
struct Level {
  std::vector<u32> sinks, sources;
};

Level level_of(const Graph& graph) {
  const std::vector<RegionLink> links = region_links(graph);
  const Regions regions = find_regions(graph.nodes.size(), links);
  // By region: the node of the outermost level that stands for it.
  std::vector<u32> stands_for(regions.regions.size(), Regions::nobody);
  for (size_t i = 1; i < regions.regions.size(); ++i) {
    const Regions::Region& region = regions.regions[i];
    stands_for[i] = region.outer == Regions::outermost ? region.construct
                                                       : stands_for[region.outer];
  }
  const auto outermost = [&](u32 node) {
    return regions.of[node] == Regions::outermost ? node : stands_for[regions.of[node]];
  };
  std::vector<bool> is_led_to(graph.nodes.size());
  for (const RegionLink& link : links) {
    if (link.from == RegionLink::nowhere || outermost(link.from) == outermost(link.to)) continue;
    is_led_to[outermost(link.to)] = true;
  }
  Level level;
  level.sinks = find_leaves(regions, links);
  for (u32 i = 0; i < graph.nodes.size(); ++i) {
    if (regions.of[i] == Regions::outermost && !is_led_to[i]) level.sources.push_back(i);
  }
  return level;
}

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

void append(Graph& all, Graph& more) {
  const u32 nodes = static_cast<u32>(all.nodes.size());
  const u32 strangers = static_cast<u32>(all.strangers.size());
  for (GraphEdge& edge : more.edges) {
    for (u32* end : {&edge.from, &edge.to}) {
      if (*end != GraphEdge::nowhere) *end += *end < Graph::first_stranger ? nodes : strangers;
    }
  }
  append(all.nodes, more.nodes);
  append(all.edges, more.edges);
  append(all.strangers, more.strangers);
}

}  // namespace

std::string automatic_id(const Graph& graph, std::string_view name) {
  std::string base = snake_case(name);
  if (base.empty()) base = "node";
  // A suffix beyond the number of nodes can't be in the way of the first free one.
  std::vector<bool> taken(graph.nodes.size() + 2);
  bool is_taken = false;
  for (const GraphNode& node : graph.nodes) {
    const std::string_view id = node.id;
    if (!id.starts_with(base)) continue;
    const std::string_view suffix = id.substr(base.size());
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
  const Level before = level_of(first), after = level_of(second);
  const size_t ties = before.sinks.size() * after.sources.size();
  if (ties > Graph::edges_max) {
    return fail(Reason::document_limit,
                "{} ends before {} beginnings make {} edges, and {} are allowed: put a node that "
                "joins between them",
                before.sinks.size(), after.sources.size(), ties, Graph::edges_max);
  }
  std::vector<GraphEdge> between;
  between.reserve(ties);
  for (const u32 sink : before.sinks) {
    for (const u32 source : after.sources) {
      GraphEdge& edge = between.emplace_back();
      edge.from = sink;
      edge.to = static_cast<u32>(first.nodes.size()) + source;
    }
  }
  append(first.edges, between);
  append(first, second);
  return first;
}

Result<Graph> beside(Graph first, Graph second) {
  SOMA_TRY(check_ids(first, second));
  append(first, second);
  return first;
}

}  // namespace soma
