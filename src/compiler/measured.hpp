// Estimates at the wall: measured times as JSON, and what was estimated.
#pragma once

#include "compiler/estimate.hpp"

namespace soma {

// {"nodes": {id: µs, …}, "ops": {name: µs, …}}, both optional; an empty text has none. All problems
// at once: document_syntax, document_duplicate_key, document_unknown_key, document_type for what is
// no number from 0.
Result<std::vector<MeasuredTime>> parse_measured(std::string_view json);

// {"total_us", "known_us", "critical_path_us", "work_us", "threads", "unknown": ids}. total_us is
// null if anything is unknown; threads is 0 for as many as there can be.
std::string estimate_json(const Plan& plan, const PlanEstimate& estimate, u64 threads);

}  // namespace soma
