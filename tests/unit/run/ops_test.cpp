// Proves that ops are found by name and version, are registered once, and are destroyed once.
#include <doctest/doctest.h>

#include "run/node_call.hpp"
#include "run/ops.hpp"

namespace soma {

namespace {

NodeOp op_of(std::string_view name, u32 version) {
  NodeOp op;
  op.name = name;
  op.version = version;
  op.forward = [](void*, NodeCall&) -> Status { return {}; };
  return op;
}

}  // namespace

TEST_CASE("an entry of the asked version comes before one of any version") {
  Ops ops;
  CHECK(ops.add(op_of("embed", 2)).ok());
  CHECK(ops.add(op_of("embed", 0)).ok());
  CHECK(ops.add(op_of("align", 1)).ok());
  CHECK(ops.find("embed", 2)->version == 2);
  CHECK(ops.find("embed", 1)->version == 0);
  CHECK(ops.find("align", 1)->name == "align");
  CHECK(ops.find("align", 2) == nullptr);
  CHECK(ops.find("emb", 2) == nullptr);
  CHECK(ops.versions("embed") == "0, 2");
  CHECK(ops.versions("nobody").empty());
}

TEST_CASE("what can't be registered is refused and stays the caller's") {
  int destroyed = 0;
  const auto counted = [&destroyed](NodeOp op) {
    op.user = &destroyed;
    op.destroy = [](void* user) { ++*static_cast<int*>(user); };
    return op;
  };
  {
    Ops ops;
    CHECK(ops.add(counted(op_of("embed", 1))).ok());
    CHECK(ops.add(counted(op_of("embed", 1))).error().id() == "ops.duplicate");
    CHECK(ops.add(counted(op_of("", 1))).error().id() == "argument.range");
    CHECK(ops.add(counted(op_of("\xff", 1))).error().id() == "argument.range");
    NodeOp empty = op_of("empty", 1);
    empty.forward = nullptr;
    CHECK(ops.add(counted(empty)).error().id() == "argument.null");
    CHECK(ops.add(counted(op_of("align", 1))).ok());
    CHECK(destroyed == 0);
  }
  CHECK(destroyed == 2);
}

}  // namespace soma
