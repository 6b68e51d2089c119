// Finds out what of a plan can come from a cache, and what can be skipped if it does.
//
// A node is kept if it says that it is cacheable and deterministic, and runs code that a run may
// call again or not: no step, whose effects are the journal's, no loop, which has no code, and
// nothing that waits for another branch, as one of that branch may wait for it. That holds in
// bodies and arms as well, where it is found by its content.
//
// A node has a recipe if its value is a function of the run's input that is known before the run:
// it is deterministic, and reads the run's input or nodes with recipes only. What lies in a body or
// an arm has none, as how often it runs and what it is fed is decided by values; nor has what reads
// such a node. So it is in streams, where chunks are found by their content; a node there that
// keeps a state yields no function of its chunk, and is not kept. Whether a node is cacheable does
// not matter for what comes after it: one that is not only says that its own value is not worth
// keeping.
//
// A program computes by a model whose name doesn't tell what it is: what does (NodeOp::identity) is
// part of its digest, and if nothing does, it is as if it were not deterministic. As that may mean
// to read a large file, only programs are asked that something cacheable may depend on.
//
// Skipped may be what is read, directly or not, by kept nodes with recipes only. Needed in any case
// are leaves, what nobody reads, and what a construct or a node without a recipe reads.
//
// Cost. Linear in nodes and edges, once for each run that has a cache.
#include "run/recipes.hpp"

namespace soma {

namespace {

class Finder {
 public:
  Finder(const Plan& plan, const Course& course, const Values& values, const Binding& binding)
      : plan_(plan), course_(course), values_(values), binding_(binding),
        found_(plan.nodes.size()) {
    mark_worthwhile();
    for (u32 at = 0; at < found_.size(); ++at) name(at);
    for (u32 at = static_cast<u32>(found_.size()); at-- > 0;) select(at);
    for (const u32 leaf : plan.leaves) found_[leaf].is_needed = true;
    for (const Construct& construct : course.constructs()) {
      if (construct.variant == Variant::Branch) found_[construct.node].is_needed = true;
    }
  }

  std::vector<Cacheable> take() {
    std::vector<Cacheable> out;
    for (u32 at = 0; at < found_.size(); ++at) {
      if (is_selected(at)) out.push_back(found_[at]);
    }
    return out;
  }

 private:
  void mark_worthwhile() {
    for (u32 at = static_cast<u32>(found_.size()); at-- > 0;) {
      Found& found = found_[at];
      found.is_worthwhile = found.is_worthwhile || plan_.nodes[at].cacheable;
      if (!found.is_worthwhile) continue;
      for (const Source& source : plan_.sources_of(at)) found_[source.node].is_worthwhile = true;
    }
  }

  void name(u32 at) {
    const PlanNode& node = plan_.nodes[at];
    Found& found = found_[at];
    const bool has_code = node.kind != NodeKind::Step && node.kind != NodeKind::Loop;
    if (!node.deterministic || !has_code || binding_.waits(at)) return;
    const std::optional<DigestBytes> digest = digest_of(at);
    if (!digest) return;
    found.node = at;
    found.digest = *digest;
    found.is_kept = node.cacheable;
    found.is_in_stream = course_.is_in_stream(at);
    if (found.is_in_stream && node.stream_mode == StreamMode::Stateful) found.is_kept = false;
    if (found.is_in_stream || course_.around(at) != Course::whole) return;
    Recipe recipe(*digest);
    const std::span<const Source> sources = plan_.sources_of(at);
    for (const Source& source : sources) {
      const std::optional<DigestBytes>& read = found_[source.node].recipe;
      if (!read) return;
      const bool reads_all = values_.reads_all_of(source);
      recipe.reads(*read, reads_all ? std::string_view() : plan_.names[source.output],
                   sources.size() > 1 ? values_.key_of(source) : std::string_view());
    }
    found.recipe = recipe.digest();
  }

  std::optional<DigestBytes> digest_of(u32 at) const {
    const PlanNode& node = plan_.nodes[at];
    const std::optional<DigestBytes> digest = node_digest(node);
    if (!digest || node.kind != NodeKind::Program) return digest;
    if (!found_[at].is_worthwhile) return std::nullopt;
    const std::optional<DigestBytes> identity = binding_.identity(at);
    if (!identity) return std::nullopt;
    return program_digest(*digest, *identity);
  }

  // All readers of the node have been selected, or not.
  void select(u32 at) {
    if (!found_[at].has_reader) found_[at].is_needed = true;
    const bool has_recipe = found_[at].recipe && is_selected(at);
    for (const Source& source : plan_.sources_of(at)) {
      Found& read = found_[source.node];
      read.has_reader = true;
      if (has_recipe) read.is_read = true;
      else read.is_needed = true;
    }
  }

  bool is_selected(u32 at) const { return found_[at].is_kept || found_[at].is_read; }

  struct Found : Cacheable {
    bool is_worthwhile = false;     // cacheable, or read, directly or not, by what is
    bool has_reader = false;
    bool is_read = false;           // by a selected node with a recipe
  };

  const Plan& plan_;
  const Course& course_;
  const Values& values_;
  const Binding& binding_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<Cacheable> find_cacheable(const Plan& plan, const Course& course,
                                      const Values& values, const Binding& binding) {
  bool has_any = false;
  for (const PlanNode& node : plan.nodes) has_any = has_any || node.cacheable;
  return has_any ? Finder(plan, course, values, binding).take() : std::vector<Cacheable>();
}

}  // namespace soma
