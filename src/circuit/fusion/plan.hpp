// A fusion plan: which nodes run together as one launch, for one mode and row bucket.
// Made by fuse.cpp from a circuit and the rules; immutable; nothing in it points back.
#pragma once

#include "base/core.hpp"
#include "circuit/circuit.hpp"

namespace soma {

enum class Mode : u8 { Decode, MultiSeq, Verify, VerifyBatch, Draft, Prefill };
std::string_view mode_name(Mode mode);
std::optional<Mode> mode_by_name(std::string_view name);
constexpr size_t mode_count = 6;

// What a group computes, against its nodes run one by one: the same bytes; the reference itself (a
// fallback); or other bytes, which only a lever may allow.
enum class Numerics : u8 { BitIdentical, Reference, Differs };
std::string_view numerics_name(Numerics numerics);
constexpr u64 plan_rows_max = 65536;  // the largest row bucket

// What a backend offers, as data, so that planning needs no backend.
struct KernelCatalogue {
  std::vector<std::string> kernels;  // names a launch may carry, sorted
  double launch_ns = 300;            // fixed cost of one launch (wake, barrier)
  double bytes_per_ns = 20;          // rate at which edges go to memory and come back
};

struct PlanRequest {
  Mode mode = Mode::Decode;
  u64 rows_max = 1;                  // the row bucket: the plan serves 1..rows_max rows
  Policy policy = Policy::Fast;
};

struct Group {
  std::string rule;                  // "norm_quant_qkv_rope_kv"
  std::string emitter;               // who turns it into launches
  std::vector<std::string> kernels;
  Numerics numerics = Numerics::BitIdentical;
  std::vector<NodeId> nodes;         // in the pattern's order
  u32 launches = 1;                  // exact; emitting another number is an error
  u32 copies = 0;
  double saved_ns = 0;               // against the fallback rules, by the catalogue's costs
};

enum class EdgeState : u8 {
  Absent,        // not made in this plan
  Fused,         // made and read inside one group: has no memory
  Materialized,  // has a place in a buffer
};

struct FusionPlan {
  PlanRequest request;
  std::string architecture;
  std::vector<Group> groups;         // in execution order
  std::vector<EdgeState> edge_states;  // by EdgeId
  std::string digest;                // over what runs, not over why: hex

  u64 launches() const;
  u64 copies() const;
  // One line a group: the golden text of tests/golden and of `explain --stage=fusion`.
  std::string dump(const Circuit& circuit) const;
};

// A parsed and checked rule file. Opaque here; rules.hpp has the inside.
class FusionRules {
 public:
  static Result<FusionRules> parse(std::string_view toml);
  FusionRules(FusionRules&&) noexcept;
  FusionRules& operator=(FusionRules&&) noexcept;
  ~FusionRules();
  struct Table;
  const Table& table() const { return *table_; }

 private:
  explicit FusionRules(std::unique_ptr<Table> table);
  std::unique_ptr<Table> table_;
};
std::string_view embedded_rules();  // the text of FUSIONS.toml

// The pipeline as prose is fuse.cpp. The circuit has been through resolve_precision.
Result<FusionPlan> fuse(const Circuit& circuit, const FusionRules& rules,
                        const KernelCatalogue& catalogue, const PlanRequest& request);

// For each rule that could start at or contain `node`: won, or why it lost.
Result<std::string> explain_node(const Circuit& circuit, const FusionRules& rules,
                                 const KernelCatalogue& catalogue, const PlanRequest& request,
                                 std::string_view node);

}  // namespace soma
