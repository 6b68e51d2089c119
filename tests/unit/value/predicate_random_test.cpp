// Proves on random conditions that predicates hold where an independent evaluator says so, and that
// their canonical form says the same.
#include <doctest/doctest.h>

#include <random>

#include "value/predicate.hpp"

namespace soma {

namespace {

using Random = std::mt19937_64;
size_t below(Random& random, size_t end) { return static_cast<size_t>(random() % end); }

enum class Outcome { False, True, Failed };

// Whole halves and texts of two letters: small worlds, where comparisons often hold.
struct Atom {
  enum Sort { Half, Text, Truth, Null, Missing } sort = Null;
  int halves = 0;
  std::string letters;

  bool ordered_with(const Atom& other) const {
    return sort == other.sort && (sort == Half || sort == Text);
  }
  bool operator==(const Atom& other) const {
    return sort == other.sort && halves == other.halves && letters == other.letters;
  }
  bool operator<(const Atom& other) const {
    return sort == Half ? halves < other.halves : letters < other.letters;
  }
};

Atom random_atom(Random& random) {
  static const std::string letters[] = {"", "a", "é", "😀", "\"\n"};
  const auto sort = static_cast<Atom::Sort>(below(random, 4));
  Atom out{sort, 0, ""};
  if (sort == Atom::Half) out.halves = static_cast<int>(below(random, 7)) - 3;
  if (sort == Atom::Text) out.letters = letters[below(random, 5)];
  if (sort == Atom::Truth) out.halves = static_cast<int>(below(random, 2));
  return out;
}

Value value_of_atom(const Atom& atom, Random& random) {
  switch (atom.sort) {
    case Atom::Half:
      if (atom.halves % 2 == 0 && below(random, 2) == 0) return Value::integer(atom.halves / 2);
      return Value::number(atom.halves / 2.0);
    case Atom::Text: return Value::text(atom.letters);
    case Atom::Truth: return Value::boolean(atom.halves == 1);
    default: return Value();
  }
}

std::string spelled(const Atom& atom, Random& random) {
  switch (atom.sort) {
    case Atom::Half: {
      const std::string fixed = text("{:.1f}", atom.halves / 2.0);
      if (below(random, 2) == 0) return fixed;
      return below(random, 2) == 0 ? text("{}e-1", atom.halves * 5) : fixed + "0E+0";
    }
    case Atom::Truth: return atom.halves == 1 ? "true" : "false";
    case Atom::Text: {
      std::string out = "\"";
      for (const char c : atom.letters) {
        out += c == '"' ? "\\\"" : c == '\n' ? "\\n" : std::string(1, c);
      }
      return out + "\"";
    }
    default: return "null";
  }
}

// A world of a few places, and the atoms that are there.
struct World {
  std::vector<Atom> atoms;  // one for each of `paths`
  Value value;
};
const std::vector<std::vector<std::string>> paths = {
    {"a", "it.a", "it [ \"a\" ]"},
    {"b_1", "it.b_1", "\tb_1\n"},
    {"m.x", "m[\"x\"]", "it.m . x"},
    {"m[\"y z\"]", "it[\"m\"] [\"y z\"]", "m [ \"y\\u0020z\" ]"},
    {"l[0]", "l[-2]", "it.l[ 0 ]"},
    {"l[1].k", "l[-1].k", "l[1][\"k\"]"},
    {"gone", "m.gone", "l[2]"},
};

World random_world(Random& random) {
  World out;
  for (size_t i = 0; i + 1 < paths.size(); ++i) out.atoms.push_back(random_atom(random));
  out.atoms.push_back({Atom::Missing, 0, ""});
  const auto at = [&](size_t i) { return value_of_atom(out.atoms[i], random); };
  out.value = Value::map({{"a", at(0)},
                          {"b_1", at(1)},
                          {"m", Value::map({{"x", at(2)}, {"y z", at(3)}})},
                          {"l", Value::list({at(4), Value::map({{"k", at(5)}})})}});
  return out;
}

// A condition as text, and what it says in a world.
struct Condition {
  std::string text;
  Outcome outcome;
  int level;  // 0: an or, 1: an and, 2: can stand under !
};

std::string blank(Random& random) { return below(random, 3) == 0 ? " " : ""; }

struct Side {
  std::string text;
  Atom atom;
  bool is_constant;
};

Side random_side(Random& random, const World& world) {
  const size_t kind = below(random, 6);
  if (kind == 0) {
    const Atom atom = random_atom(random);
    return {spelled(atom, random), atom, true};
  }
  const size_t place = below(random, paths.size() * 4 - 3) / 4;  // the missing one less often
  const std::string& path = paths[place][below(random, 3)];
  if (kind == 1) {
    const bool there = world.atoms[place].sort != Atom::Missing;
    return {"has" + blank(random) + "(" + path + ")", {Atom::Truth, there ? 1 : 0, ""}, false};
  }
  return {path, world.atoms[place], false};
}

Condition random_comparison(Random& random, const World& world) {
  const Side left = random_side(random, world);
  const bool may_be_alone = !left.is_constant || left.atom.sort == Atom::Truth;
  if (may_be_alone && below(random, 3) == 0) {
    const Outcome outcome = left.atom.sort != Atom::Truth ? Outcome::Failed
                            : left.atom.halves == 1       ? Outcome::True
                                                          : Outcome::False;
    return {left.text, outcome, 2};
  }
  static const std::string_view signs[] = {"==", "!=", "<", "<=", ">", ">="};
  const size_t sign = below(random, 6);
  const Side right = random_side(random, world);
  Condition out{left.text + blank(random) + std::string(signs[sign]) + blank(random) + right.text,
                Outcome::Failed, 2};
  const Atom& a = left.atom;
  const Atom& b = right.atom;
  if (a.sort == Atom::Missing || b.sort == Atom::Missing) return out;
  if (sign >= 2 && !a.ordered_with(b)) return out;
  const bool results[] = {a == b, !(a == b), a < b, !(b < a), b < a, !(a < b)};
  out.outcome = results[sign] ? Outcome::True : Outcome::False;
  return out;
}

Condition random_condition(Random& random, const World& world, int depth) {
  const size_t kind = depth == 0 ? 9 : below(random, 10);
  if (kind >= 7) return random_comparison(random, world);
  if (kind == 6) {
    const Condition inner = random_condition(random, world, depth - 1);
    return {"(" + blank(random) + inner.text + blank(random) + ")", inner.outcome, 2};
  }
  if (kind >= 4) {
    const Condition inner = random_condition(random, world, depth - 1);
    const Outcome outcome = inner.outcome == Outcome::Failed ? Outcome::Failed
                            : inner.outcome == Outcome::True ? Outcome::False
                                                             : Outcome::True;
    const bool bare = inner.level == 2;
    return {"!" + blank(random) + (bare ? inner.text : "(" + inner.text + ")"), outcome, 2};
  }
  const int level = kind % 2 == 0 ? 0 : 1;
  const Outcome decisive = level == 0 ? Outcome::True : Outcome::False;
  Condition out{"", Outcome::Failed, level};
  const size_t count = 2 + below(random, 3);
  for (size_t i = 0; i < count; ++i) {
    const Condition part = random_condition(random, world, depth - 1);
    const std::string sign = i == 0 ? "" : level == 0 ? "||" : "&&";
    out.text += sign + blank(random) + (part.level < level ? "(" + part.text + ")" : part.text) +
                blank(random);
    const bool is_decided = i > 0 && (out.outcome == decisive || out.outcome == Outcome::Failed);
    if (!is_decided) out.outcome = part.outcome;
  }
  return out;
}

}  // namespace

TEST_CASE("random conditions hold where an independent evaluator says so") {
  Random random(7);
  size_t counts[3] = {};
  for (int turn = 0; turn < 10000; ++turn) {
    const World world = random_world(random);
    const Condition condition = random_condition(random, world, 4);
    CAPTURE(condition.text);
    const Result<Predicate> predicate = Predicate::parse(condition.text);
    if (!predicate.ok()) FAIL(predicate.error().message());
    const std::string& printed = predicate->canonical();
    CAPTURE(printed);
    const Result<Predicate> again = Predicate::parse(printed);
    if (!again.ok()) FAIL(again.error().message());
    CHECK(again->canonical() == printed);
    for (const Predicate* tested : {&*predicate, &*again}) {
      const Result<bool> result = tested->test(world.value);
      const Outcome outcome = !result.ok() ? Outcome::Failed
                              : *result    ? Outcome::True
                                           : Outcome::False;
      CHECK(outcome == condition.outcome);
    }
    ++counts[static_cast<size_t>(condition.outcome)];
  }
  // The comparison means something only if all three happen often.
  for (const size_t count : counts) CHECK(count > 1000);
}

}  // namespace soma
