// Where every materialised edge lives: in a model buffer, or at an offset of one arena.
#pragma once

#include "base/core.hpp"
#include "circuit/circuit.hpp"
#include "circuit/fusion/plan.hpp"

namespace soma {

// What the groups demand of placement, before offsets exist.
struct Layout {
  struct Alias { EdgeId out, in; };          // out overwrites in (a declared in-place pair)
  std::vector<EdgeId> external;              // stream edges and bound outputs
  std::vector<Alias> aliases;
  std::vector<std::vector<EdgeId>> packs;    // back to back, in this order
};

struct Slot {
  EdgeId edge = 0;
  ModelBuffer buffer = ModelBuffer::None;    // None: the arena
  u64 offset = 0;                            // arena offset, 256-byte aligned
  u64 bytes = 0;                             // for rows_max rows
  u64 row_bytes = 0;
  u32 first_group = 0, last_group = 0;       // live range, inclusive
};

struct BufferPlan {
  std::vector<Slot> slots;                   // by edge id, ascending
  u64 arena_bytes = 0;
  u64 lower_bound_bytes = 0;                 // peak of live bytes: no placement can need less
  u64 materialized_bytes = 0;                // if nothing were shared
  u64 hidden_bytes = 0;                      // of the model buffers, for rows_max rows
  u64 logits_row_bytes = 0;                  // one row; how many rows there are is the session's
  std::string plan_digest;                   // of the FusionPlan it was made for
  const Slot* find(EdgeId edge) const;
  std::string dump(const Circuit& circuit) const;     // table
  std::string picture(const Circuit& circuit) const;  // bytes over groups, as text
};

Result<Layout> lay_out(const Circuit& circuit, const FusionPlan& plan);
Result<BufferPlan> place(const Circuit& circuit, const FusionPlan& plan, const Layout& layout);
// Proves, independently of place(): no two live slots overlap; in-place writes only by the last
// reader; writers of the stream after its readers; sizes hold rows_max rows; digests agree.
Status verify_storage(const Circuit& circuit, const FusionPlan& plan, const Layout& layout,
                      const BufferPlan& buffers);

}  // namespace soma
