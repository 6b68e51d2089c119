// How a fusion plan over placed buffers becomes a program, from beginning to end.
//
// Nothing partial leaves this file: the program is a local value until it is whole.
#include "circuit/program/barriers.hpp"
#include "circuit/program/digest.hpp"
#include "circuit/program/emit/emit.hpp"

namespace soma {

namespace {

// The group's nodes by their place among the emitter's members; nothing if they don't fit.
std::optional<std::vector<const Node*>> assign_members(const Circuit& circuit, const Group& group,
                                                       const Emitter& emitter) {
  std::vector<const Node*> members;
  size_t next = 0;
  for (const GroupMember& member : emitter.members) {
    const Node* node = next < group.nodes.size() ? &circuit.nodes[group.nodes[next]] : nullptr;
    const bool fits = node != nullptr && node->op == member.op;
    if (!fits && !member.optional) return std::nullopt;
    members.push_back(fits ? node : nullptr);
    next += fits;
  }
  if (next != group.nodes.size()) return std::nullopt;
  return members;
}

class Compiler {
 public:
  Compiler(const Circuit& circuit, const FusionPlan& plan, const BufferPlan& buffers)
      : circuit_(circuit), plan_(plan), buffers_(buffers) {
    Program& program = emitted_.program;
    program.request = plan.request;
    program.plan_digest = plan.digest;
    program.arena_bytes = buffers.arena_bytes;
    program.hidden_bytes = buffers.hidden_bytes;
    program.logits_row_bytes = buffers.logits_row_bytes;
    program.layers = circuit.layers;
    program.kv_heads = circuit.kv_heads;
    program.head_dim = circuit.head_dim;
    program.kv_format = plan.request.policy == Policy::Fast ? Format::F16 : Format::F32;
  }

  Result<Program> run() && {
    for (u32 g = 0; g < plan_.groups.size(); ++g) emit(g);
    if (!emitted_.problems.none()) return std::move(emitted_.problems).take();
    // From here on every launch's arguments are there, and there are as many as the plan says.

    set_barriers(emitted_.program);
    emitted_.program.digest = program_digest(emitted_.program);
    return std::move(emitted_.program);
  }

 private:
  void emit(u32 g) {
    const Group& group = plan_.groups[g];
    const Emitter* emitter = find_emitter(group.emitter);
    if (emitter == nullptr) {
      emitted_.problems.add(fail(Reason::program_emit,
                                "group {} (rule '{}') wants emitter '{}', which does "
                                "not exist",
                                g, group.rule, group.emitter));
      return;
    }
    std::optional<std::vector<const Node*>> members = assign_members(circuit_, group, *emitter);
    if (!members) {
      emitted_.problems.add(fail(Reason::program_emit,
                                "group {} (rule '{}'): {}; emitter '{}' takes {}", g, group.rule,
                                ops_of(group), group.emitter, ops_of(*emitter)));
      return;
    }
    const size_t before = emitted_.program.launches.size();
    Emission emission(circuit_, buffers_, group, g, std::move(*members), emitted_);
    emitter->emit(emission);
    const size_t launches = emitted_.program.launches.size() - before;
    constexpr u32 copies = 0;  // no emitter queues any: a launch is a kernel
    if (launches != group.launches || copies != group.copies) {
      emitted_.problems.add(fail(Reason::program_emit,
                                "emitter '{}' of group {} (rule '{}') queued {} "
                                "launches and {} copies, the plan says {} and {}",
                                group.emitter, g, group.rule, launches, copies, group.launches,
                                group.copies));
    }
  }

  std::string ops_of(const Group& group) const {
    std::string out;
    for (const NodeId node : group.nodes) {
      out += (out.empty() ? "" : " ") + canonical_name(circuit_.nodes[node]);
    }
    return out;
  }

  static std::string ops_of(const Emitter& emitter) {
    std::string out;
    for (const GroupMember& member : emitter.members) {
      out += text("{}{}{}", out.empty() ? "" : " ", op_info(member.op).name,
                  member.optional ? "?" : "");
    }
    return out;
  }

  const Circuit& circuit_;
  const FusionPlan& plan_;
  const BufferPlan& buffers_;
  Emitted emitted_;
};

}  // namespace

Result<Program> compile_program(const Circuit& circuit, const FusionPlan& plan,
                                const Layout& layout, const BufferPlan& buffers) {
  SOMA_TRY(verify_storage(circuit, plan, layout, buffers));
  // From here on plan and buffers are of this circuit, and every place is safe to use.

  return Compiler(circuit, plan, buffers).run();
}

}  // namespace soma
