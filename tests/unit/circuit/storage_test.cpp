// Proves that placement is safe and near the smallest possible, and that the verifier catches every
// kind of corruption, also those that placement would never make.
#include <doctest/doctest.h>

#include <functional>
#include <random>

#include "circuit/fusion/digest.hpp"
#include "circuit/storage/liveness.hpp"
#include "unit/circuit/bench_fixture.hpp"

namespace soma {

namespace {

using fixture::Bench;
using fixture::compile;
using fixture::Compiled;
using fixture::llama;
using fixture::small_sizes;

KernelCatalogue fallbacks() {
  KernelCatalogue out;
  const FusionRules rules = fixture::rules();
  for (const Rule& rule : rules.table().rules) {
    if (rule.numerics == Numerics::Reference) out.kernels.push_back(rule.kernels[0]);
  }
  return out;
}

struct Planned {
  Circuit circuit;
  FusionPlan plan;
  Layout layout;
  BufferPlan buffers;
  Status verify() const { return verify_storage(circuit, plan, layout, buffers); }
};

Planned planned(Circuit circuit, u64 rows, const KernelCatalogue& kernels) {
  Planned out;
  out.circuit = std::move(circuit);
  PlanRequest request;
  request.rows_max = rows;
  out.plan = fuse(out.circuit, fixture::rules(), kernels, request).value();
  out.layout = lay_out(out.circuit, out.plan).value();
  out.buffers = place(out.circuit, out.plan, out.layout).value();
  return out;
}

// A random circuit of products and joins of several widths, with `values` values in the arena.
Circuit random_circuit(u32 seed, int values) {
  std::mt19937 random(seed);
  const auto below = [&random](size_t n) { return static_cast<size_t>(random() % n); };
  Bench bench;
  std::vector<EdgeId> unread, known = {bench.stream()};
  for (int i = 0; i < values; ++i) {
    const EdgeId from = known[below(known.size())];
    std::erase(unread, from);
    const u64 width = 32 * (1 + below(12));
    const bool rope =
        below(4) == 0 && bench.circuit().edges[from].width == 32 && from != bench.stream();
    const EdgeId made = rope ? bench.add(Op::Rope, text("v{}", i), {from}, 32)
                             : bench.add(Op::Linear, text("v{}", i), {from}, width);
    known.push_back(made);
    unread.push_back(made);
  }
  EdgeId joined = bench.add(Op::Linear, "join", {bench.stream()}, 64);
  for (const EdgeId edge : unread) {
    const EdgeId same = bench.add(Op::Linear, text("to{}", edge), {edge}, 64);
    joined = bench.add(Op::SiluMul, text("join{}", edge), {joined, same}, 64);
  }
  bench.add_to_stream("sum", joined);
  return std::move(bench).finish();
}

bool alive_together(const Slot& a, const Slot& b) {
  return a.first_group <= b.last_group && b.first_group <= a.last_group;
}

bool is_alias(const Layout& layout, EdgeId a, EdgeId b) {
  for (const Layout::Alias& alias : layout.aliases) {
    if ((alias.out == a && alias.in == b) || (alias.out == b && alias.in == a)) return true;
  }
  return false;
}

// The smallest arena that first fit reaches over all orders of up to eight items: with the right
// order it reaches the optimum.
u64 smallest_arena(const std::vector<Slot>& slots) {
  std::vector<size_t> order(slots.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  u64 best = ~u64{0};
  do {
    std::vector<u64> offsets(slots.size());
    u64 arena = 0;
    for (size_t at = 0; at < order.size(); ++at) {
      const Slot& slot = slots[order[at]];
      const u64 bytes = (slot.bytes + 255) / 256 * 256;
      u64 offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t before = 0; before < at; ++before) {
          const Slot& other = slots[order[before]];
          const u64 begin = offsets[order[before]], end = begin + (other.bytes + 255) / 256 * 256;
          if (!alive_together(slot, other) || offset >= end || begin >= offset + bytes) continue;
          offset = end;
          moved = true;
        }
      }
      offsets[order[at]] = offset;
      arena = std::max(arena, offset + bytes);
    }
    best = std::min(best, arena);
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

void must_be_caught(const Planned& original, std::string_view what,
                    const std::function<void(Planned&)>& corrupt, std::string_view message) {
  CAPTURE(what);
  Planned broken = original;
  corrupt(broken);
  const Status status = broken.verify();
  REQUIRE_FALSE(status.ok());
  const std::string messages = fixture::all_messages(status.error());
  CAPTURE(messages);
  CHECK(messages.find(message) != std::string::npos);
}

EdgeId edge_id(const Circuit& circuit, std::string_view id) {
  for (EdgeId edge = 0; edge < circuit.edges.size(); ++edge) {
    if (circuit.edges[edge].id == id) return edge;
  }
  FAIL("no such edge");
  return 0;
}

Slot& slot_of(Planned& planned, std::string_view id) {
  const Slot* slot = planned.buffers.find(edge_id(planned.circuit, id));
  REQUIRE(slot != nullptr);
  return planned.buffers.slots[static_cast<size_t>(slot - planned.buffers.slots.data())];
}

}  // namespace

TEST_CASE("the layout names what is outside the arena and what is written in place") {
  const Circuit circuit = llama(small_sizes());
  const Planned fused = planned(circuit, 4, fixture::catalogue());
  const Planned plain = planned(circuit, 4, fallbacks());
  CHECK(fused.layout.external.size() == 5 + 2);
  CHECK(fused.layout.aliases.empty());
  CHECK(plain.layout.external == fused.layout.external);
  // Both ropes of both layers rotate in place.
  CHECK(plain.layout.aliases.size() == 4);
  for (const Layout::Alias& alias : plain.layout.aliases) {
    CHECK(plain.buffers.find(alias.out)->offset == plain.buffers.find(alias.in)->offset);
  }
}

TEST_CASE("nothing is rotated in place that somebody else still reads") {
  Bench bench;
  const EdgeId q = bench.add(Op::Linear, "q", {bench.stream()}, 32);
  const EdgeId rotated = bench.add(Op::Rope, "rotated", {q}, 32);
  const EdgeId both = bench.add(Op::SiluMul, "both", {q, rotated}, 32);
  const EdgeId y = bench.add(Op::Linear, "y", {both}, 64);
  bench.add_to_stream("sum", y);
  const Planned plain = planned(std::move(bench).finish(), 1, fallbacks());
  CHECK(plain.layout.aliases.empty());
  CHECK(plain.verify().ok());
}

TEST_CASE("a value lives from its maker to its last reader, an output to the end") {
  const Planned plain = planned(llama(small_sizes()), 1, fallbacks());
  const std::vector<LiveRange> live = find_live_ranges(plain.circuit, plain.plan);
  const u32 last = static_cast<u32>(plain.plan.groups.size() - 1);
  CHECK(live[edge_id(plain.circuit, "l0.attn.norm")].first == 1);
  CHECK(live[edge_id(plain.circuit, "l0.attn.norm")].last == 4);
  CHECK(live[edge_id(plain.circuit, "logits")].last == last);
  CHECK(live[edge_id(plain.circuit, "tokens")].first == last);
}

TEST_CASE("SmolLM2's arenas are as small as possible") {
  for (const u64 rows : {u64{1}, u64{8}, u64{512}}) {
    for (const Policy policy : {Policy::Fast, Policy::Reference}) {
      const Compiled compiled = compile(llama(), {Mode::Prefill, rows, policy});
      CHECK(compiled.buffers.arena_bytes == compiled.buffers.lower_bound_bytes);
      CHECK(compiled.buffers.hidden_bytes == rows * 576 * 4);
      CHECK(compiled.buffers.logits_row_bytes == 49152 * 4);
    }
  }
}

TEST_CASE(
    "random circuits: placement is proven safe, and between the bound and twice the optimum") {
  int optimal = 0, compared = 0;
  for (u32 seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    const Planned plain =
        planned(random_circuit(seed, 1 + static_cast<int>(seed % 13)), 1 + seed % 5, fallbacks());
    const Status verified = plain.verify();
    if (!verified.ok()) FAIL(fixture::all_messages(verified.error()));
    std::vector<Slot> arena;
    for (const Slot& slot : plain.buffers.slots) {
      if (slot.buffer == ModelBuffer::None) arena.push_back(slot);
    }
    for (const Slot& a : arena) {
      CHECK(a.offset % 256 == 0);
      for (const Slot& b : arena) {
        if (&a == &b || !alive_together(a, b) || is_alias(plain.layout, a.edge, b.edge)) continue;
        const bool apart = a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
        // Chains of aliases share a place without being a pair.
        CHECK((apart || (a.offset == b.offset && !plain.layout.aliases.empty())));
      }
    }
    CHECK(plain.buffers.lower_bound_bytes <= plain.buffers.arena_bytes);
    if (arena.size() > 7 || !plain.layout.aliases.empty()) continue;
    const u64 best = smallest_arena(arena);
    ++compared;
    optimal += best == plain.buffers.arena_bytes;
    CHECK(plain.buffers.lower_bound_bytes <= best);
    CHECK(best <= plain.buffers.arena_bytes);
    CHECK(plain.buffers.arena_bytes <= 2 * best);
  }
  MESSAGE("compared with the optimum: ", compared, ", equal to it: ", optimal);
  CHECK(compared >= 30);
  CHECK(optimal * 10 >= compared * 7);
}

TEST_CASE("packs lie back to back, in their order, and are proven too") {
  Planned plain = planned(llama(small_sizes()), 3, fallbacks());
  const EdgeId gate = edge_id(plain.circuit, "l0.ffn.gate");
  const EdgeId up = edge_id(plain.circuit, "l0.ffn.up");
  plain.layout.packs = {{up, gate}};
  plain.buffers = place(plain.circuit, plain.plan, plain.layout).value();
  CHECK(plain.buffers.find(up)->offset + plain.buffers.find(up)->bytes ==
        plain.buffers.find(gate)->offset);
  CHECK(plain.verify().ok());
  must_be_caught(
      plain, "a pack taken apart", [&](Planned& p) { slot_of(p, "l0.ffn.gate").offset += 256; },
      "back to back");
}

TEST_CASE("layouts that can't be met are refused") {
  const Planned fused = planned(llama(small_sizes()), 1, fixture::catalogue());
  const Planned plain = planned(llama(small_sizes()), 1, fallbacks());
  const auto refuses = [](const Planned& of, const std::function<void(Layout&)>& change) {
    Layout layout = of.layout;
    change(layout);
    const Result<BufferPlan> buffers = place(of.circuit, of.plan, layout);
    REQUIRE_FALSE(buffers.ok());
    CHECK(buffers.error().reason() == Reason::storage_layout);
  };
  const EdgeId gate = edge_id(plain.circuit, "l0.ffn.gate");
  const EdgeId up = edge_id(plain.circuit, "l0.ffn.up");
  const EdgeId down = edge_id(plain.circuit, "l0.ffn.down");
  const EdgeId logits = edge_id(plain.circuit, "logits");
  refuses(fused, [&](Layout& l) { l.external.push_back(gate); });  // fused away
  refuses(fused, [&](Layout& l) { l.packs = {{gate, up}}; });
  refuses(plain, [&](Layout& l) { l.external.push_back(9999); });
  refuses(plain, [&](Layout& l) { l.external.push_back(gate); });  // bound to nothing
  refuses(plain, [&](Layout& l) { l.aliases.push_back({9999, gate}); });
  refuses(plain, [&](Layout& l) { l.aliases.push_back({logits, gate}); });  // external
  refuses(plain, [&](Layout& l) { l.aliases.push_back({down, gate}); });    // other size
  refuses(plain, [&](Layout& l) { l.packs = {{gate, up}, {down, gate}}; });
  refuses(plain, [&](Layout& l) { l.packs = {{gate, logits}}; });
}

TEST_CASE("the verifier catches corrupted slots, totals and digests") {
  const Planned good = planned(llama(small_sizes()), 4, fallbacks());
  REQUIRE(good.verify().ok());
  must_be_caught(
      good, "another plan's buffers", [](Planned& p) { p.buffers.plan_digest[3] ^= 1; },
      "the buffers were made for plan");
  must_be_caught(good, "a changed plan", [](Planned& p) { p.plan.digest[3] ^= 1; }, "was changed");
  must_be_caught(
      good, "a slot missing",
      [](Planned& p) { p.buffers.slots.erase(p.buffers.slots.begin() + 5); }, "has no slot");
  must_be_caught(
      good, "a slot twice", [](Planned& p) { p.buffers.slots.push_back(p.buffers.slots[5]); },
      "one an edge");
  must_be_caught(
      good, "slots out of order",
      [](Planned& p) { std::swap(p.buffers.slots[5], p.buffers.slots[6]); }, "in their order");
  must_be_caught(
      good, "a slot for nothing", [](Planned& p) { p.buffers.slots[5].edge = 9999; },
      "does not store");
  must_be_caught(
      good, "the arena cut", [](Planned& p) { p.buffers.arena_bytes -= 256; }, "the arena at");
  must_be_caught(
      good, "the stream cut", [](Planned& p) { p.buffers.hidden_bytes -= 1; }, "the stream needs");
  must_be_caught(
      good, "logits cut", [](Planned& p) { p.buffers.logits_row_bytes -= 1; }, "a row of logits");
  must_be_caught(
      good, "a bound above the arena",
      [](Planned& p) { p.buffers.lower_bound_bytes = p.buffers.arena_bytes + 1; }, "lower bound");
  for (size_t i = 0; i < good.buffers.slots.size(); ++i) {
    CAPTURE(i);
    must_be_caught(good, "too small", [i](Planned& p) { p.buffers.slots[i].bytes -= 1; }, "need");
    must_be_caught(
        good, "a row too small", [i](Planned& p) { p.buffers.slots[i].row_bytes -= 1; }, "need");
    must_be_caught(
        good, "in another buffer",
        [i](Planned& p) {
          ModelBuffer& buffer = p.buffers.slots[i].buffer;
          buffer = buffer == ModelBuffer::Hidden ? ModelBuffer::None : ModelBuffer::Hidden;
        },
        "must be in");
    must_be_caught(
        good, "off its alignment", [i](Planned& p) { p.buffers.slots[i].offset += 64; }, "");
    must_be_caught(
        good, "far away", [i](Planned& p) { p.buffers.slots[i].offset = ~u64{0} - 100; }, "");
    must_be_caught(
        good, "born late", [i](Planned& p) { p.buffers.slots[i].first_group += 1; }, "lives from");
    must_be_caught(
        good, "dead early", [i](Planned& p) { p.buffers.slots[i].last_group -= 1; }, "lives from");
  }
}

TEST_CASE("the verifier catches every pair of values put over each other while both are needed") {
  for (const bool fuse_all : {false, true}) {
    const Planned good =
        planned(llama(small_sizes()), 4, fuse_all ? fixture::catalogue() : fallbacks());
    int caught = 0;
    for (size_t i = 0; i < good.buffers.slots.size(); ++i) {
      for (size_t j = 0; j < good.buffers.slots.size(); ++j) {
        const Slot &a = good.buffers.slots[i], &b = good.buffers.slots[j];
        if (i == j || a.buffer != ModelBuffer::None || b.buffer != ModelBuffer::None) continue;
        if (!alive_together(a, b) || is_alias(good.layout, a.edge, b.edge)) continue;
        Planned broken = good;
        broken.buffers.slots[i].offset = b.offset;
        broken.buffers.arena_bytes *= 2;
        CAPTURE(good.circuit.edges[a.edge].id);
        CAPTURE(good.circuit.edges[b.edge].id);
        CHECK_FALSE(broken.verify().ok());
        ++caught;
      }
    }
    CHECK(caught >= (fuse_all ? 4 : 40));
  }
}

TEST_CASE("the verifier catches aliases that nobody declared or that somebody still needs") {
  Bench bench;
  const EdgeId q = bench.add(Op::Linear, "q", {bench.stream()}, 32);
  const EdgeId rotated = bench.add(Op::Rope, "rotated", {q}, 32);
  const EdgeId both = bench.add(Op::SiluMul, "both", {q, rotated}, 32);
  const EdgeId y = bench.add(Op::Linear, "y", {both}, 64);
  bench.add_to_stream("sum", y);
  const Planned good = planned(std::move(bench).finish(), 1, fallbacks());
  must_be_caught(
      good, "alias of a value that is still read",
      [&](Planned& p) {
        p.layout.aliases = {{rotated, q}};
        slot_of(p, "rotated").offset = slot_of(p, "q").offset;
      },
      "reads 'q' after its bytes were overwritten");
  must_be_caught(
      good, "an alias nobody declared",
      [&](Planned& p) {
        p.layout.aliases = {{both, q}};
        slot_of(p, "both").offset = slot_of(p, "q").offset;
      },
      "which no op declares an in-place pair");
  must_be_caught(
      good, "written over an operand",
      [&](Planned& p) { slot_of(p, "both").offset = slot_of(p, "q").offset; },
      "writes 'both' over 'q' while it reads that");
  must_be_caught(
      good, "an alias that was not placed so",
      [&](Planned& p) { p.layout.aliases = {{rotated, q}}; }, "must take the place of 'q'");
}

TEST_CASE("the verifier catches a stream value that is read after it was replaced") {
  Bench bench;
  const EdgeId x = bench.stream();
  const EdgeId y = bench.add(Op::Linear, "y", {x}, 64, "y");
  const EdgeId z = bench.add(Op::Linear, "z", {x}, 64, "z");
  bench.add_to_stream("sum1", y);
  bench.add_to_stream("sum2", z);
  Planned good = planned(std::move(bench).finish(), 1, fallbacks());
  REQUIRE(good.verify().ok());
  REQUIRE(good.circuit.nodes[good.plan.groups[2].nodes[0]].id == "z");
  must_be_caught(
      good, "groups in a wrong order",
      [](Planned& p) {
        std::swap(p.plan.groups[2], p.plan.groups[3]);
        p.plan.digest = plan_digest(p.circuit, p.plan);
        p.buffers.plan_digest = p.plan.digest;
        const std::vector<LiveRange> live = find_live_ranges(p.circuit, p.plan);
        for (Slot& slot : p.buffers.slots) {
          slot.first_group = live[slot.edge].first;
          slot.last_group = live[slot.edge].last;
        }
      },
      "reads 'embed' after its bytes were overwritten");
}

TEST_CASE("slots are found by edge, and dump and picture show all of them") {
  const Planned fused = planned(llama(small_sizes()), 2, fixture::catalogue());
  for (const Slot& slot : fused.buffers.slots) CHECK(fused.buffers.find(slot.edge) == &slot);
  CHECK(fused.buffers.find(edge_id(fused.circuit, "l0.ffn.gate")) == nullptr);
  CHECK(fused.buffers.find(9999) == nullptr);
  const std::string dump = fused.buffers.dump(fused.circuit);
  for (const Slot& slot : fused.buffers.slots) {
    CHECK(dump.find(fused.circuit.edges[slot.edge].id) != std::string::npos);
  }
  const std::string picture = fused.buffers.picture(fused.circuit);
  CHECK(static_cast<size_t>(std::count(picture.begin(), picture.end(), '\n')) ==
        fused.plan.groups.size() + 3);
}

}  // namespace soma
