// The ops that every plan can name: std.identity, std.const, std.add, std.sum, std.concat, std.get,
// std.test, std.format, std.sleep and std.fail.
#pragma once

#include "run/ops.hpp"
#include "value/op_rule.hpp"

namespace soma {

// Which settings they take, and std.exec (exec.hpp); for the compiler.
std::span<const OpRule> builtin_rules();
// graph_config: all that the rule of the node's op does not take. Of a built-in op.
Status check_builtin_settings(const PlanNode& node);
// ops_duplicate, if one of the names is taken.
Status add_builtins(Ops& ops);

}  // namespace soma
