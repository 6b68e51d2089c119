// Nodes whose values come from a cache, or go into it.
#pragma once

#include "cache/cache.hpp"
#include "run/recipes.hpp"
#include "run/run_state.hpp"

namespace soma {

// Stands before the code of the nodes that it is about, so that a run without a cache pays nothing.
class Cached {
 public:
  // Once the run is bound; both outlive it. nullptr: none of its nodes can be cached.
  static std::unique_ptr<Cached> of(RunState& run, Cache& cache);
  Cached(const Cached&) = delete;
  Cached& operator=(const Cached&) = delete;
  ~Cached();                        // gives the nodes their code back

  // Before an execution: looks up what can be found before anything runs, and so who is skipped.
  void begin(const Value& input);
  // After it: lets go of values.
  void end();

 private:
  enum class Fate : u8 { Runs, Found, Skipped };
  struct Node {
    Cached* owner = nullptr;
    Bound code;
    Cacheable facts;
    // ---- Of the execution at hand
    Fate fate = Fate::Runs;
    bool is_needed = false;
    bool is_unnamed = false;        // something opaque was read on the way to its value
    std::optional<CacheKey> recipe = {};
    CacheEntry found = {};
    std::optional<DigestBytes> digest = {};  // of its value, if that is known
  };
  static constexpr u32 none = ~u32{0};

  Cached(RunState& run, Cache& cache, std::vector<Cacheable> facts);
  static Status forward(void* node, NodeCall& call);
  Status run_unkept(Node& node, NodeCall& call);
  Status run_kept(Node& node, NodeCall& call);
  std::optional<DigestBytes> digest_of_input(const Node& node, NodeCall& call) const;
  bool reads_unnamed(const Node& node) const;
  void keep(Node& node, NodeCall& call, const CacheKey& key, i64 took_ns);
  void keep_recipe(const Node& node, NodeCall& call, const CacheKey& key);
  bool put(NodeCall& call, const CacheKey& key, const CacheEntry& entry);
  void tell(Event::Kind kind, const NodeCall& call, const CacheKey* key,
            const Error* error = nullptr);
  Node* find(u32 node) { return at_[node] == none ? nullptr : &nodes_[at_[node]]; }
  const Node* find(u32 node) const { return at_[node] == none ? nullptr : &nodes_[at_[node]]; }

  RunState& run_;
  Cache& cache_;
  std::vector<Node> nodes_;         // in the order of the plan
  std::vector<u32> at_;             // by node of the plan; none: not among them
  std::optional<DigestBytes> input_;  // of the run
};

}  // namespace soma
