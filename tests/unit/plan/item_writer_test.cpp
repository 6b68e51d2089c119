// Proves that what ItemWriter writes is canonical and says the same as what it was told.
#include <doctest/doctest.h>

#include <random>

#include "plan/plan.hpp"

namespace soma {

namespace {

constexpr Variant sequence = Variant::Sequence, parallel = Variant::Parallel;

// "sequence[0 parallel[1 2]]", from items alone.
std::string shown(const std::vector<PlanItem>& items) {
  std::string out;
  std::vector<u32> ends;
  for (u32 at = 0; at < items.size(); ++at) {
    const PlanItem& item = items[at];
    for (; !ends.empty() && ends.back() == at; ends.pop_back()) out += ']';
    if (!out.empty() && out.back() != '[') out += ' ';
    if (item.variant == Variant::Execute) {
      out += text("{}", item.node);
    } else {
      out += text("{}[", variant_name(item.variant));
      ends.push_back(item.end);
    }
  }
  for (; !ends.empty(); ends.pop_back()) out += ']';
  return out;
}

// The same, of a tree written as "s[0 p[1 2]]": what a writer makes of it.
std::string written(std::string_view tree) {
  ItemWriter writer;
  for (const char c : tree) {
    if (c == 's') writer.open(sequence);
    if (c == 'p') writer.open(parallel);
    if (c == 'd') writer.open(Variant::Dataflow, no_node, 7);
    if (c == ']') writer.close();
    if (c >= '0' && c <= '9') writer.leaf(Variant::Execute, static_cast<u32>(c - '0'));
  }
  return shown(std::move(writer).take());
}

}  // namespace

TEST_CASE("items know where they end") {
  ItemWriter writer;
  writer.open(sequence);
  writer.leaf(Variant::Execute, 0);
  writer.open(Variant::Loop, 1, 3);
  writer.leaf(Variant::Execute, 2);
  writer.close();
  writer.close();
  CHECK(std::move(writer).take() == std::vector<PlanItem>{{Variant::Sequence, no_node, 4, 0},
                                                          {Variant::Execute, 0, 2, 0},
                                                          {Variant::Loop, 1, 4, 3},
                                                          {Variant::Execute, 2, 4, 0}});
}

TEST_CASE("groups of one are left out, and groups in groups of their kind") {
  CHECK(written("s[0 1]") == "sequence[0 1]");
  CHECK(written("s[0]") == "0");
  CHECK(written("s[p[s[p[0]]]]") == "0");
  CHECK(written("s[s[0 1] 2]") == "sequence[0 1 2]");
  CHECK(written("s[0 s[1 s[2 3]]]") == "sequence[0 1 2 3]");
  CHECK(written("p[p[0 1] p[2 3]]") == "parallel[0 1 2 3]");
  CHECK(written("s[p[0 1] 2]") == "sequence[parallel[0 1] 2]");
  // What is between two of a kind goes, so they meet.
  CHECK(written("s[p[s[0 1]] 2]") == "sequence[0 1 2]");
  CHECK(written("s[p[s[0 1]]]") == "sequence[0 1]");
  CHECK(written("p[s[p[0 1]] s[2 s[3]]]") == "parallel[0 1 sequence[2 3]]");
  CHECK(written("d[s[0] s[1 2]]") == "dataflow[0 sequence[1 2]]");
  CHECK(written("d[0]") == "dataflow[0]");
}

TEST_CASE("groups of nothing are nothing") {
  CHECK(written("s[s[] 0 p[] 1]") == "sequence[0 1]");
  CHECK(written("s[p[] 0]") == "0");
  CHECK(written("s[]") == "empty[]");
  CHECK(written("") == "empty[]");
  ItemWriter writer;
  CHECK(std::move(writer).take() == std::vector<PlanItem>{{Variant::Empty, no_node, 1, 0}});
}

TEST_CASE("copies fit where they are put") {
  ItemWriter first;
  first.open(parallel);
  for (const u32 pair : {0U, 2U}) {
    first.open(sequence);
    first.leaf(Variant::Execute, pair);
    first.leaf(Variant::Execute, pair + 1);
    first.close();
  }
  first.close();
  const std::vector<PlanItem> items = std::move(first).take();
  ItemWriter second;
  second.open(sequence);
  second.leaf(Variant::Execute, 9);
  second.copy(items, 1, 4);
  second.copy(items, 0, 7);
  second.copy(items, 4, 7);
  second.copy(items, 7, 7);
  second.close();
  CHECK(shown(std::move(second).take()) ==
        "sequence[9 0 1 parallel[sequence[0 1] sequence[2 3]] 2 3]");
}

TEST_CASE("random trees come out canonical, with their leaves in order") {
  std::mt19937 random(3);
  for (int round = 0; round < 2000; ++round) {
    ItemWriter writer;
    u32 leaves = 0, open = 0;
    for (int i = 0; i < 40; ++i) {
      const u32 choice = static_cast<u32>(random() % 6);
      if (choice < 2) {
        writer.open(choice == 0 ? sequence : parallel);
        ++open;
      } else if (choice < 4 || open == 0) {
        if (open == 0) {
          writer.open(sequence);
          ++open;
        }
        writer.leaf(Variant::Execute, leaves++);
      } else if (open > 1) {
        writer.close();
        --open;
      }
    }
    for (; open > 0; --open) writer.close();
    const std::vector<PlanItem> items = std::move(writer).take();
    u32 next = 0;
    for (u32 at = 0; at < items.size(); ++at) {
      if (items[at].variant == Variant::Execute) REQUIRE(items[at].node == next++);
      if (items[at].variant != sequence && items[at].variant != parallel) continue;
      u32 children = 0;
      for (u32 child = at + 1; child < items[at].end; child = items[child].end) {
        REQUIRE(items[child].variant != items[at].variant);
        REQUIRE(items[child].end > child);
        ++children;
      }
      REQUIRE(children >= 2);
    }
    REQUIRE(next == leaves);
    REQUIRE(items[0].end == items.size());
  }
}

}  // namespace soma
