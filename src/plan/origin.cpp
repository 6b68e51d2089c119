// Makes a graph's digest once, whoever asks for it first.
#include "plan/origin.hpp"

namespace soma {

GraphOrigin::GraphOrigin(const GraphOrigin& other)
    : given_(other.given_), make_(other.make_), nodes_(other.nodes_), edges_(other.edges_) {}

GraphOrigin::GraphOrigin(GraphOrigin&& other) noexcept
    : given_(std::move(other.given_)),
      make_(other.make_),
      nodes_(std::move(other.nodes_)),
      edges_(std::move(other.edges_)),
      made_(other.made_.exchange(nullptr, std::memory_order_relaxed)) {}

GraphOrigin& GraphOrigin::operator=(GraphOrigin other) noexcept {
  given_ = std::move(other.given_);
  make_ = other.make_;
  nodes_ = std::move(other.nodes_);
  edges_ = std::move(other.edges_);
  // What was made of another origin goes with `other`.
  other.made_.store(made_.exchange(other.made_.load(std::memory_order_relaxed),
                                   std::memory_order_relaxed),
                    std::memory_order_relaxed);
  return *this;
}

const std::string& GraphOrigin::digest(const Plan& plan) const {
  if (!make_) return given_;
  const std::string* made = made_.load(std::memory_order_acquire);
  if (made) return *made;
  std::unique_ptr<const std::string> own = std::make_unique<const std::string>(make_(plan));
  // Of several who made it at the same time, one keeps it for all.
  if (made_.compare_exchange_strong(made, own.get(), std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
    made = own.release();
  }
  return *made;
}

u64 GraphOrigin::memory_bytes() const {
  return given_.size() + (nodes_.size() + edges_.size()) * sizeof(u32);
}

}  // namespace soma
