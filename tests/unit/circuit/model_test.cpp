// Proves that the circuit which the other tests build by hand is the one that SmolLM2's file gives,
// so that the golden texts are about the real model.
#include "model/model.hpp"

#include <doctest/doctest.h>

#include <cstdlib>

#include "unit/circuit/llama_fixture.hpp"

namespace soma {

TEST_SUITE("model") {
  TEST_CASE("SmolLM2's own circuit equals the one built by hand") {
    const char* path = std::getenv("SOMA_TEST_MODEL");
    REQUIRE_MESSAGE(path != nullptr, "SOMA_TEST_MODEL must name SmolLM2's file");
    const Result<Model> model = Model::open(path, LoadMode::Map);
    REQUIRE(model.ok());
    const bool same = model->circuit().dump() == fixture::llama().dump();
    CHECK(same);
  }
}

}  // namespace soma
