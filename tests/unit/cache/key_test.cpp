// Proves that keys differ whenever anything differs that a value may depend on, and are the same
// otherwise, in every process.
#include "cache/key.hpp"

#include <set>

#include "unit/cache/places.hpp"

namespace soma {

namespace {

NodeSpec node() {
  NodeSpec made;
  made.id = "n";
  made.op = "op";
  made.edit().config = Value::map({{"a", Value::integer(1)}});
  return made;
}

DigestBytes digest_of(std::string_view name) { return key_of(name).bytes; }

}  // namespace

TEST_CASE("each fact of a node that its code may see is in its digest") {
  std::vector<NodeSpec> nodes(12, node());
  nodes[1].op = "other";
  nodes[2].op_version = 2;
  nodes[3].edit().config = Value::map({{"a", Value::number(1)}});
  nodes[4].edit().config = Value();
  nodes[5].edit().state = {0};
  nodes[6].edit().device = "cuda:0";
  nodes[7].edit().model = "m";
  nodes[8].edit().task = "m";
  nodes[9].edit().deployment = Value::map({});
  nodes[10].kind = NodeKind::Program;
  nodes[11].kind = NodeKind::Subgraph;
  std::set<DigestBytes> digests;
  for (const NodeSpec& each : nodes) digests.insert(node_digest(each).value());
  CHECK(digests.size() == nodes.size());
}

TEST_CASE("what says where a node is, and not what it computes, is not") {
  NodeSpec other = node();
  other.id = "elsewhere";
  other.cacheable = other.differentiable = other.waits = true;
  other.edit().cost_us = 7;
  other.edit().target = {Target::Kind::Tag, "gpu"};
  CHECK(node_digest(other) == node_digest(node()));
  NodeSpec named = node(), by_id = node();
  by_id.op = "";
  by_id.id = "op";
  CHECK(node_digest(named) == node_digest(by_id));
}

TEST_CASE("settings that hold something opaque have no digest") {
  NodeSpec made = node();
  made.edit().config = Value::map({{"a", Value::opaque(nullptr, nullptr)}});
  CHECK_FALSE(node_digest(made));
}

TEST_CASE("a program's digest depends on the node and on what it computes by, and is no node's") {
  const DigestBytes a = digest_of("a"), b = digest_of("b");
  const std::set<DigestBytes> digests = {a, b, program_digest(a, a), program_digest(a, b),
                                         program_digest(b, a), content_key(a, b).bytes,
                                         recipe_key(a, b).bytes};
  CHECK(digests.size() == 7);
}

TEST_CASE("recipes differ in what is read, from which port, under which name, in which order") {
  const DigestBytes n = digest_of("n"), a = digest_of("a"), b = digest_of("b");
  std::set<DigestBytes> recipes;
  recipes.insert(Recipe(n).digest());
  recipes.insert(Recipe(a).digest());
  recipes.insert(Recipe(n).reads(a, "", "").digest());
  recipes.insert(Recipe(n).reads(b, "", "").digest());
  recipes.insert(Recipe(n).reads(a, "x", "").digest());
  recipes.insert(Recipe(n).reads(a, "", "x").digest());
  recipes.insert(Recipe(n).reads(a, "xy", "z").digest());
  recipes.insert(Recipe(n).reads(a, "x", "yz").digest());
  recipes.insert(Recipe(n).reads(a, "", "").reads(b, "", "").digest());
  recipes.insert(Recipe(n).reads(b, "", "").reads(a, "", "").digest());
  CHECK(recipes.size() == 10);
}

TEST_CASE("a content key is no recipe key, and both depend on both") {
  const DigestBytes a = digest_of("a"), b = digest_of("b");
  const std::set<CacheKey> keys = {content_key(a, a), content_key(a, b), content_key(b, a),
                                   recipe_key(a, a), recipe_key(a, b), recipe_key(b, a)};
  CHECK(keys.size() == 6);
}

TEST_CASE("keys are what format.md says: this one is hashlib's, of the bytes that stand there") {
  const CacheKey key = content_key(node_digest(node()).value(), value_digest(Value()).value());
  CHECK(key.hex() == "a894a4a62282525ed4422cbeda1d914cb70a904ed74bb3e766ca50f5980fe56f");
}

TEST_CASE("keys are 64 digits in lower case, and nothing else") {
  const CacheKey key = key_of("x");
  CHECK(must(CacheKey::parse(key.hex())) == key);
  CHECK(key.hex().size() == 64);
  std::string upper = key.hex();
  for (char& c : upper) c = static_cast<char>(c >= 'a' ? c - 32 : c);
  for (const std::string& wrong : {std::string(), key.hex().substr(1), key.hex() + "0", upper,
                                   std::string(64, 'g'), std::string(64, '/')}) {
    CHECK(reason_of(CacheKey::parse(wrong)) == "cache.key");
  }
}

}  // namespace soma
