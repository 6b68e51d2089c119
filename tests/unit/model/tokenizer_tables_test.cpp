// Proves that a file whose tokenizer tables are missing, wrong or crafted is refused with the
// right reason, and that all of its problems are told at once.
#include <doctest/doctest.h>

#include "model/tokenizer/probe_index.hpp"
#include "tokenizer_checks.hpp"
#include "tokenizer_fixture.hpp"

using namespace soma;
using namespace soma::test;

namespace {

TokenizerFixture good() {
  TokenizerFixture fixture;
  fixture.merge("a", "b");
  fixture.merge("ab", " ");
  fixture.add("<|end|>", 3);
  fixture.writer.set("tokenizer.ggml.eos_token_id", u32{258});
  fixture.tables();
  return fixture;
}

bool mentions(const Error& error, std::string_view words) {
  if (error.message().find(words) != std::string::npos) return true;
  for (const Error& other : error.others()) {
    if (mentions(other, words)) return true;
  }
  return false;
}

template <typename Spoil>
void refuses(Reason reason, std::string_view words, Spoil spoil) {
  TokenizerFixture fixture = good();
  spoil(fixture);
  const Result<Tokenizer> tokenizer = fixture.build_from_keys();
  INFO("expected: ", words);
  REQUIRE_FALSE(tokenizer.ok());
  INFO("got: ", tokenizer.error().message());
  CHECK(tokenizer.error().id() == reason_info(reason).id);
  CHECK(mentions(tokenizer.error(), words));
}

template <typename T>
auto sets(const char* key, T value) {
  return [=](TokenizerFixture& fixture) { fixture.writer.set(key, value); };
}
auto removes(const char* key) {
  return [=](TokenizerFixture& fixture) { fixture.writer.remove(key); };
}
auto adds(const std::string& text, i32 type) {
  return [=](TokenizerFixture& fixture) {
    fixture.add(text, type);
    fixture.tables();
  };
}
auto adds_merge(const char* text) {
  return [=](TokenizerFixture& fixture) {
    fixture.merges.push_back(text);
    fixture.tables();
  };
}

}  // namespace

TEST_CASE("the tables that the others spoil are good") {
  Result<Tokenizer> tokenizer = good().build_from_keys();
  REQUIRE(tokenizer.ok());
  CHECK(tokenizer->vocabulary() == 259);
  CHECK(tokenizer->ends_generation(258));
  CHECK(tokenizer->begin_token() == -1);
  CHECK(encode(*tokenizer, "abab ") == std::vector<TokenId>{256, 256, ' '});
}

TEST_CASE("missing keys") {
  for (const char* key : {"tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens",
                          "tokenizer.ggml.token_type", "tokenizer.ggml.merges"}) {
    refuses(Reason::tokenizer_missing, key, removes(key));
  }
}

TEST_CASE("tokenizers of other kinds") {
  const Reason unsupported = Reason::tokenizer_unsupported;
  refuses(unsupported, "'llama'", sets("tokenizer.ggml.model", "llama"));
  refuses(unsupported, "'\\x1b[2J'", sets("tokenizer.ggml.pre", "\x1b[2J"));
  refuses(unsupported, "gpt-2, llama-bpe, qwen2, smollm", sets("tokenizer.ggml.pre", "tekken"));
}

TEST_CASE("keys of the wrong type") {
  const Reason broken = Reason::tokenizer_broken;
  refuses(broken, "tokenizer.ggml.model must be a text", sets("tokenizer.ggml.model", u32{1}));
  refuses(broken, "tokenizer.ggml.pre must be a text", sets("tokenizer.ggml.pre", true));
  refuses(broken, "must be an array", sets("tokenizer.ggml.tokens", "a"));
  refuses(broken, "must be an array", sets("tokenizer.ggml.tokens", std::vector<u32>{1}));
  refuses(broken, "must be an array", sets("tokenizer.ggml.token_type", std::vector<u8>(259, 1)));
  refuses(broken, "must be an array", sets("tokenizer.ggml.merges", std::vector<float>{1}));
  refuses(broken, "must be a whole number", sets("tokenizer.ggml.eos_token_id", "258"));
  refuses(broken, "must be a whole number", sets("tokenizer.ggml.bos_token_id", 1.0F));
  refuses(broken, "must be a bool", sets("tokenizer.ggml.add_bos_token", u8{1}));
  refuses(broken, "must be a text", sets("tokenizer.chat_template", u8{1}));
}

TEST_CASE("tokens that can't be") {
  const Reason broken = Reason::tokenizer_broken;
  const char* types = "tokenizer.ggml.token_type";
  refuses(broken, "has 258 entries", sets(types, std::vector<i32>(258, 1)));
  refuses(broken, "has 260 entries", sets(types, std::vector<i32>(260, 1)));
  refuses(broken, "expected 1 to", sets("tokenizer.ggml.tokens", std::vector<std::string>{}));
  for (const i32 type : {0, 6, 7, -1, 1 << 30, 257}) {
    refuses(broken, "[259] is " + std::to_string(type), adds("new", type));
  }
  refuses(broken, "byte alphabet", adds("a b", 1));
  refuses(broken, "byte alphabet", adds("中", 1));
  refuses(broken, "byte alphabet", adds("\u0144", 1));  // one past the alphabet's last
  refuses(broken, "byte alphabet", adds("\u00AD", 1));  // a byte that is written otherwise
  refuses(broken, "empty", adds("", 1));
  refuses(broken, "1 to 1024 bytes", adds("", 3));
  refuses(broken, "1 to 1024 bytes", adds(std::string(1025, 'x'), 4));
  refuses(broken, "token 97 has the same text", adds("a", 1));
  refuses(broken, "token 258 has the same text", adds("<|end|>", 4));
  refuses(broken, "normal token 256 has the same text", adds("ab", 3));
}

TEST_CASE("merges that can't be") {
  const Reason broken = Reason::tokenizer_broken;
  refuses(broken, "[2] 'ab'", adds_merge("ab"));
  refuses(broken, "one space", adds_merge("a b c"));
  refuses(broken, "one space", adds_merge(""));
  refuses(broken, "left of the space", adds_merge(" a"));
  refuses(broken, "right of the space", adds_merge("a "));
  refuses(broken, "left of the space", adds_merge("ba a"));
  refuses(broken, "right of the space", adds_merge("a ba"));
  refuses(broken, "the two joined", adds_merge("b a"));
  refuses(broken, "byte alphabet", adds_merge("a 中"));
  refuses(broken, "in the list before", adds_merge("a b"));
  // Plain text must not merge into a control token.
  refuses(broken, "the two joined", [](TokenizerFixture& fixture) {
    fixture.add("xy", 3);
    fixture.merges.push_back("x y");
    fixture.tables();
  });
}

TEST_CASE("ids beyond the vocabulary") {
  const Reason broken = Reason::tokenizer_broken;
  const char* end = "tokenizer.ggml.eos_token_id";
  refuses(broken, "is 259, but the vocabulary has 259", sets(end, u32{259}));
  refuses(broken, "is -1, but", sets(end, i32{-1}));
  refuses(broken, "is -1, but", sets("tokenizer.ggml.bos_token_id", ~u64{0}));
  refuses(broken, "must start with the begin token", sets("tokenizer.ggml.add_bos_token", true));
}

TEST_CASE("all problems are told, and a thousand of them don't make a thousand errors") {
  TokenizerFixture fixture = good();
  fixture.writer.set("tokenizer.ggml.pre", "none").set("tokenizer.ggml.eos_token_id", u32{999});
  fixture.merges.push_back("q q");
  fixture.add("a", 1);
  fixture.tables();
  const Result<Tokenizer> tokenizer = fixture.build_from_keys();
  REQUIRE_FALSE(tokenizer.ok());
  for (const char* words : {"tokenizer.ggml.pre is 'none'", "tokens[259] 'a'", "merges[2] 'q q'",
                            "eos_token_id is 999"}) {
    CHECK(mentions(tokenizer.error(), words));
  }
  for (int i = 0; i < 1000; ++i) fixture.add("a", 1);
  fixture.tables();
  const Result<Tokenizer> worse = fixture.build_from_keys();
  REQUIRE_FALSE(worse.ok());
  CHECK(worse.error().others().size() < 20);
  CHECK(mentions(worse.error(), "more problems"));
}

TEST_CASE("rows whose keys share a hash are refused before look-ups get slow") {
  ProbeIndex index(1000);
  size_t taken = 0;
  while (taken < 1000 && index.insert(7, static_cast<i32>(taken))) ++taken;
  CHECK(taken == ProbeIndex::probes_max);
  size_t compared = 0;
  CHECK(index.find(7, [&](i32) { return ++compared == 0; }) == -1);
  CHECK(compared == ProbeIndex::probes_max);
  CHECK(index.find(7, [&](i32 row) { return row == 100; }) == 100);
  CHECK(index.find(u64{1} << 40 | 7, [&](i32) { return true; }) == -1);
  CHECK(ProbeIndex().find(0, [&](i32) { return true; }) == -1);
}
