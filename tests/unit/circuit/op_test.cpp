// Proves that the op table is whole: every op is found by its name, and its parameters make sense.
#include "circuit/op.hpp"

#include <doctest/doctest.h>

#include <set>

namespace soma {

namespace {

constexpr size_t op_count = static_cast<size_t>(Op::Sample) + 1;

}  // namespace

TEST_CASE("every op has a name of its own, by which it is found") {
  std::set<std::string_view> names;
  for (size_t i = 0; i < op_count; ++i) {
    const Op op = static_cast<Op>(i);
    CHECK(names.insert(op_info(op).name).second);
    CHECK(op_by_name(op_info(op).name) == op);
  }
  CHECK_FALSE(op_by_name("").has_value());
  CHECK_FALSE(op_by_name("Linear").has_value());
  CHECK_FALSE(op_by_name("conv2d").has_value());
}

TEST_CASE("every op makes one edge, and an in-place operand is one that it reads") {
  for (size_t i = 0; i < op_count; ++i) {
    const OpInfo& info = op_info(static_cast<Op>(i));
    CAPTURE(info.name);
    CHECK(info.outputs == 1);
    CHECK(info.in_place < static_cast<i32>(info.inputs));
    CHECK(info.weights <= 1);
  }
  CHECK(op_info(Op::ResidualAdd).in_place == 0);
  CHECK(op_info(Op::Rope).in_place == 0);
  CHECK(op_info(Op::SiluMul).in_place == -1);
}

TEST_CASE("parameters have names of their own and ranges that are not empty") {
  for (size_t i = 0; i < op_count; ++i) {
    const OpInfo& info = op_info(static_cast<Op>(i));
    std::set<std::string_view> names;
    for (const ParamInfo& param : info.params) {
      CAPTURE(param.name);
      CHECK(names.insert(param.name).second);
      CHECK(param.low < param.high);
    }
  }
  const auto has = [](Op op, std::string_view name) {
    for (const ParamInfo& param : op_info(op).params) {
      if (param.name == name) return true;
    }
    return false;
  };
  CHECK(has(Op::RmsNorm, "epsilon"));
  for (const char* name : {"heads", "head_dim", "base", "dims", "adjacent"})
    CHECK(has(Op::Rope, name));
  for (const char* name : {"kv_heads", "head_dim"}) CHECK(has(Op::KvWrite, name));
  for (const char* name : {"heads", "kv_heads", "head_dim", "scale"}) CHECK(has(Op::Attend, name));
}

}  // namespace soma
