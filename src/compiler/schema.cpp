// Checks that what flows along each edge is what its reader declares.
//
// Problem: a matrix of the wrong width is found in the middle of a run, by the code that reads it,
// if at all. Idea: an edge between two declared ports makes two demands. Their dtypes have to fit:
// the same, or `any` on one side; a wider number is a warning, since nothing is converted and the
// reader must take it. Their shapes have to agree dimension by dimension, where an unknown one
// agrees with all. A symbol stands for one size in the whole graph, whatever ports name it: symbols
// that meet become one class (union-find), and a size that meets a symbol is its class's. A second,
// different size is the error, which names both edges that gave them.
// The leaf of a subgraph is held to what the subgraph declares that it yields.
// What is not checked: values that no edge carries (a run's input, what a construct hands to its
// body, arms and hand-offs), and a loop's carry, as a body may well start from another shape than
// it goes on with. Nor is a side that declares nothing, or an edge that check_ports has refused.
// Why it ends: joined classes are one fewer, and each edge is looked at once.
// Must come after nothing: edges alone are looked at. Cost: linear in edges and dimensions, of
// which a port has a limited number.
#include <algorithm>
#include <unordered_map>

#include "base/text.hpp"
#include "compiler/passes.hpp"
#include "compiler/ports.hpp"

namespace soma {

namespace {

// A name as it is, if it is a plain one; nothing in it may pass for a part of the message.
std::string shown_name(const std::string& name) {
  const bool is_plain = name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char letter) {
    const char lower = static_cast<char>(letter | 0x20);
    return (lower >= 'a' && lower <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
  });
  return is_plain ? name : quoted(name);
}

std::string shown(const Port& port) {
  std::string out(dtype_name(port.dtype));
  if (!port.shape) return out;
  out += '[';
  constexpr size_t shown_max = 8;
  for (size_t i = 0; i < port.shape->size(); ++i) {
    if (i > 0) out += ", ";
    if (i == shown_max) return out + text("… {} dimensions]", port.shape->size());
    const Dimension& dimension = (*port.shape)[i];
    switch (dimension.kind) {
      case Dimension::Kind::Fixed: out += text("{}", dimension.size); break;
      case Dimension::Kind::Symbol: out += shown_name(dimension.symbol); break;
      case Dimension::Kind::Unknown: out += '?'; break;
    }
  }
  return out + ']';
}

class Checker {
 public:
  Checker(const Draft& draft, Diagnostics& diagnostics)
      : draft_(draft), diagnostics_(diagnostics) {}

  void check() && {
    for (const DraftEdge& edge : draft_.edges) {
      if (!carries_value(edge)) continue;
      const Port* from = output_port(draft_, edge);
      const Port* to = input_port(draft_, edge);
      if (from && to) check_edge(edge, *from, *to);
    }
  }

 private:
  std::string arrow(const DraftEdge& edge) const {
    return quoted(draft_.nodes[edge.from].id()) + " -> " + quoted(draft_.nodes[edge.to].id());
  }
  Diagnostic& mark(Diagnostic& problem, const DraftEdge& edge) const {
    const std::string_view from = draft_.nodes[edge.from].id(), to = draft_.nodes[edge.to].id();
    for (const std::string_view id : {from, to}) {
      if (std::find(problem.nodes.begin(), problem.nodes.end(), id) == problem.nodes.end()) {
        problem.node(id);
      }
    }
    return problem.edge(from, to);
  }
  Diagnostic& complain(Reason reason, const DraftEdge& edge, std::string message) {
    return mark(diagnostics_.error(reason, std::move(message)), edge);
  }

  std::string both(const DraftEdge& edge, const Port& from, const Port& to) const {
    return text("{} yields {}, and {} {} {}", quoted(draft_.nodes[edge.from].id()), shown(from),
                quoted(draft_.nodes[edge.to].id()), edge.edge ? "takes" : "declares to yield",
                shown(to));
  }

  void check_edge(const DraftEdge& edge, const Port& from, const Port& to) {
    switch (fit(from.dtype, to.dtype)) {
      case Fit::Same: break;
      case Fit::Widening:
        mark(diagnostics_.warning(Reason::schema_widening, both(edge, from, to)), edge)
            .advise("nothing is converted: the reader gets what the other yields");
        break;
      case Fit::None:
        complain(Reason::schema_dtype, edge, both(edge, from, to))
            .advise("put a node that converts between them");
        break;
    }
    if (!from.shape || !to.shape) return;
    if (std::max(from.shape->size(), to.shape->size()) > rank_max) return;  // refused elsewhere
    check_shapes(edge, from, to);
  }

  void check_shapes(const DraftEdge& edge, const Port& from, const Port& to) {
    bool agree = from.shape->size() == to.shape->size();
    for (size_t i = 0; agree && i < from.shape->size(); ++i) {
      const Dimension &a = (*from.shape)[i], &b = (*to.shape)[i];
      agree = !(a.kind == Dimension::Kind::Fixed && b.kind == Dimension::Kind::Fixed &&
                a.size != b.size);
    }
    if (!agree) {
      complain(Reason::schema_shape, edge, both(edge, from, to));
      return;
    }
    for (size_t i = 0; i < from.shape->size(); ++i) {
      unify(edge, (*from.shape)[i], (*to.shape)[i]);
    }
  }

  // ---- Symbols

  struct Symbol {
    u32 stands_for;               // another of its class, or itself
    std::optional<u64> size;      // of a class
    const DraftEdge* given = nullptr;  // where it got that size
    std::string_view name;
  };

  void unify(const DraftEdge& edge, const Dimension& a, const Dimension& b) {
    const bool is_a = a.kind == Dimension::Kind::Symbol, is_b = b.kind == Dimension::Kind::Symbol;
    if (is_a && is_b) {
      u32 keeps = find(a.symbol), goes = find(b.symbol);
      if (keeps == goes) return;
      if (!symbols_[keeps].size) std::swap(keeps, goes);
      const Symbol gone = symbols_[goes];
      symbols_[goes].stands_for = keeps;
      if (gone.size) give(keeps, *gone.size, *gone.given, gone.name, edge);
    } else if (is_a && b.kind == Dimension::Kind::Fixed) {
      give(find(a.symbol), b.size, edge, a.symbol, edge);
    } else if (is_b && a.kind == Dimension::Kind::Fixed) {
      give(find(b.symbol), a.size, edge, b.symbol, edge);
    }
  }

  // The class gets a size, by `edge`; if it has another one, `met` is where that shows.
  void give(u32 symbol, u64 size, const DraftEdge& edge, std::string_view name,
            const DraftEdge& met) {
    Symbol& known = symbols_[symbol];
    if (!known.size) {
      known.size = size;
      known.given = &edge;
      return;
    }
    if (*known.size == size) return;
    const bool is_joined = &met != &edge;
    Diagnostic& problem = complain(
        Reason::schema_symbol, met,
        text("the size {} is {} by the edge {}, and {} by {}{}", quoted(name), *known.size,
             arrow(*known.given), size, arrow(edge),
             is_joined ? text("; {} makes them one", arrow(met)) : ""));
    mark(problem, *known.given).advise("a symbol is one size in the whole graph: name another");
    if (is_joined) mark(problem, edge);
  }

  u32 find(const std::string& name) {
    const auto [at, is_new] = index_.emplace(name, static_cast<u32>(symbols_.size()));
    if (is_new) symbols_.push_back({at->second, {}, nullptr, name});
    u32 top = at->second;
    while (symbols_[top].stands_for != top) top = symbols_[top].stands_for;
    for (u32 one = at->second; one != top;) {
      one = std::exchange(symbols_[one].stands_for, top);
    }
    return top;
  }

  const Draft& draft_;
  Diagnostics& diagnostics_;
  std::vector<Symbol> symbols_;
  std::unordered_map<std::string_view, u32> index_;
};

}  // namespace

void check_schema(const Draft& draft, Diagnostics& diagnostics) {
  if (!draft.traits.has_settings) return;  // no port is declared
  Checker(draft, diagnostics).check();
}

}  // namespace soma
