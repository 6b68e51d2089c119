// Which graph a plan was compiled from.
#pragma once

#include <atomic>

#include "base/core.hpp"

namespace soma {

struct Plan;

// The digest of that graph's document: given, or made of the plan itself when somebody first asks.
//
// Printing and digesting a graph costs more than compiling it, and few plans are ever asked. A plan
// keeps no graph, but most hold all that theirs said, if one knows in which order it was said.
// Copies and moves like a value; asking is fine on any number of threads.
class GraphOrigin {
 public:
  // Digests the graph that a plan and its origin hold.
  using Make = std::string (*)(const Plan& plan);

  GraphOrigin() = default;        // nobody knows: an empty digest
  explicit GraphOrigin(std::string digest) : given_(std::move(digest)) {}
  // By node of the graph, its place in the plan; by edge, its row of the plan's sources. Empty: the
  // same numbers.
  GraphOrigin(Make make, std::vector<u32> nodes, std::vector<u32> edges)
      : make_(make), nodes_(std::move(nodes)), edges_(std::move(edges)) {}
  GraphOrigin(const GraphOrigin& other);
  GraphOrigin(GraphOrigin&& other) noexcept;
  GraphOrigin& operator=(GraphOrigin other) noexcept;
  ~GraphOrigin() { std::unique_ptr<const std::string>(made_.load(std::memory_order_relaxed)); }

  // 64 hexadecimal digits, or nothing. `plan` is the one whose origin it is. The first time as dear
  // as Graph::digest, and a graph is put together for it; it stays until the origin goes.
  const std::string& digest(const Plan& plan) const;
  const std::string& given() const { return given_; }
  u32 node(u32 number) const { return nodes_.empty() ? number : nodes_[number]; }
  u32 edge(u32 number) const { return edges_.empty() ? number : edges_[number]; }
  u64 memory_bytes() const;

 private:
  std::string given_;
  Make make_ = nullptr;           // none: the digest is given
  std::vector<u32> nodes_, edges_;
  // Published by an exchange in digest(), whose acquiring loads see what it points at.
  mutable std::atomic<const std::string*> made_{nullptr};
};

}  // namespace soma
