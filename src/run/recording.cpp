// Turns what happens in a run into records, and records into values.
//
// A record's digest tells whether a run that is resumed asks for the same: it is over the name and
// the exact form of what is asked for.
#include "run/recording.hpp"

#include "base/hash.hpp"
#include "base/json_writer.hpp"
#include "base/text.hpp"
#include "value/exact_json.hpp"

namespace soma {

namespace {

using Kind = Record::Kind;

Result<std::string> exact(const Site& site, std::string_view what, const Value& value) {
  Result<std::string> json = exact_json(value);
  if (json.ok()) return json;
  return fail(Reason::journal_opaque, "at {} {} can't be recorded: {}", site_text(site), what,
              json.error().message());
}

std::string digest_of(std::string_view name, std::string_view content) {
  return Digest().text(name).text(content).hex();
}

Record record_of(Kind kind, Site site, std::string content) {
  Record record;
  record.kind = kind;
  record.site = std::move(site);
  record.content = std::move(content);
  record.at_ns = wall_clock_ns();
  return record;
}

}  // namespace

Result<RunIdentity> run_identity(std::string_view run, std::string_view plan_digest,
                                 const Value& input) {
  SOMA_TRY(check_run_id(run));
  Result<std::string> json = exact_json(input);
  if (!json.ok()) {
    return fail(Reason::journal_opaque, "the input of a run with a journal is recorded: {}",
                json.error().message());
  }
  return RunIdentity{std::string(run), std::string(plan_digest), content_digest(*json)};
}

Result<Record> intent_record(Site site, const EffectRequest& request) {
  const std::string what = "what effect " + quoted(request.name) + " is asked for";
  SOMA_ASSIGN(std::string content, exact(site, what, request.payload));
  Record record = record_of(Kind::Intent, std::move(site), std::move(content));
  record.effect = request.name;
  record.digest = digest_of(record.effect, record.content);
  return record;
}

Result<Record> result_record(Site site, const Value& result) {
  SOMA_ASSIGN(std::string content, exact(site, "what came of an effect", result));
  return record_of(Kind::Result, std::move(site), std::move(content));
}

Result<Record> failure_record(Site site, const Error& error) {
  JsonWriter json;
  json.object().field("reason", error.id()).field("message", error.message()).close();
  return record_of(Kind::Failure, std::move(site), std::move(json).take());
}

Result<Record> suspension_record(Site site, const Value& reason) {
  SOMA_ASSIGN(std::string content, exact(site, "the reason to wait", reason));
  Record record = record_of(Kind::Suspension, std::move(site), std::move(content));
  record.digest = digest_of("", record.content);
  return record;
}

Result<Record> answer_record(Site site, const Value& answer) {
  SOMA_ASSIGN(std::string content, exact(site, "the answer", answer));
  return record_of(Kind::Answer, std::move(site), std::move(content));
}

// An opaque input is taken for the same: the plan and the run's input are.
Record output_record(Site site, std::string_view name, const Value& input) {
  const Result<std::string> given = exact_json(input);
  Record record = record_of(Kind::Output, std::move(site), {});
  record.effect = name;
  record.digest = digest_of(name, given.ok() ? std::string_view(*given) : "opaque");
  return record;
}

Status set_output(Record& record, const Value& output) {
  SOMA_ASSIGN(record.content, exact(record.site, "what it yielded", output));
  record.at_ns = wall_clock_ns();  // it may have taken long
  return {};
}

Record end_record(const Value& value) {
  Result<std::string> content = exact_json(value);
  return record_of(Kind::End, {}, content.ok() ? *std::move(content) : std::string());
}

Result<Value> recorded_value(std::string_view content) {
  Result<Value> value = value_of_exact_json(content);
  if (value.ok()) return value;
  return fail(Reason::journal_corrupt,
              "the journal holds what this library did not write, {}: {}; start a new run",
              quoted(content, 160), value.error().message());
}

}  // namespace soma
