// The built-in ops. What a node's settings say is checked and parsed once, when a run is made.
#include "run/builtins.hpp"

#include <time.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/problems.hpp"
#include "base/text.hpp"
#include "plan/label.hpp"
#include "run/exec.hpp"
#include "run/gradient_call.hpp"
#include "run/node_call.hpp"
#include "run/numbers.hpp"
#include "value/describe.hpp"
#include "value/template.hpp"

namespace soma {

namespace {

// ---- Settings

constexpr SettingRule const_settings[] = {{"value", SettingType::Any, true}};
constexpr SettingRule add_settings[] = {{"value", SettingType::Number, true}};
constexpr SettingRule get_settings[] = {{"path", SettingType::Path, true}};
constexpr SettingRule test_settings[] = {{"predicate", SettingType::Predicate, true}};
constexpr SettingRule format_settings[] = {{"template", SettingType::Template, true}};
constexpr SettingRule sleep_settings[] = {{"ms", SettingType::Natural, true}};
constexpr SettingRule fail_settings[] = {{"message", SettingType::Text, true}};
constexpr SettingRule exec_settings[] = {
    {"argv", SettingType::TextList, true, {}, 1},
    {"env", SettingType::TextMap},
    {"dir", SettingType::Text},
    {"timeout_ms", SettingType::Natural, false, {}, 1},
    {"parse", SettingType::Text, false, "text|json"},
    {"in_doubt", SettingType::Text, false, "fail|retry|ask"},
};

constexpr OpRule rules[] = {
    {"std.identity"},
    {"std.const", false, const_settings},
    {"std.add", false, add_settings},
    {"std.sum"},
    {"std.concat"},
    {"std.get", false, get_settings},
    {"std.test", false, test_settings},
    {"std.format", false, format_settings},
    {"std.sleep", false, sleep_settings},
    {"std.fail", false, fail_settings},
    {exec_name, true, exec_settings},  // its code is in exec.cpp, and bound if the host allows it
};

// What one of these ops keeps of a node's settings.
template <typename T>
void forget(void* kept) {
  const std::unique_ptr<T> owned(static_cast<T*>(kept));
}

Result<Value> make_value(const Value& setting) { return setting; }
Result<std::string> make_text(const Value& setting) { return setting.text(); }
Result<i64> make_integer(const Value& setting) { return setting.integer(); }
Result<Path> make_path(const Value& setting) { return Path::parse(setting.text()); }
Result<Predicate> make_predicate(const Value& setting) { return Predicate::parse(setting.text()); }
Result<Template> make_template(const Value& setting) { return Template::parse(setting.text()); }

// Keeps what `make` makes of the op's one setting; ops without settings keep nothing.
Result<void*> bind_nothing(void*, const PlanNode& node) {
  SOMA_TRY(check_builtin_settings(node));
  return static_cast<void*>(nullptr);
}

template <typename T, Result<T> (*make)(const Value& setting)>
Result<void*> bind_setting(void*, const PlanNode& node) {
  SOMA_TRY(check_builtin_settings(node));
  SOMA_ASSIGN(T made, make(node.config().map()[0].value));
  return static_cast<void*>(std::make_unique<T>(std::move(made)).release());
}

// ---- Numbers

Status add(void* user, NodeCall& call) {
  const Value& input = call.input();
  if (!is_number(input)) {
    return fail(Reason::run_input, "std.add: expected a number, got {}", describe(input));
  }
  call.output() = sum_of(input, *static_cast<const Value*>(user));
  return {};
}

Status sum(void*, NodeCall& call) {
  const Value& input = call.input();
  if (is_number(input)) {
    call.output() = input;
    return {};
  }
  if (!input.is(ValueKind::Map)) {
    return fail(Reason::run_input, "std.sum: expected a number or a map of numbers, got {}",
                describe(input));
  }
  Value total = Value::integer(0);
  for (const Member& member : input.map()) {
    if (!is_number(member.value)) {
      return fail(Reason::run_input, "std.sum: expected a number as member {}, got {}",
                  quoted(member.key), describe(member.value));
    }
    total = sum_of(total, member.value);
  }
  call.output() = std::move(total);
  return {};
}

// ---- Texts and lists

Status concat_texts(std::span<const Member> members, Value& out) {
  std::string all;
  for (const Member& member : members) all += member.value.text();
  out = Value::text(std::move(all));
  return {};
}

Status concat_lists(std::span<const Member> members, Value& out) {
  std::vector<Value> all;
  for (const Member& member : members) {
    const std::span<const Value> list = member.value.list();
    all.insert(all.end(), list.begin(), list.end());
  }
  out = Value::list(std::move(all));
  return {};
}

Status concat(void*, NodeCall& call) {
  const Value& input = call.input();
  const auto can_join = [](const Value& value) {
    return value.is(ValueKind::Text) || value.is(ValueKind::List);
  };
  if (can_join(input)) {
    call.output() = input;
    return {};
  }
  if (!input.is(ValueKind::Map) || input.map().empty()) {
    return fail(Reason::run_input, "std.concat: expected texts or lists, got {}", describe(input));
  }
  const std::span<const Member> members = input.map();
  const ValueKind kind = members[0].value.kind();
  for (const Member& member : members) {
    if (can_join(member.value) && member.value.is(kind)) continue;
    return fail(Reason::run_input, "std.concat: expected {} as member {}, got {}",
                kind == ValueKind::List   ? "a list, as the others are,"
                : kind == ValueKind::Text ? "a text, as the others are,"
                                          : "a text or a list",
                quoted(member.key), describe(member.value));
  }
  return kind == ValueKind::Text ? concat_texts(members, call.output())
                                 : concat_lists(members, call.output());
}

// ---- The others

Status identity(void*, NodeCall& call) {
  call.output() = call.take_input();
  return {};
}

Status constant(void* user, NodeCall& call) {
  call.output() = *static_cast<const Value*>(user);
  return {};
}

Status get(void* user, NodeCall& call) {
  SOMA_ASSIGN(const Value* there, static_cast<const Path*>(user)->follow(call.input()));
  call.output() = *there;
  return {};
}

Status test(void* user, NodeCall& call) {
  SOMA_ASSIGN(const bool holds, static_cast<const Predicate*>(user)->test(call.input()));
  call.output() = Value::boolean(holds);
  return {};
}

Status format(void* user, NodeCall& call) {
  SOMA_ASSIGN(std::string filled, static_cast<const Template*>(user)->fill(call.input()));
  call.output() = Value::text(std::move(filled));
  return {};
}

// In short steps, as nobody wakes it.
Status sleep(void* user, NodeCall& call) {
  constexpr i64 step_ns = 2'000'000, ns_per_ms = 1'000'000;
  const i64 ms = *static_cast<const i64*>(user);
  const i64 end_ns = now_ns() + std::min(ms, INT64_MAX / (4 * ns_per_ms)) * ns_per_ms;
  for (i64 left_ns = end_ns - now_ns(); left_ns > 0; left_ns = end_ns - now_ns()) {
    SOMA_TRY(call.check());
    const timespec pause = {.tv_sec = 0, .tv_nsec = std::min(left_ns, step_ns)};
    nanosleep(&pause, nullptr);
  }
  call.output() = call.take_input();
  return {};
}

Status fail_always(void* user, NodeCall&) {
  return fail(Reason::run_node_failed, "{}", printable(*static_cast<const std::string*>(user)));
}

// ---- Gradients

// What is handed on, or only shifted, has the gradient of what came of it.
Status same_gradient(void*, GradientCall& call) {
  call.output() = call.gradient();
  return {};
}

// Each number has the gradient of the sum.
Status sum_gradient(void*, GradientCall& call) {
  if (!call.input().is(ValueKind::Map)) return same_gradient(nullptr, call);
  std::vector<Member> members;
  for (const Member& member : call.input().map()) members.push_back({member.key, call.gradient()});
  call.output() = Value::map(std::move(members));
  return {};
}

Status place_gradient(void* user, GradientCall& call) {
  call.output() = static_cast<const Path*>(user)->place(call.input(), call.gradient());
  return {};
}

NodeOp plain(std::string_view name, Forward forward) {
  NodeOp op;
  op.name = name;
  op.version = 1;
  op.forward = forward;
  op.bind = bind_nothing;
  return op;
}

NodeOp with_vjp(NodeOp op, Vjp vjp) {
  op.vjp = vjp;
  return op;
}

template <typename T, Result<T> (*make)(const Value& setting)>
NodeOp with_setting(std::string_view name, Forward forward) {
  NodeOp op = plain(name, forward);
  op.bind = bind_setting<T, make>;
  op.unbind = forget<T>;
  return op;
}

}  // namespace

std::span<const OpRule> builtin_rules() { return rules; }

Status check_builtin_settings(const PlanNode& node) {
  const OpRule* rule = std::ranges::find(rules, node.op_name(), &OpRule::op);
  Problems problems;
  for (const std::string& broken : broken_settings(*rule, node.config())) {
    problems.add(fail(Reason::graph_config, "{}", broken));
  }
  return std::move(problems).status();
}

Status add_builtins(Ops& ops) {
  SOMA_TRY(ops.add(with_vjp(plain("std.identity", identity), same_gradient)));
  SOMA_TRY(ops.add(with_vjp(plain("std.sum", sum), sum_gradient)));
  SOMA_TRY(ops.add(plain("std.concat", concat)));
  SOMA_TRY(ops.add(with_setting<Value, make_value>("std.const", constant)));
  SOMA_TRY(ops.add(
      with_vjp(with_setting<Value, make_value>("std.add", add), same_gradient)));
  SOMA_TRY(ops.add(with_vjp(with_setting<Path, make_path>("std.get", get), place_gradient)));
  SOMA_TRY(ops.add(with_setting<Predicate, make_predicate>("std.test", test)));
  SOMA_TRY(ops.add(with_setting<Template, make_template>("std.format", format)));
  SOMA_TRY(ops.add(with_setting<i64, make_integer>("std.sleep", sleep)));
  SOMA_TRY(ops.add(with_setting<std::string, make_text>("std.fail", fail_always)));
  return {};
}

}  // namespace soma
