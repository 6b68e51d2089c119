// What names an entry of a cache: who computes it, and of what.
#pragma once

#include "base/hash.hpp"
#include "value/node.hpp"

namespace soma {

struct CacheKey {
  DigestBytes bytes = {};
  auto operator<=>(const CacheKey&) const = default;

  std::string hex() const;                                  // 64 lowercase digits
  static Result<CacheKey> parse(std::string_view digits);   // cache_key
};

// Everything that a node's code may compute differently for, besides its input: op and version,
// settings, state, device, and of programs the model, the task and the deployment. Nothing, if the
// settings hold something opaque.
std::optional<DigestBytes> node_digest(const NodeSpec& node);
// Of a program, together with the digest of what its code computes by, which no name tells.
DigestBytes program_digest(const DigestBytes& node, const DigestBytes& identity);

// Of what a node yields for an input of that digest (value_digest).
CacheKey content_key(const DigestBytes& node, const DigestBytes& input);
// Of the state that its op prepares for that.
CacheKey state_key(const DigestBytes& node, const DigestBytes& input);

// How a value comes about, from a run's input on: a node, and the recipes of what it reads. Nothing
// has to run to know it.
class Recipe {
 public:
  explicit Recipe(const DigestBytes& node);
  // In the order of the edges; `output` and `input` name ports, or are empty. Without any of these
  // the node reads the run's input.
  Recipe& reads(const DigestBytes& recipe, std::string_view output, std::string_view input);
  DigestBytes digest();  // nothing may follow

 private:
  ContentDigest digest_;
};
// Of what a recipe makes of an input of that digest.
CacheKey recipe_key(const DigestBytes& recipe, const DigestBytes& input);

}  // namespace soma
