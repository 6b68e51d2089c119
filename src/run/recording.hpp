// What a run writes into its journal, and what it reads there.
#pragma once

#include "journal/journal.hpp"
#include "plan/plan.hpp"
#include "run/effect.hpp"

namespace soma {

// Which run it is: its id, the digests of its plan and of its input. journal_run_id,
// journal_opaque.
Result<RunIdentity> run_identity(std::string_view run, std::string_view plan_digest,
                                 const Value& input);

// journal_opaque, if what is to be recorded has no exact form.
Result<Record> intent_record(Site site, const EffectRequest& request);
Result<Record> result_record(Site site, const Value& result);
Result<Record> failure_record(Site site, const Error& error);
Result<Record> suspension_record(Site site, const Value& reason);
Result<Record> answer_record(Site site, const Value& answer);
// What `name` is to yield, a node's op or a choice, given what it reads; then what it did.
Record output_record(Site site, std::string_view name, const Value& input);
Status set_output(Record& record, const Value& output);
// Of a value that has no exact form, the end says only that it came.
Record end_record(const Value& value);
// What a record of a result, an answer or an output holds. journal_corrupt.
Result<Value> recorded_value(std::string_view content);

}  // namespace soma
