// Keeps gradients until somebody asks for their sum, and adds them.
//
// Problem. A value with many readers has many gradients. A reader of one member of a value knows
// nothing of the others; if it made a map of that one, and each of a thousand such maps were added
// to the next, the work would grow with the square of the members.
//
// Idea. What comes for a value is only put into a list. Its sum is made once, when the walk back
// comes to whoever yielded the value, and so after all of its readers. Gradients of whole values
// are added one after the other; those of members are sorted by member, each is added to others of
// its own, and all of them become one map.
//
// Sums of lists and maps keep a stack of their own, as values nest as deep as their makers like.
//
// Cost. Linear in the sizes of what is added, and a sort of the members where readers name them.
#include "run/gradients.hpp"

#include <map>

#include "base/text.hpp"
#include "run/member_finder.hpp"
#include "run/numbers.hpp"
#include "value/describe.hpp"

namespace soma {

// ---- Sums

// Two lists or two maps that are being added.
struct GradientSum::Level {
  Level(const Value& the_a, const Value& the_b)
      : a(the_a), b(the_b), is_map(a.is(ValueKind::Map)),
        of_b(is_map ? b.map() : std::span<const Member>()) {
    if (is_map) is_taken.resize(b.map().size());
  }

  struct Parts {
    const Value *a, *b;
  };
  // The next two that belong together; nothing: there are no more.
  std::optional<Parts> next() {
    if (!is_map) {
      if (at == a.list().size()) return std::nullopt;
      ++at;
      return Parts{&a.list()[at - 1], &b.list()[at - 1]};
    }
    if (at < a.map().size()) {
      const Member& member = a.map()[at++];
      const size_t same = of_b.find(member.key);
      if (same == MemberFinder::nowhere) return Parts{&member.value, &null};
      is_taken[same] = true;
      return Parts{&member.value, &b.map()[same].value};
    }
    while (at < a.map().size() + b.map().size()) {
      const size_t in_b = at++ - a.map().size();
      if (!is_taken[in_b]) return Parts{&null, &b.map()[in_b].value};
    }
    return std::nullopt;
  }
  // The sum of what was next.
  void put(Value sum) {
    if (!is_map) {
      list.push_back(std::move(sum));
      return;
    }
    const size_t last = at - 1, of_a = a.map().size();
    map.push_back({last < of_a ? a.map()[last].key : b.map()[last - of_a].key, std::move(sum)});
  }
  Value whole() { return is_map ? Value::map(std::move(map)) : Value::list(std::move(list)); }

  const Value &a, &b;
  const bool is_map;
  const Value null;
  size_t at = 0;                    // in the list; in a's members, then in b's
  MemberFinder of_b;
  std::vector<bool> is_taken;       // members of b that a has too
  std::vector<Value> list;
  std::vector<Member> map;
};

namespace {

Error no_sum(std::string_view why, const Value& a, const Value& b) {
  return fail(Reason::run_gradient, "{} and {} can't be added: {}", describe(a), describe(b), why);
}

bool has_parts(const Value& a, const Value& b) {
  return (a.is(ValueKind::List) && b.is(ValueKind::List)) ||
         (a.is(ValueKind::Map) && b.is(ValueKind::Map));
}

}  // namespace

Result<Value> GradientSum::of(const Value& a, const Value& b, u32 node) {
  node_ = node;
  Result<Value> sum = has_parts(a, b) ? of_parts(a, b) : of_whole(a, b);
  if (sum.ok()) return sum;
  if (node == no_node) return std::move(sum).error().context("gradients of the run's input");
  return run_.at(node, std::move(sum).error().context("gradients at node " +
                                                      quoted(run_.path(node))));
}

Result<Value> GradientSum::of_parts(const Value& a, const Value& b) {
  std::vector<std::unique_ptr<Level>> open;
  const auto begin = [&open](const Value& one, const Value& other) -> Status {
    if (one.is(ValueKind::List) && one.list().size() != other.list().size()) {
      return no_sum("the lists differ in length", one, other);
    }
    open.push_back(std::make_unique<Level>(one, other));
    return {};
  };
  SOMA_TRY(begin(a, b));
  while (true) {
    const std::optional<Level::Parts> parts = open.back()->next();
    if (!parts) {
      Value whole = open.back()->whole();
      open.pop_back();
      if (open.empty()) return whole;
      open.back()->put(std::move(whole));
    } else if (has_parts(*parts->a, *parts->b)) {
      SOMA_TRY(begin(*parts->a, *parts->b));
    } else {
      SOMA_ASSIGN(Value sum, of_whole(*parts->a, *parts->b));
      open.back()->put(std::move(sum));
    }
  }
}

Result<Value> GradientSum::of_whole(const Value& a, const Value& b) {
  if (a.is_null()) return b;
  if (b.is_null()) return a;
  if (is_number(a) && is_number(b)) return sum_of(a, b);
  return by_host(a, b);
}

Result<Value> GradientSum::by_host(const Value& a, const Value& b) {
  const GradientAdder& adder = run_.binding->gradient_adder();
  if (!adder.add) {
    return no_sum("numbers, lists and maps can; of anything else the host has to say how", a, b);
  }
  const Value both = Value::list({a, b}), none;
  GradientCall call(run_, node_, both, none, none);
  try {
    SOMA_TRY(adder.add(adder.user, call));
  } catch (...) {
    if (node_ != no_node) return run_.exception(node_);
    return fail(Reason::run_exception, "the code that adds gradients ended with an exception");
  }
  return std::move(call.output());
}

// ---- Places

void Gradients::add(size_t place, Value gradient, std::string_view member) {
  if (gradient.is_null()) return;
  u32 at = spare_;
  if (at == none) {
    at = static_cast<u32>(parts_.size());
    parts_.emplace_back();
  } else {
    spare_ = parts_[at].next;
  }
  parts_[at] = {std::move(gradient), member, std::exchange(first_[place], at)};
}

Value Gradients::remove_first(size_t place) {
  Part& part = parts_[first_[place]];
  const u32 next = std::exchange(part.next, spare_);
  spare_ = std::exchange(first_[place], next);
  return std::move(part.gradient);
}

void Gradients::drop(size_t place) {
  while (has(place)) remove_first(place);
}

Result<Value> Gradients::take(size_t place, u32 node) {
  Value sum;
  bool has_members = false;
  for (u32 at = first_[place]; at != none; at = parts_[at].next) {
    has_members = has_members || !parts_[at].member.empty();
  }
  if (has_members) {
    SOMA_ASSIGN(sum, take_members(place, node));
  }
  while (has(place)) {
    const Value gradient = remove_first(place);
    SOMA_ASSIGN(sum, sum_.of(sum, gradient, node));
  }
  return sum;
}

// Leaves those of the whole value.
Result<Value> Gradients::take_members(size_t place, u32 node) {
  std::vector<Value> wholes;
  std::map<std::string, Value> sums;
  while (has(place)) {
    std::string member(parts_[first_[place]].member);
    if (member.empty()) {
      wholes.push_back(remove_first(place));
      continue;
    }
    Value& sum = sums[std::move(member)];
    const Value gradient = remove_first(place);
    SOMA_ASSIGN(sum, sum_.of(sum, gradient, node));
  }
  while (!wholes.empty()) {
    add(place, std::move(wholes.back()));
    wholes.pop_back();
  }
  std::vector<Member> members;
  members.reserve(sums.size());
  for (auto& [key, sum] : sums) members.push_back({key, std::move(sum)});
  return Value::map(std::move(members));
}

}  // namespace soma
