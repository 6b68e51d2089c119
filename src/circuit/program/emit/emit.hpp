// Emitters: what turns a group into launches. One table names them all.
//
// An emitter knows the arguments of its kernels and nothing else. Which kernels run is the rule's
// to say; where values lie is the buffer plan's.
#pragma once

#include <map>

#include "base/problems.hpp"
#include "circuit/program/launch.hpp"

namespace soma {

// What all emitters write into.
struct Emitted {
  Program program;
  std::map<std::string, u32> weight_index;  // by tensor
  Problems problems;
};

// The group an emitter works on, and where its launches go. Its nodes come by their place among the
// emitter's members; an optional member that the group lacks is a null pointer.
class Emission {
 public:
  Emission(const Circuit& circuit, const BufferPlan& buffers, const Group& group, u32 index,
           std::vector<const Node*> members, Emitted& emitted)
      : circuit_(circuit),
        buffers_(buffers),
        group_(group),
        index_(index),
        members_(std::move(members)),
        emitted_(emitted) {}

  const Node* member(size_t place) const { return members_[place]; }
  // The first member that the group has.
  const Node& first() const;
  u32 width(EdgeId edge) const { return static_cast<u32>(circuit_.edges[edge].width); }
  RowsOf rows(EdgeId edge) const { return circuit_.edges[edge].rows; }

  // Appends a launch of the group's kernel number `kernel`; the calls below add its arguments.
  Emission& launch(size_t kernel, Grid grid);
  Emission& reads(std::string_view name, EdgeId edge) { return matrix(name, edge, false); }
  Emission& writes(std::string_view name, EdgeId edge) { return matrix(name, edge, true); }
  Emission& weight(std::string_view name, const Node& node);
  Emission& state(std::string_view name, const Node& node, bool written);
  // How many int8 rows stand for one of what `quant` makes, which stays within the launch.
  Emission& terms(const Node& quant);
  Emission& params(const Node& node, std::initializer_list<std::string_view> names);

 private:
  Emission& matrix(std::string_view name, EdgeId edge, bool written);
  Arg& argument(std::string_view name, ArgKind kind);

  const Circuit& circuit_;
  const BufferPlan& buffers_;
  const Group& group_;
  const u32 index_;
  std::vector<const Node*> members_;
  Emitted& emitted_;
};

struct GroupMember {
  Op op;
  bool optional = false;
};

struct Emitter {
  std::string_view id;
  std::span<const GroupMember> members;  // what a group must consist of, in the pattern's order
  void (*emit)(Emission& emission);
};
// nullptr if there is none of that name.
const Emitter* find_emitter(std::string_view id);

// One function an emitter, in the file of its family.
void emit_embed(Emission& emission);  // rows.cpp
void emit_gather_rows(Emission& emission);
void emit_residual_add(Emission& emission);
void emit_sample(Emission& emission);
void emit_norm(Emission& emission);  // norm.cpp
void emit_act_quant(Emission& emission);
void emit_linear(Emission& emission);  // linear.cpp
void emit_rope(Emission& emission);    // attention.cpp
void emit_kv_write(Emission& emission);
void emit_qkv_rope_kv(Emission& emission);
void emit_attend(Emission& emission);
void emit_silu_mul(Emission& emission);  // feed_forward.cpp
void emit_gate_up_silu(Emission& emission);

}  // namespace soma
