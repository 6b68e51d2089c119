// The keys of plan documents beside those of nodes: what reader and writer agree on.
#pragma once

#include "plan/plan.hpp"
#include "value/node_document.hpp"

namespace soma::document {

inline constexpr std::string_view plan_name = "plan";  // what the key `soma` says
inline constexpr i64 plan_version = 1;
inline constexpr std::string_view empty_name = "empty", exhaust_name = "exhaust";

namespace key {
inline constexpr std::string_view soma = "soma", version = "version", mode = "mode",
                                  graph = "graph", nodes = "nodes", leaves = "leaves",
                                  plan = "plan", node = "node", output = "output",
                                  input = "input", from = "from", handoffs = "handoffs",
                                  body = "body", max_iterations = "max_iterations",
                                  until = "until", when_signaled = "when_signaled",
                                  carry_from = "carry_from", arms = "arms", target = "target",
                                  chunk_size = "chunk_size", after = "after";
}  // namespace key

inline constexpr Key plan_keys[] = {{key::soma},  {key::version}, {key::mode}, {key::graph},
                                    {key::nodes}, {key::leaves},  {key::plan}};
// What a node reads: an id, or this object where ports are named.
inline constexpr Key source_keys[] = {{key::node}, {key::output}, {key::input}};

// An item is an object of one member, the name of its variant with what follows here. Sequence and
// parallel are lists of items, composite is a list of ids, dataflow a list of parts. An empty plan
// is the text "empty".
inline constexpr Key execute_keys[] = {{key::node}, {key::from}};
inline constexpr Key step_keys[] = {{key::node}, {key::handoffs}};
inline constexpr Key loop_keys[] = {
    {key::node}, {key::body}, {key::max_iterations}, {key::until}, {key::carry_from}};
inline constexpr Key branch_keys[] = {{key::node}, {key::arms}};
inline constexpr Key remote_keys[] = {{key::node}, {key::target}, {key::plan}};
inline constexpr Key stream_keys[] = {{key::nodes}, {key::chunk_size}};
inline constexpr Key part_keys[] = {{key::after}, {key::plan}};

// document_write.cpp: the key `from` with what a node reads, unless that is nothing; the values of
// the keys `until` and `carry_from`.
void write_sources(JsonWriter& json, const Plan& plan, u32 node);
void write_until(JsonWriter& json, const Plan& plan, const PlanLoop& loop);
void write_carry(JsonWriter& json, const Plan& plan, const PlanLoop& loop);

}  // namespace soma::document
