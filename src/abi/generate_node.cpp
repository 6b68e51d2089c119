// Where the two planes meet: a node of a graph that runs a model's session.
//
// Problem. The control plane knows nodes, values and ops, the data plane models, sequences and
// tokens, and neither may know the other: graphs run without models, models without graphs.
//
// Idea. For a run, a program is a node like any other, whose code is found by the name of a model.
// The wall, which sees both sides, makes that code of a session: when a run is made, the node's
// settings become options of generating, in the words that those have everywhere else; when the
// node is called, what it reads becomes a prompt in the model's own chat template, and what comes
// of that a text. Each call has a sequence of its own, which takes KV blocks from the session's
// pool as it grows and gives them back at the end. So branches generate at the same time, taking
// turns step by step, and what one of them yields depends on no other: a token depends on the
// model, the policy and the tokens before it only.
//
// Stopping. The core's long work looks at a Cancel every few milliseconds: between tokens, between
// the steps of a prompt, and within them. The one made here asks the call whether to go on, so that
// whatever ends a run (its cancel object, its deadline, a branch that failed) ends the generation.
//
// Identity. A cache's key must tell two files of the same name apart. What a session generates is
// decided by the file's content, by the policy, and by the context, where a text is cut off;
// neither the kernel set nor the number of threads matters (backend/cpu/NUMERICS.md), nor how the
// prompt is cut into steps. Time stamps and sizes would be cheaper than reading the file, but a
// file that was copied has others and a file that was changed may have the same; so it is read,
// once a model, and only if a run with a cache has use for it. A library that computes other
// numbers from the same file has to change the name with which the identity begins.
#include "abi/generate_node.hpp"

#include <charconv>

#include "abi/generate_options.hpp"
#include "base/problems.hpp"
#include "base/text.hpp"
#include "run/node_call.hpp"
#include "value/describe.hpp"

namespace soma::wall {

namespace {

constexpr std::string_view task_name = "generate";
// A node's word for the option "tokens", and one that is no option: what the model is told first.
constexpr std::string_view tokens_setting = "max_tokens";
constexpr std::string_view system_setting = "system";

struct Generating {
  Ref<soma_session> session;
};

// What is kept of one node's settings.
struct Wish {
  const soma_session& session;
  GenerateOptions options = {};
  std::optional<std::string> system = {};  // nothing: the template's own
};

// ---- Settings

std::string_view setting_name(const OptionInfo& option) {
  return option.key == "tokens" ? tokens_setting : option.key;
}

const OptionInfo* find_option(std::string_view setting) {
  for (const OptionInfo& option : option_table()) {
    if (option.kind == OptionKind::Generate && setting_name(option) == setting) return &option;
  }
  return nullptr;
}

Error unknown_setting(std::string_view key) {
  std::string known(system_setting);
  for (const OptionInfo& option : option_table()) {
    if (option.kind == OptionKind::Generate) known += text(", {}", setting_name(option));
  }
  return fail(Reason::run_program, "config: {} is no setting of task {}, which takes {}",
              quoted(key), task_name, known);
}

// Documents have no number beyond 2^53, and seeds do.
std::optional<i64> number_of_digits(const Value& value) {
  if (!value.is(ValueKind::Text)) return std::nullopt;
  const std::string_view digits = value.text();
  i64 number = 0;
  const auto [end, problem] = std::from_chars(digits.begin(), digits.end(), number);
  if (problem != std::errc() || end != digits.end()) return std::nullopt;
  return number;
}

Result<OptionValue> option_value(const OptionInfo& option, const Value& value) {
  std::string_view expected;
  switch (option.type) {
    case OptionType::Int:
      if (value.is(ValueKind::Integer)) return OptionValue(value.integer());
      if (const std::optional<i64> number = number_of_digits(value)) return OptionValue(*number);
      expected = "a whole number, beyond 2^53 as a text of its digits";
      break;
    case OptionType::Bool:
      if (value.is(ValueKind::Bool)) return OptionValue(i64{value.truth()});
      expected = "true or false";
      break;
    case OptionType::Double:
      if (value.is(ValueKind::Integer)) return OptionValue(static_cast<double>(value.integer()));
      if (value.is(ValueKind::Number)) return OptionValue(value.number());
      expected = "a number";
      break;
    case OptionType::Text:
      if (value.is(ValueKind::Text)) return OptionValue(value.text());
      expected = "a text";
      break;
  }
  return fail(Reason::run_program, "config.{}: expected {}, got {}", setting_name(option), expected,
              describe(value));
}

Status read_setting(const Member& setting, soma_options& options, Wish& wish) {
  if (setting.key == system_setting) {
    if (!setting.value.is(ValueKind::Text)) {
      return fail(Reason::run_program, "config.{}: expected a text, got {}", system_setting,
                  describe(setting.value));
    }
    wish.system = setting.value.text();
    return {};
  }
  const OptionInfo* option = find_option(setting.key);
  if (!option) return unknown_setting(setting.key);
  SOMA_ASSIGN(OptionValue value, option_value(*option, setting.value));
  const Status set = options.set(option->key, std::move(value));
  if (set.ok()) return {};
  return fail(Reason::run_program, "config.{}: {}", setting.key, set.error().message());
}

void read_config(const Value& config, Wish& wish, Problems& problems) {
  if (!config.is(ValueKind::Map) && !config.is_null()) {
    problems.add(fail(Reason::run_program, "config: expected a map of settings, got {}",
                      describe(config)));
    return;
  }
  soma_options options(OptionKind::Generate);
  const std::span<const Member> settings = config.is_null() ? std::span<const Member>()
                                                            : config.map();
  for (const Member& setting : settings) {
    Status read = read_setting(setting, options, wish);
    if (!read.ok()) problems.add(std::move(read).error());
  }
  const Result<Settings> read = Settings::of(&options, OptionKind::Generate);
  wish.options = generate_option(*read);
}

Result<void*> bind(void* user, const PlanNode& node) {
  const soma_session& session = *static_cast<Generating*>(user)->session;
  auto wish = std::make_unique<Wish>(Wish{session});
  Problems problems;
  if (node.task() != task_name) {
    problems.add(fail(Reason::run_program, "a session's task is {}, got {}: set \"task\"",
                      quoted(task_name), quoted(node.task())));
  }
  if (!node.deployment().is_null()) {
    problems.add(fail(Reason::run_program,
                      "a session has its own deployment, expected null, got {}: leave it out",
                      describe(node.deployment())));
  }
  if (node.device() != "cpu") {
    problems.add(fail(Reason::run_program, "the session computes on the device cpu, not on {}",
                      quoted(node.device())));
  }
  const Message probe[] = {{"user", "x"}};
  const Result<std::string> chat = session.model->model.tokenizer().chat(probe);
  if (!chat.ok()) problems.add(fail(Reason::run_program, "{}", chat.error().message()));
  read_config(node.config(), *wish, problems);
  SOMA_TRY(std::move(problems).status());
  return static_cast<void*>(wish.release());
}

void unbind(void* bound) { const std::unique_ptr<Wish> last(static_cast<Wish*>(bound)); }

// ---- Calls

Result<Message> turn_of(const Value& turn) {
  const bool is_map = turn.is(ValueKind::Map) && turn.map().size() == 2;
  const Value* role = is_map ? turn.find("role") : nullptr;
  const Value* content = is_map ? turn.find("content") : nullptr;
  if (!role || !role->is(ValueKind::Text) || !content || !content->is(ValueKind::Text)) {
    return fail(Reason::run_input, R"(a turn is a map of the texts "role" and "content", got {})",
                describe(turn));
  }
  return Message{role->text(), content->text()};
}

// A text is one turn of the user's. What a system turn says comes first, unless there is one.
Result<std::vector<Message>> conversation_of(const Value& input, const Wish& wish) {
  std::vector<Message> turns;
  if (wish.system) turns.push_back({"system", *wish.system});
  if (input.is(ValueKind::Text)) {
    turns.push_back({"user", input.text()});
    return turns;
  }
  if (!input.is(ValueKind::List) || input.list().empty()) {
    return fail(Reason::run_input,
                "a program reads a text, or a list of turns that is not empty, got {}",
                describe(input));
  }
  for (const Value& each : input.list()) {
    SOMA_ASSIGN(const Message turn, turn_of(each));
    turns.push_back(turn);
  }
  if (wish.system && turns[1].role == "system") turns.erase(turns.begin());
  return turns;
}

Status forward(void* user, NodeCall& call) {
  const Wish& wish = *static_cast<const Wish*>(user);
  SOMA_ASSIGN(const std::vector<Message> turns, conversation_of(call.input(), wish));
  SOMA_ASSIGN(const std::vector<TokenId> prompt,
              wish.session.model->model.tokenizer().encode_chat(turns));
  SOMA_ASSIGN(const std::unique_ptr<Sequence> sequence, wish.session.session->start());
  const auto goes_on = [](void* at_hand, const char*, u64, u64) {
    return static_cast<NodeCall*>(at_hand)->check().ok();
  };
  Cancel cancel;
  cancel.set_tick({goes_on, &call});
  SOMA_ASSIGN(GenerateResult made, generate(*sequence, prompt, wish.options, {}, {}, &cancel));
  if (made.finish == Finish::ContextFull) {
    return fail(Reason::context_full,
                "the answer has no end within the session's context of {} tokens, of which the "
                "prompt takes {}: ask for less (\"max_tokens\"), or make a session with more",
                wish.session.session->facts().context, prompt.size());
  }
  call.output() = Value::text(std::move(made.text));
  return {};
}

std::optional<DigestBytes> identity(void* user) {
  const soma_session& session = *static_cast<Generating*>(user)->session;
  const DigestBytes file = session.model->content_digest();
  ContentDigest digest;
  digest.feed(text("session 1\n{}\n{}\n", policy_name(session.policy),
                   session.session->facts().context));
  digest.feed({reinterpret_cast<const char*>(file.data()), file.size()});
  return digest.bytes();
}

void destroy(void* user) { const std::unique_ptr<Generating> last(static_cast<Generating*>(user)); }

}  // namespace

Status add_generating(Ops& ops, std::string_view model, const soma_session& session) {
  auto user = std::make_unique<Generating>(Generating{Ref<soma_session>::share(&session)});
  NodeOp op;
  op.name = model;
  op.forward = forward;
  op.user = user.get();
  op.destroy = destroy;
  op.bind = bind;
  op.unbind = unbind;
  op.identity = identity;
  SOMA_TRY(ops.add_program(std::move(op)));
  [[maybe_unused]] Generating* const theirs = user.release();
  return {};
}

}  // namespace soma::wall
