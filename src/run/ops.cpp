// Keeps ops sorted by their names, and finds them.
#include "run/ops.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace soma {

namespace {

using Key = std::pair<std::string_view, u32>;
Key key_of(const NodeOp& op) { return {op.name, op.version}; }

Status check_name(std::string_view whose, std::string_view name) {
  if (!name.empty() && find_invalid_utf8(name) == std::string::npos) return {};
  return fail(Reason::argument_range, "{} name is text in UTF-8 and not empty, got {}", whose,
              quoted(name));
}

void destroy_all(const std::vector<NodeOp>& ops) {
  for (const NodeOp& op : ops) {
    if (op.destroy) op.destroy(op.user);
    if (op.prepare_destroy) op.prepare_destroy(op.prepare_user);
    if (op.vjp_destroy) op.vjp_destroy(op.vjp_user);
  }
}

}  // namespace

Ops::~Ops() {
  destroy_all(ops_);
  destroy_all(programs_);
  if (adder_.destroy) adder_.destroy(adder_.user);
  for (const EffectHandler& handler : handlers_) {
    if (handler.destroy) handler.destroy(handler.user);
  }
}

Status Ops::add(NodeOp op) {
  SOMA_TRY(check_name("an op's", op.name));
  if (!op.forward && !op.poll) {
    return fail(Reason::argument_null, "op {} has no function", quoted(op.name));
  }
  const auto at = std::ranges::lower_bound(ops_, key_of(op), {}, key_of);
  if (at != ops_.end() && key_of(*at) == key_of(op)) {
    return fail(Reason::ops_duplicate, "op {} of version {} is registered already",
                quoted(op.name), op.version)
        .with("op", op.name);
  }
  ops_.insert(at, std::move(op));
  return {};
}

// An op that computes, to which something is added: its vjp, or what prepares its state.
Result<NodeOp*> Ops::op_to_extend(std::string_view name, u32 version, std::string_view by) {
  const auto at = std::ranges::lower_bound(ops_, Key{name, version}, {}, key_of);
  if (at == ops_.end() || key_of(*at) != Key{name, version}) {
    const std::string others = versions(name);
    return fail(Reason::argument_range, "there is no op {} of version {}{}: add it before its {}",
                quoted(name), version,
                others.empty() ? std::string() : text(", but of version {}", others), by)
        .with("op", name);
  }
  if (!at->poll) return &*at;
  return fail(Reason::argument_range, "op {} works in turns, and such have no {}", quoted(name), by)
      .with("op", name);
}

namespace {

Error has_already(const NodeOp& op, std::string_view what) {
  return fail(Reason::ops_duplicate, "op {} of version {} has a {} already", quoted(op.name),
              op.version, what)
      .with("op", op.name);
}

}  // namespace

Status Ops::add_prepare(std::string_view name, u32 version, Forward prepare, void* user,
                        void (*destroy)(void* user)) {
  SOMA_ASSIGN(NodeOp* const op, op_to_extend(name, version, "prepare"));
  if (op->prepare) return has_already(*op, "prepare");
  op->prepare = prepare;
  op->prepare_user = user;
  op->prepare_destroy = destroy;
  return {};
}

Status Ops::add_vjp(std::string_view name, u32 version, Vjp vjp, void* user,
                    void (*destroy)(void* user)) {
  SOMA_ASSIGN(NodeOp* const op, op_to_extend(name, version, "vjp"));
  if (op->vjp) return has_already(*op, "vjp");
  op->vjp = vjp;
  op->vjp_user = user;
  op->vjp_destroy = destroy;
  return {};
}

Status Ops::set_gradient_adder(GradientAdder adder) {
  if (adder_.add) {
    return fail(Reason::ops_duplicate, "how gradients are added has been said already");
  }
  adder_ = adder;
  return {};
}

Status Ops::add(EffectHandler handler) {
  SOMA_TRY(check_name("an effect's", handler.name));
  if (!handler.perform) {
    return fail(Reason::argument_null, "effect {} has no function", quoted(handler.name));
  }
  const auto at = std::ranges::lower_bound(handlers_, handler.name, {}, &EffectHandler::name);
  if (at != handlers_.end() && at->name == handler.name) {
    return fail(Reason::ops_duplicate, "a handler of effect {} is registered already",
                quoted(handler.name))
        .with("effect", handler.name);
  }
  handlers_.insert(at, std::move(handler));
  return {};
}

Status Ops::add_program(NodeOp op) {
  SOMA_TRY(check_name("a model's", op.name));
  if (!op.forward) {
    return fail(Reason::argument_null, "model {} has no function", quoted(op.name));
  }
  const auto at = std::ranges::lower_bound(programs_, op.name, {}, &NodeOp::name);
  if (at != programs_.end() && at->name == op.name) {
    return fail(Reason::ops_duplicate, "model {} has been given code already", quoted(op.name))
        .with("model", op.name);
  }
  programs_.insert(at, std::move(op));
  return {};
}

const NodeOp* Ops::program(std::string_view model) const {
  const auto at = std::ranges::lower_bound(programs_, model, {}, &NodeOp::name);
  return at != programs_.end() && at->name == model ? &*at : nullptr;
}

const EffectHandler* Ops::handler(std::string_view name) const {
  const auto at = std::ranges::lower_bound(handlers_, name, {}, &EffectHandler::name);
  return at != handlers_.end() && at->name == name ? &*at : nullptr;
}

const NodeOp* Ops::find(std::string_view name, u32 version) const {
  for (const u32 wanted : {version, u32{0}}) {
    const auto at = std::ranges::lower_bound(ops_, Key{name, wanted}, {}, key_of);
    if (at != ops_.end() && key_of(*at) == Key{name, wanted}) return &*at;
  }
  return nullptr;
}

std::string Ops::versions(std::string_view name) const {
  std::string out;
  for (const NodeOp& op : ops_) {
    if (op.name != name) continue;
    if (!out.empty()) out += ", ";
    out += text("{}", op.version);
  }
  return out;
}

}  // namespace soma
