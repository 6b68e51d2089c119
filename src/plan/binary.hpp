// The binary form of plan documents (binary.md): the same content, much smaller, and with a
// checksum.
#pragma once

#include "plan/plan.hpp"

namespace soma {

// Does this begin as the binary form does? No text in UTF-8 does.
bool is_plan_binary(std::string_view bytes);

// out_of_memory.
Result<std::string> plan_binary(const Plan& plan);

// Head and checksum around a frame that is said to hold that many bytes of a document.
std::string plan_binary_around(std::string_view frame, u64 document_bytes);

// The document in it, verified but not read: Plan::parse says what else may be wrong.
// document_syntax: this is no binary form; document_version; document_corrupt; document_limit.
Result<std::string> plan_binary_document(std::string_view bytes);

// A plan from either form.
Result<Plan> parse_plan(std::string_view bytes, Plan::Reading reading = Plan::Reading::Strict);

}  // namespace soma
