// Asks a cache before it runs a node, and tells it afterwards.
//
// Problem. A value that is there already need not be computed, and then nothing that only led to it
// need be either. But whether a value is there can only be known for sure by having it: another
// process may remove it at any time, and then what was skipped would be missing.
//
// Idea. Before an execution, nodes are looked at from the last to the first. A node that nobody
// needs is skipped. One that is needed and has a recipe is looked up, and its value kept at hand if
// it is there; otherwise it will run, and needs what it reads. So each node is decided after all of
// its readers, nothing is looked up in vain, and nothing that was found can vanish.
//
// When its turn comes, a node that is to run is looked up once more by the content of what it
// reads: what came before it may have changed without changing that. Found or computed, its value
// then lies under its content, and its recipe leads there.
//
// Why a hit is what running would have yielded. A content key has in it all that the code may look
// at. A recipe key has in it how the input came about, and all on the way is deterministic by its
// own word. An opaque value has no content that a key could have: who reads one is not kept, and
// what comes after has no recipe in that execution. A node that failed, or was told to stop and so
// may have yielded half of a value, is not kept.
// Errors: what is skipped can't fail, but it did not fail when the value was made.
//
// A value that the cache holds is shared, so nobody changes it in place. The digest of what a node
// yielded is remembered, so that the one that reads it need not compute it again.
//
// Cost. A digest for each recipe that is looked up, and of each input that is not the value of a
// node whose digest is known.
#include "run/cached.hpp"

#include <new>

#include "base/clock.hpp"
#include "run/node_call.hpp"
#include "value/value_binary.hpp"

namespace soma {

namespace {

// Nothing for what holds something opaque, or if there is no memory to look: a cache must not make
// a run fail.
std::optional<DigestBytes> digest_of(const Value& value) {
  try {
    return value_digest(value);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<Cached> Cached::of(RunState& run, Cache& cache) {
  std::vector<Cacheable> facts = find_cacheable(run.plan, run.course, run.values, *run.binding);
  if (facts.empty()) return nullptr;
  return std::unique_ptr<Cached>(new Cached(run, cache, std::move(facts)));
}

Cached::Cached(RunState& run, Cache& cache, std::vector<Cacheable> facts)
    : run_(run), cache_(cache), nodes_(facts.size()), at_(run.plan.nodes.size(), none) {
  for (u32 i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[i];
    node.owner = this;
    node.facts = facts[i];
    node.code = run.binding->replace(node.facts.node, {forward, &node});
    at_[node.facts.node] = i;
  }
}

Cached::~Cached() {
  for (const Node& node : nodes_) run_.binding->replace(node.facts.node, node.code);
}

void Cached::begin(const Value& input) {
  input_ = digest_of(input);
  for (Node& node : nodes_) {
    node.fate = Fate::Runs;
    node.is_needed = node.facts.is_needed || !node.facts.recipe;
    node.is_unnamed = false;
    node.recipe.reset();
    node.digest.reset();
    if (input_ && node.facts.recipe && node.facts.is_kept) {
      node.recipe = recipe_key(*node.facts.recipe, *input_);
    }
  }
  for (size_t i = nodes_.size(); i-- > 0;) {
    Node& node = nodes_[i];
    if (!node.facts.recipe) continue;
    std::optional<CacheEntry> found;
    if (node.is_needed && node.recipe) found = cache_.get(*node.recipe);
    if (found) {
      node.fate = Fate::Found;
      node.digest = found->digest;
      node.found = *std::move(found);
    } else if (!node.is_needed) {
      node.fate = Fate::Skipped;
    } else {
      for (const Source& source : run_.plan.sources_of(node.facts.node)) {
        if (Node* read = find(source.node)) read->is_needed = true;
      }
    }
  }
}

void Cached::end() {
  for (Node& node : nodes_) node.found = {};
}

Status Cached::forward(void* self, NodeCall& call) {
  Node& node = *static_cast<Node*>(self);
  Cached& cached = *node.owner;
  switch (node.fate) {
    case Fate::Skipped:
      cached.cache_.count(Cache::Count::Skipped);
      cached.tell(Event::Kind::NodeSkipped, call, nullptr);
      return {};
    case Fate::Found:
      call.output() = std::move(node.found.value);
      cached.cache_.count(Cache::Count::Hit);
      cached.tell(Event::Kind::CacheHit, call, &*node.recipe);
      return {};
    case Fate::Runs: break;
  }
  return node.facts.is_kept ? cached.run_kept(node, call) : cached.run_unkept(node, call);
}

// It only has to be known whether something opaque goes through it.
Status Cached::run_unkept(Node& node, NodeCall& call) {
  if (run_.values.names_outputs(call.index())) SOMA_TRY(run_.values.check_outputs(call.index()));
  node.is_unnamed = reads_unnamed(node) || has_opaque(call.input());
  return node.code.forward(node.code.user, call);
}

Status Cached::run_kept(Node& node, NodeCall& call) {
  node.digest.reset();
  if (run_.values.names_outputs(call.index())) SOMA_TRY(run_.values.check_outputs(call.index()));
  const std::optional<DigestBytes> input = digest_of_input(node, call);
  node.is_unnamed = reads_unnamed(node) || !input;
  if (!input) return node.code.forward(node.code.user, call);
  const CacheKey key = content_key(node.facts.digest, *input);
  const CacheKey& shown = node.recipe ? *node.recipe : key;
  if (std::optional<CacheEntry> found = cache_.get(key)) {
    call.output() = std::move(found->value);
    node.digest = found->digest;
    cache_.count(Cache::Count::Hit);
    tell(Event::Kind::CacheHit, call, &shown);
    keep_recipe(node, call, key);
    return {};
  }
  cache_.count(Cache::Count::Miss);
  tell(Event::Kind::CacheMiss, call, &shown);
  const i64 begun_ns = now_ns();
  Status status = node.code.forward(node.code.user, call);
  if (status.ok() && !call.was_told_to_stop()) keep(node, call, key, now_ns() - begun_ns);
  return status;
}

std::optional<DigestBytes> Cached::digest_of_input(const Node& node, NodeCall& call) const {
  const std::span<const Source> sources = run_.plan.sources_of(node.facts.node);
  if (sources.empty() && node.facts.recipe) return input_;
  if (sources.size() == 1 && run_.values.reads_all_of(sources[0]) &&
      run_.values.is_present(sources[0].node)) {
    const Node* read = find(sources[0].node);
    const bool is_whole = !node.facts.is_in_stream && read && !read->facts.is_in_stream;
    if (is_whole && read->digest) return read->digest;
  }
  return digest_of(call.input());
}

bool Cached::reads_unnamed(const Node& node) const {
  if (!node.facts.recipe) return false;  // it has nothing to lose
  for (const Source& source : run_.plan.sources_of(node.facts.node)) {
    const Node* read = find(source.node);
    if (read && read->is_unnamed) return true;
  }
  return false;
}

// What was computed counts, whether there is memory to keep it or not.
void Cached::keep(Node& node, NodeCall& call, const CacheKey& key, i64 took_ns) {
  const Value& value = call.output();
  node.digest = digest_of(value);
  if (!node.digest) return;
  try {
    CacheEntry entry;
    entry.value = value;
    entry.digest = node.digest;
    entry.took_ns = took_ns;
    entry.op = call.node().op_name();
    if (put(call, key, entry)) keep_recipe(node, call, key);
  } catch (const std::bad_alloc&) {
  }
}

void Cached::keep_recipe(const Node& node, NodeCall& call, const CacheKey& key) {
  if (!node.recipe || node.is_unnamed) return;
  CacheEntry alias;
  alias.alias = key;
  put(call, *node.recipe, alias);
}

bool Cached::put(NodeCall& call, const CacheKey& key, const CacheEntry& entry) {
  const Status written = cache_.put(key, entry);
  if (!written.ok()) tell(Event::Kind::CacheFailed, call, &key, &written.error());
  return written.ok();
}

void Cached::tell(Event::Kind kind, const NodeCall& call, const CacheKey* key,
                  const Error* error) {
  if (!run_.is_watched()) return;
  const std::string digits = key ? key->hex() : std::string();
  Event event;
  event.kind = kind;
  event.node = call.index();
  event.thread = call.thread();
  event.key = digits;
  event.error = error;
  run_.notify(event);
}

}  // namespace soma
