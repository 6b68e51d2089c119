// Proves that packing refuses sources that lie about themselves, reports its progress to the end,
// and stops when asked.
#include "backend/cpu/weights.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "unit/backend/engine.hpp"

using namespace soma;
using cpu::CpuWeights;

namespace {

WeightRef matrix(std::string name, u64 rows = 1000) {
  return {std::move(name), Format::Q4_1, rows, 320};
}

struct Heard {
  std::vector<u64> done;
  u64 total = 0;
  size_t stop_after = 1000000;
  static bool call(void* user, u64 done, u64 total) {
    auto* self = static_cast<Heard*>(user);
    self->done.push_back(done);
    self->total = total;
    return self->done.size() <= self->stop_after;
  }
};

}  // namespace

TEST_CASE("every wrong source is reported") {
  auto team = Team::create(1).value();
  const std::vector<u8> bytes(200 * 1000);
  const std::vector<WeightSource> sources = {
      {matrix("short"), {bytes.data(), 1000}},
      {{"width", Format::Q4_1, 4, 33}, {bytes.data(), 80}},
      {{"empty", Format::Q4_1, 0, 32}, {}},
      {{"huge", Format::F32, u64{1} << 40, u64{1} << 40}, {bytes.data(), 64}},
      {{"kind", Format::Q6_K, 2, 256}, {bytes.data(), 420}},
      {{"vector", Format::F16, 1, 32}, {bytes.data(), 64}},
  };
  auto weights = CpuWeights::pack(*team, sources, nullptr, {}, nullptr);
  REQUIRE(!weights.ok());
  const std::string said = fixture::all_messages(weights.error());
  for (const WeightSource& source : sources) {
    CHECK(said.find("'" + source.ref.tensor + "'") != std::string::npos);
  }
}

TEST_CASE("a tensor can't be packed twice") {
  auto team = Team::create(1).value();
  const std::vector<u8> bytes = test::random_weight(matrix("a"));
  const std::vector<WeightSource> sources = {{matrix("a"), bytes}, {matrix("a"), bytes}};
  CHECK(CpuWeights::pack(*team, sources, nullptr, {}, nullptr).error().reason() ==
        Reason::program_binding);
}

TEST_CASE("packed weights are the same whoever packs them, and all progress is told") {
  std::vector<std::vector<u8>> bytes;
  std::vector<WeightSource> sources;
  std::vector<WeightRef> refs = {matrix("a"), matrix("b", 7), {"n", Format::F32, 1, 320},
                                 {"e", Format::Q8_0, 3001, 320}};
  u64 total = 0;
  for (const WeightRef& ref : refs) {
    bytes.push_back(test::random_weight(ref));
    total += bytes.back().size();
  }
  for (size_t i = 0; i < refs.size(); ++i) sources.push_back({refs[i], bytes[i]});
  std::vector<std::unique_ptr<CpuWeights>> packed;
  for (const i32 threads : {1, 3}) {
    auto team = Team::create(threads).value();
    Heard heard;
    packed.push_back(
        CpuWeights::pack(*team, sources, nullptr, {Heard::call, &heard}, nullptr).value());
    CHECK(heard.total == total);
    CHECK(heard.done.back() == total);
    CHECK(std::is_sorted(heard.done.begin(), heard.done.end()));
  }
  CHECK(packed[0]->bytes() >= total);
  for (const WeightRef& ref : refs) {
    const cpu::PackedWeight* one = packed[0]->find(ref.tensor);
    const cpu::PackedWeight* three = packed[1]->find(ref.tensor);
    REQUIRE(one != nullptr);
    REQUIRE(three != nullptr);
    CHECK(one->ref == ref);
    if (ref.rows == 1) {
      CHECK(std::memcmp(one->vector, bytes[2].data(), bytes[2].size()) == 0);
      continue;
    }
    const i64 groups = (one->matrix.rows + cpu::kGroup - 1) / cpu::kGroup;
    CHECK(std::memcmp(one->matrix.data, three->matrix.data,
                      static_cast<size_t>(groups * one->matrix.group_bytes)) == 0);
  }
  CHECK(packed[0]->find("nobody") == nullptr);
}

TEST_CASE("packing stops when its progress function or the caller says so") {
  auto team = Team::create(2).value();
  const WeightRef ref = {"e", Format::Q8_0, 20000, 320};
  const std::vector<u8> bytes = test::random_weight(ref);
  const std::vector<WeightSource> sources = {{ref, bytes}};
  Heard heard;
  heard.stop_after = 2;
  auto stopped = CpuWeights::pack(*team, sources, nullptr, {Heard::call, &heard}, nullptr);
  REQUIRE(!stopped.ok());
  CHECK(stopped.error().reason() == Reason::cancelled);
  CHECK(heard.done.size() == 3);
  Cancel cancel;
  cancel.request();
  CHECK(CpuWeights::pack(*team, sources, nullptr, {}, &cancel).error().reason() ==
        Reason::cancelled);
}
