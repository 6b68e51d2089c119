// Compares the plans of SmolLM2 with the texts in tests/golden/plans, which are read in review.
// `make golden` rewrites them.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

#include "base/file.hpp"
#include "unit/circuit/llama_fixture.hpp"

namespace soma {

namespace {

struct Golden {
  const char* name;
  PlanRequest request;
};
const Golden goldens[] = {
    {"decode.fast", {Mode::Decode, 1, Policy::Fast}},
    {"decode.reference", {Mode::Decode, 1, Policy::Reference}},
    {"prefill512.fast", {Mode::Prefill, 512, Policy::Fast}},
    {"prefill512.reference", {Mode::Prefill, 512, Policy::Reference}},
};

void compare(const std::string& name, const std::string& text) {
  CAPTURE(name);
  const std::string path = "tests/golden/plans/smollm2." + name + ".txt";
  if (std::getenv("SOMA_GOLDEN_WRITE") != nullptr) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    REQUIRE(file != nullptr);
    CHECK(std::fwrite(text.data(), 1, text.size(), file) == text.size());
    CHECK(std::fclose(file) == 0);
    return;
  }
  const Result<FileBytes> file = FileBytes::open(path, LoadMode::Read);
  REQUIRE_MESSAGE(file.ok(), path, " is missing: make golden");
  const std::span<const u8> bytes = file->bytes();
  const std::string_view expected(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  // One check on the whole: doctest would print both texts.
  const bool same = expected == text;
  CHECK_MESSAGE(same, path, " differs from what is planned now; if that is meant: make golden");
}

}  // namespace

TEST_CASE("golden: SmolLM2's fusion plans, buffers and programs are as reviewed") {
  for (const Golden& golden : goldens) {
    const fixture::Compiled compiled = fixture::compile(fixture::llama(), golden.request);
    const std::string name = golden.name;
    compare(name + ".fusion", compiled.plan.dump(compiled.circuit));
    compare(name + ".buffers", compiled.buffers.dump(compiled.circuit) + "\n" +
                                   compiled.buffers.picture(compiled.circuit));
    compare(name + ".program", compiled.program.dump());
  }
}

}  // namespace soma
