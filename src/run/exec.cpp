// Runs programs for steps.
//
// The step itself only says what is to be run, and yields what came of it: so that a journal can
// keep both, and a run that is resumed finds the result instead of running the program again. All
// that decides what happens is in the effect's payload, but for the host's own environment, which
// may hold secrets and is not the document's business.
//
// Nobody waits for a program: the effect ends on the thread that serves processes. A run that is
// over or wants to stop does not want its effects any more; the program is then stopped, and what
// it wrote is nobody's.
#include "run/exec.hpp"

#include <algorithm>
#include <new>

#include "base/json.hpp"
#include "base/problems.hpp"
#include "base/text.hpp"
#include "process/processes.hpp"
#include "run/builtins.hpp"
#include "run/step_run.hpp"
#include "value/value_json.hpp"

namespace soma {

namespace {

// ---- The step

// What a node keeps of its settings.
struct ExecNode {
  Value settings;
  InDoubt in_doubt = InDoubt::Fail;
};

InDoubt in_doubt_of(const Value& settings) {
  const Value* word = settings.find("in_doubt");
  if (!word || word->text() == "fail") return InDoubt::Fail;
  return word->text() == "ask" ? InDoubt::Ask : InDoubt::Retry;
}

Result<void*> bind_node(void*, const PlanNode& node) {
  SOMA_TRY(check_builtin_settings(node));
  ExecNode kept{node.config(), in_doubt_of(node.config())};
  return static_cast<void*>(std::make_unique<ExecNode>(std::move(kept)).release());
}

void unbind_node(void* kept) {
  const std::unique_ptr<ExecNode> owned(static_cast<ExecNode*>(kept));
}

Value payload_of(const ExecNode& node, const Value& input) {
  std::vector<Member> members;
  for (const Member& setting : node.settings.map()) {
    if (setting.key != "in_doubt") members.push_back(setting);
  }
  members.push_back({"input", input});
  return Value::map(std::move(members));
}

Status poll(void* user, StepCall& call) {
  const ExecNode& node = *static_cast<const ExecNode*>(user);
  if (call.turn() > 0) {
    call.done(call.results()[0]);
    return {};
  }
  EffectRequest request{std::string(exec_name), payload_of(node, call.input()), node.in_doubt};
  std::vector<EffectRequest> one;
  one.push_back(std::move(request));
  call.await(std::move(one));
  return {};
}

// ---- What came of a program

// An effect, while its program runs.
struct Execution {
  Effect& effect;
  const std::string program;
  const bool yields_json;
  Error no_memory;  // made while there was some

  Execution(Effect& of, std::string name, bool json)
      : effect(of),
        program(std::move(name)),
        yields_json(json),
        no_memory(fail(Reason::out_of_memory, "there is no memory for what program {} yields",
                       quoted(program))) {
    effect.retain();
  }
  ~Execution() { effect.release(); }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;
};

Error bad_end(const Execution& execution, const ProcessEnd& end) {
  const bool is_killed = end.signal != 0;
  const std::string errors = shown_errors(end.errors);
  return fail(Reason::exec_status, "program {} {} {}; {}", quoted(execution.program),
              is_killed ? "was ended by signal" : "ended with status",
              is_killed ? end.signal : end.status,
              end.errors.empty() ? "it wrote nothing to its stderr" : "its stderr ends: " + errors)
      .with("program", execution.program)
      .with(is_killed ? "signal" : "status", i64{is_killed ? end.signal : end.status})
      .with("stderr", errors);
}

Error bad_output(const Execution& execution, std::string_view why) {
  return fail(Reason::exec_output, "program {} wrote to its stdout what is {}",
              quoted(execution.program), why)
      .with("program", execution.program);
}

Result<Value> value_of(const Execution& execution, ProcessEnd end) {
  if (end.status != 0 || end.signal != 0) return bad_end(execution, end);
  if (execution.yields_json) {
    const Result<Json> json = Json::parse(end.output);
    if (!json.ok()) return bad_output(execution, "no JSON: " + json.error().message());
    return value_of(json->root());
  }
  const size_t invalid = find_invalid_utf8(end.output);
  if (invalid != std::string::npos) {
    return bad_output(
        execution,
        text("no text in UTF-8 (byte {}): have it write base64, or to a file", invalid));
  }
  if (end.output.ends_with('\n')) end.output.pop_back();
  return Value::text(std::move(end.output));
}

void end_execution(void* user, Result<ProcessEnd> end) {
  const std::unique_ptr<Execution> execution(static_cast<Execution*>(user));
  Effect& effect = execution->effect;
  if (!effect.is_wanted()) return;
  try {
    if (!end.ok()) {
      effect.fail(std::move(end).error());
      return;
    }
    Result<Value> value = value_of(*execution, *std::move(end));
    if (value.ok()) {
      effect.complete(*std::move(value));
    } else {
      effect.fail(std::move(value).error());
    }
  } catch (const std::bad_alloc&) {
    effect.fail(std::move(execution->no_memory));
  }
}

bool is_wanted(void* user) { return static_cast<const Execution*>(user)->effect.is_wanted(); }

// ---- The effect

constexpr i64 ns_per_ms = 1'000'000;

// Of a step that is not std.exec nobody has looked at what it asks for.
Status check_payload(const Value& payload) {
  const OpRule& rule = *std::ranges::find(builtin_rules(), exec_name, &OpRule::op);
  std::vector<SettingRule> settings(rule.settings.begin(), rule.settings.end());
  std::erase_if(settings, [](const SettingRule& setting) { return setting.name == "in_doubt"; });
  settings.push_back({"input"});
  Problems problems;
  for (const std::string& broken : broken_settings({exec_name, true, settings}, payload)) {
    problems.add(fail(Reason::exec_start, "what effect {} is asked for: {}", quoted(exec_name),
                      broken));
  }
  return std::move(problems).status();
}

std::string resolved(const std::string& folder, const Value* dir) {
  if (!dir) return folder;
  if (folder.empty() || dir->text().starts_with('/')) return dir->text();
  return folder + "/" + dir->text();
}

Result<std::string> input_of(const Value& payload) {
  const Value* input = payload.find("input");
  if (!input) return std::string();
  if (input->is(ValueKind::Text)) return input->text();
  Result<std::string> json = value_json(*input);
  if (!json.ok()) return std::move(json).error().context("what the program is to read");
  return json;
}

Result<ProcessRequest> request_of(const Value& payload, const std::string& folder) {
  ProcessRequest request;
  for (const Value& argument : payload.find("argv")->list()) {
    request.argv.push_back(argument.text());
  }
  if (const Value* variables = payload.find("env")) {
    for (const Member& variable : variables->map()) {
      if (variable.key.empty() || variable.key.find('=') != std::string::npos) {
        return fail(Reason::exec_start,
                    "env: {} is no name of a variable: it is empty, or holds a '='",
                    quoted(variable.key));
      }
      request.variables.emplace_back(variable.key, variable.value.text());
    }
  }
  request.folder = resolved(folder, payload.find("dir"));
  if (const Value* timeout_ms = payload.find("timeout_ms")) {
    request.timeout_ns = std::min(timeout_ms->integer(), Process::never_ns / ns_per_ms) * ns_per_ms;
  }
  SOMA_ASSIGN(request.input, input_of(payload));
  return request;
}

// Performs the effect for all runs of its ops.
class Executor {
 public:
  explicit Executor(ExecOptions options)
      : folder_(std::move(options.folder)), processes_(std::move(options.environment)) {}

  static void perform(void* user, Effect& effect) {
    Status begun = static_cast<Executor*>(user)->begin(effect);
    if (!begun.ok()) effect.fail(std::move(begun).error());
  }
  static void destroy(void* user) {
    const std::unique_ptr<Executor> owned(static_cast<Executor*>(user));
  }

 private:
  Status begin(Effect& effect) {
    const Value& payload = effect.payload();
    SOMA_TRY(check_payload(payload));
    SOMA_ASSIGN(ProcessRequest request, request_of(payload, folder_));
    request.variables.emplace(request.variables.begin(), "SOMA_EFFECT_KEY", effect.key());
    const Value* parse = payload.find("parse");
    auto execution = std::make_unique<Execution>(effect, request.argv[0],
                                                 parse && parse->text() == "json");
    SOMA_TRY(processes_.start(std::move(request), {execution.get(), is_wanted, end_execution}));
    [[maybe_unused]] const Execution* theirs = execution.release();  // end_execution's
    return {};
  }

  const std::string folder_;
  Processes processes_;
};

}  // namespace

Status add_exec(Ops& ops, ExecOptions options) {
  auto executor = std::make_unique<Executor>(std::move(options));
  EffectHandler handler;
  handler.name = exec_name;
  handler.user = executor.get();
  handler.destroy = Executor::destroy;
  handler.perform = Executor::perform;
  SOMA_TRY(ops.add(std::move(handler)));
  [[maybe_unused]] const Executor* theirs = executor.release();  // the ops'
  NodeOp op;
  op.name = exec_name;
  op.version = 1;
  op.poll = poll;
  op.bind = bind_node;
  op.unbind = unbind_node;
  return ops.add(std::move(op));
}

}  // namespace soma
