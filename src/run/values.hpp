// The values of a run: one slot for each node, and what constructs hand to their regions.
#pragma once

#include <atomic>
#include <map>

#include "run/course.hpp"

namespace soma {

// Slots are written by whoever runs their node and read by nodes behind it in the plan: no lock is
// needed, as waves join before anything behind them runs. Whether a slot counts is decided by the
// branches and not by the nodes: choosing an arm marks the nodes of the other arms as absent.
class Values {
 public:
  static constexpr u32 nodes_max = u32{1} << 28;  // of a plan, and so of constructs and chunks

  Values(const Plan& plan, const Course& course);

  const Value& slot(u32 node) const { return slots_[node]; }
  Value& slot_to_set(u32 node);   // by any thread, as long as it is the only one at this node
  bool is_present(u32 node) const { return present_[node] != 0; }
  void set_present(u32 begin, u32 end, bool is_present);
  // Forgets the values of nodes [begin, end); all of them, and what was handed to constructs.
  void clear(u32 begin, u32 end);
  void clear();

  // What nodes without data edges read in the regions of a construct, or in the whole plan.
  Value& feed(u32 construct) { return feeds_[construct == Course::whole ? 0 : construct + 1]; }

  // What a node reads: where it lies, or `made`, if it had to be put together or nobody else will
  // ever read it. Once for each time that the node runs.
  const Value& input(u32 node, Value& made);
  // Of a stream that begins with the node: what its chunks are cut from, in the same way.
  const Value& whole(u32 node, Value& made);
  // What nodes in streams read instead.
  Value& chunk(u32 node) { return chunks_[readings_[node].at()]; }
  // graph_ambiguous_port, for each node that reads several values of which two have one key.
  Status check_keys() const;
  // run_input, if an edge into the node names an output that its source did not yield.
  Status check_outputs(u32 node) const;
  bool names_outputs(u32 node) const;
  // Of an edge: whether it reads a node's whole value, and its key where it is one of several.
  bool reads_all_of(const Source& source) const;
  std::string_view key_of(const Source& source) const;

  // The leaves, if the plan has nodes; otherwise its input.
  Value result() const;

 private:
  enum class From : u8 { Feed, Node, Several, Chunk };
  // In four bytes, as each node has one.
  class Reading {
   public:
    Reading() = default;
    Reading(From from, bool moves, u32 at)
        : bits_(at << at_shift | (moves ? moves_bit : 0) | static_cast<u32>(from)) {}
    From from() const { return static_cast<From>(bits_ & from_bits); }
    // Node: no other node reads that value, nor this one again.
    bool moves() const { return (bits_ & moves_bit) != 0; }
    u32 at() const { return bits_ >> at_shift; }  // of feeds_, slots_ or chunks_

   private:
    static constexpr u32 from_bits = 3, moves_bit = 4, at_shift = 3;
    u32 bits_ = 0;
  };

  std::vector<u32> around_each(const Course& course) const;
  std::vector<u8> count_readers(const Course& course) const;
  // nullptr: absent, or no such member.
  const Value* read(const Source& source) const;
  const Value& input(u32 node, const Reading& reading, Value& made);
  Value collect(u32 node) const;

  const Plan& plan_;
  static constexpr u32 block_nodes = 256;  // what a note of slots that were set is for

  std::vector<Value> slots_;
  std::vector<std::atomic<u8>> was_set_;   // by block
  std::vector<u8> present_;
  std::vector<Value> feeds_;
  std::vector<Reading> readings_;
  std::vector<Value> chunks_;
  std::map<u32, Reading> wholes_;          // by the first node of a stream
};

// Most find the note made already, and do not take its cache line away from others.
inline Value& Values::slot_to_set(u32 node) {
  std::atomic<u8>& was_set = was_set_[node / block_nodes];
  if (was_set.load(std::memory_order_relaxed) == 0) was_set.store(1, std::memory_order_relaxed);
  return slots_[node];
}

}  // namespace soma
