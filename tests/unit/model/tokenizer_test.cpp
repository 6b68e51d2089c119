// Proves that text becomes the ids of the reference tokenizers and comes back, that special tokens
// are recognised when and where they must be, and that no text takes more than linear time.
#include "model/tokenizer/tokenizer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <ctime>
#include <random>
#include <thread>

#include "base/file.hpp"
#include "json_lines.hpp"
#include "model/tokenizer/pretokenize.hpp"
#include "tokenizer_checks.hpp"
#include "tokenizer_fixture.hpp"

using namespace soma;
using namespace soma::test;

namespace {

Tokenizer real_tokenizer() {
  const char* path = std::getenv("SOMA_TEST_MODEL");
  REQUIRE_MESSAGE(path != nullptr, "SOMA_TEST_MODEL must name the SmolLM2 file");
  const FileBytes bytes = must(FileBytes::open(path, LoadMode::Map));
  return must(Tokenizer::build(must(gguf::File::parse(bytes.bytes()))));  // the file is closed here
}

// What is left of a text whose bytes don't all have a token.
std::string without(std::string text, std::string_view bytes) {
  std::erase_if(text, [&](char byte) { return bytes.find(byte) != std::string_view::npos; });
  return text;
}

// One family's pre-tokenizer.
class Cutting {
 public:
  explicit Cutting(std::string_view name) {
    const CuttingRule* rule = find_cutting_rule(name);
    REQUIRE(rule != nullptr);
    pretokenizer_ = must(Pretokenizer::compile(*rule));
    cutter_.emplace(must(Cutter::make(pretokenizer_)));
  }
  // Views into `text`: only their lengths are of use once it is gone.
  const std::vector<std::string_view>& cut(const std::string& text) {
    pieces_.clear();
    const Status status = cutter_->cut(text, pieces_);
    REQUIRE(status.ok());
    return pieces_;
  }

 private:
  Pretokenizer pretokenizer_;
  std::optional<Cutter> cutter_;
  std::vector<std::string_view> pieces_;
};

std::string utf8(u32 code) {
  const auto next = [&](u32 shift) { return static_cast<char>(0x80 | (code >> shift & 63)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), next(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), next(6), next(0)};
  return {static_cast<char>(0xF0 | code >> 18), next(12), next(6), next(0)};
}

// The definition of byte-pair encoding, as slow as it is plain.
std::vector<std::string> merge_naively(
    std::vector<std::string> symbols,
    const std::vector<std::pair<std::string, std::string>>& merges) {
  for (bool merged = true; merged;) {
    merged = false;
    for (size_t rank = 0; rank < merges.size() && !merged; ++rank) {
      for (size_t at = 0; at + 1 < symbols.size() && !merged; ++at) {
        if (symbols[at] != merges[rank].first || symbols[at + 1] != merges[rank].second) continue;
        symbols[at] += symbols[at + 1];
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        merged = true;
      }
    }
  }
  return symbols;
}

// Of the processor, not by the clock: other work on the machine must not fail a test.
double seconds_to_encode(const Tokenizer& tokenizer, const std::string& text) {
  double best = 1e9;
  for (int round = 0; round < 3; ++round) {
    const std::clock_t start = std::clock();
    encode(tokenizer, text, true);
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

std::string repeated(std::string_view unit, size_t bytes) {
  std::string out;
  while (out.size() < bytes) out += unit;
  return out;
}

}  // namespace

TEST_SUITE("model") {
  TEST_CASE("the SmolLM2 tokenizer gives the ids of Hugging Face's") {
    const Tokenizer tokenizer = real_tokenizer();
    CHECK(tokenizer.vocabulary() == 49152);
    CHECK(tokenizer.begin_token() == 1);
    CHECK_FALSE(tokenizer.adds_begin_token());
    CHECK(tokenizer.ends_generation(2));
    CHECK(tokenizer.ends_generation(0));
    CHECK_FALSE(tokenizer.ends_generation(1));
    // These bytes have no token in that vocabulary: the reference drops them too.
    const std::string_view missing = "\x04\x06\x13\x14\x16\x1D\xF1\xF2";
    const std::vector<JsonRow> rows = read_json_lines("tests/golden/tokenizer/smollm2.jsonl");
    CHECK(rows.size() >= 2000);
    for (const JsonRow& row : rows) {
      const std::string& text = row.texts.at("text");
      const bool special = row.numbers.at("special")[0] == 1;
      const auto& expected = row.numbers.at("ids");
      INFO(text, " special ", special);
      const std::vector<TokenId> ids = encode(tokenizer, text, special);
      CHECK(std::equal(ids.begin(), ids.end(), expected.begin(), expected.end()));
      CHECK(decode(tokenizer, ids, true) == without(text, missing));
    }
  }

  TEST_CASE("the SmolLM2 file's chat template is recognised and written as Jinja does") {
    const Tokenizer tokenizer = real_tokenizer();
    size_t prompts = 0;
    for (const JsonRow& row : read_json_lines("tests/golden/tokenizer/chat.jsonl")) {
      if (row.texts.at("family") != "SmolLM" || !row.texts.contains("prompt")) continue;
      std::vector<Message> messages;
      if (row.text_lists.contains("turns")) {
        const auto& turns = row.text_lists.at("turns");
        for (size_t i = 0; i < turns.size(); i += 2) messages.push_back({turns[i], turns[i + 1]});
      }
      CHECK(must(tokenizer.chat(messages)) == row.texts.at("prompt"));
      ++prompts;
    }
    CHECK(prompts >= 30);
  }
}

TEST_CASE("every family cuts text as Hugging Face's pre-tokenizers do") {
  for (const char* name : {"gpt-2", "llama-bpe", "qwen2", "smollm"}) {
    Cutting cutting(name);
    for (const JsonRow& row : read_json_lines("tests/golden/tokenizer/pieces.jsonl")) {
      const std::string& text = row.texts.at("text");
      INFO(name, ": ", text);
      std::vector<i64> lengths;
      std::string joined;
      for (const std::string_view piece : cutting.cut(text)) {
        lengths.push_back(static_cast<i64>(piece.size()));
        joined += piece;
      }
      CHECK(lengths == row.numbers.at(name));
      CHECK(joined == text);
    }
  }
  CHECK(find_cutting_rule("GPT-2") == nullptr);
}

TEST_CASE("letters, numbers and white space are those of the reference, code point by code point") {
  std::vector<char> classes(0x110000, 'o');  // others; else the first letter of the class's name
  const std::vector<std::string> ranges = read_lines("tests/golden/tokenizer/classes.txt");
  CHECK(ranges.size() > 800);
  for (const std::string& range : ranges) {
    // "letter 41 5A"
    const size_t first = range.find(' ') + 1;
    const size_t last = range.find(' ', first) + 1;
    const size_t end = std::stoul(range.substr(last), nullptr, 16);
    for (size_t code = std::stoul(range.substr(first), nullptr, 16); code <= end; ++code) {
      classes[code] = range[0];
    }
  }

  Cutting gpt2("gpt-2");
  Cutting smollm("smollm");
  std::string wrong;
  for (u32 code = 0; code < 0x110000; ++code) {
    if (code == 0xD800) code = 0xE000;
    // Beyond the last script there are blocks of one class each: their ends are enough.
    if (code == 0x34000) code = 0xE0000;
    if (code == 0xE1000) code = 0x10FF00;
    const std::string character = utf8(code);
    // A pattern joins a character to one before it exactly if both are of one class; a digit is
    // one of the others that is a piece of its own nevertheless.
    const char found = gpt2.cut("!" + character).size() == 1
                           ? (smollm.cut("!" + character).size() == 1 ? 'o' : 'd')
                       : gpt2.cut("a" + character).size() == 1 ? 'l'
                       : gpt2.cut("1" + character).size() == 1 ? 'n'
                                                               : 's';
    if (found != classes[code]) wrong += text(" U+{:04X}", code);
  }
  CHECK(wrong == "");
}

TEST_CASE("merging takes the best rank first and the leftmost of equals") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    TokenizerFixture fixture;
    std::vector<std::string> known = {"a", "b", "c"};
    std::vector<std::pair<std::string, std::string>> merges;
    const auto pick = [&] { return known[random() % known.size()]; };
    while (merges.size() < 12) {
      const std::string left = pick();
      const std::string right = pick();
      // A second way to make a known token is a merge too.
      const bool is_new = std::find(known.begin(), known.end(), left + right) == known.end();
      if (std::find(merges.begin(), merges.end(), std::pair(left, right)) != merges.end()) continue;
      merges.emplace_back(left, right);
      if (is_new) {
        fixture.merge(left, right);
        known.push_back(left + right);
      } else {
        fixture.merges.push_back(left + " " + right);
      }
    }
    const Tokenizer tokenizer = must(fixture.build());
    for (int text_number = 0; text_number < 20; ++text_number) {
      std::vector<std::string> symbols(random() % 40);
      std::string text;
      for (std::string& symbol : symbols) {
        symbol = known[random() % 3];
        text += symbol;
      }
      std::vector<std::string> pieces;
      for (const TokenId id : encode(tokenizer, text)) {
        pieces.push_back(must(tokenizer.piece(id, false)));
      }
      CHECK(pieces == merge_naively(symbols, merges));
    }
  }
}

TEST_CASE("only the llama-bpe family takes a piece that is a token without merging") {
  TokenizerFixture fixture;
  const TokenId ab = fixture.merge("a", "b");
  const TokenId whole = fixture.add("xyz", 1);  // no merge leads here
  CHECK(encode(must(fixture.build()), "xyz ab") ==
        std::vector<TokenId>{'x', 'y', 'z', ' ', ab});
  fixture.writer.set("tokenizer.ggml.pre", "llama-bpe").set("tokenizer.ggml.bos_token_id", u32{5});
  const Tokenizer llama = must(fixture.build());
  CHECK(encode(llama, "xyz ab") == std::vector<TokenId>{whole, ' ', ab});
  CHECK(llama.adds_begin_token());
  CHECK(llama.begin_token() == 5);
  fixture.writer.set("tokenizer.ggml.add_bos_token", false);
  CHECK_FALSE(must(fixture.build()).adds_begin_token());
}

TEST_CASE("the text of special tokens is recognised, the longest first") {
  TokenizerFixture fixture;
  const TokenId end = fixture.add("<|end|>", 3);
  const TokenId longer = fixture.add("<|end|>>", 3);
  const TokenId spaces = fixture.add("  ", 4);
  const TokenId call = fixture.add("<tool>", 4);
  const TokenId unknown = fixture.add("<unk>", 2);
  fixture.add("[unused]", 5);
  fixture.add("<|é中|>", 3);
  const TokenId nul = fixture.add(std::string("\0!", 2), 3);
  const Tokenizer tokenizer = must(fixture.build());
  using Ids = std::vector<TokenId>;

  CHECK(encode(tokenizer, "", true).empty());
  CHECK(encode(tokenizer, "a<|end|>b", true) == Ids{'a', end, 'b'});
  CHECK(encode(tokenizer, "<|end|><|end|>>", true) == Ids{end, longer});
  CHECK(encode(tokenizer, "<|end|", true) == Ids{'<', '|', 'e', 'n', 'd', '|'});
  CHECK(encode(tokenizer, "<<|end|>", true) == Ids{'<', end});
  CHECK(encode(tokenizer, "<unk>", true) == Ids{unknown});
  CHECK(encode(tokenizer, std::string_view("a\0!\0", 4), true) == Ids{'a', nul, 0});
  CHECK(encode(tokenizer, "[unused]", true).size() == 8);
  // Without `special`, control text is text; what users defined is found all the same.
  CHECK(encode(tokenizer, "<|end|>", false).size() == 7);
  CHECK(encode(tokenizer, "<unk>", false).size() == 5);
  CHECK(encode(tokenizer, "a  <tool>b", false) == Ids{'a', spaces, call, 'b'});
  CHECK(encode(tokenizer, "a  <tool>b", true) == Ids{'a', spaces, call, 'b'});

  CHECK(must(tokenizer.piece(end, false)) == "");
  CHECK(must(tokenizer.piece(end, true)) == "<|end|>");
  CHECK(must(tokenizer.piece(spaces, false)) == "  ");
  CHECK(must(tokenizer.piece(' ', false)) == " ");
  for (const TokenId bad : {-1, static_cast<TokenId>(tokenizer.vocabulary()), 1 << 30}) {
    const Result<std::string> piece = tokenizer.piece(bad, true);
    REQUIRE_FALSE(piece.ok());
    CHECK(piece.error().id() == "tokenizer.token");
  }
  const Result<Ids> invalid = tokenizer.encode("ab\xC3", true);
  REQUIRE_FALSE(invalid.ok());
  CHECK(invalid.error().id() == "argument.utf8");
}

TEST_CASE("long texts of one thing take time in proportion to their length") {
  TokenizerFixture fixture;
  for (const std::string_view unit : {"a", "1", " ", "!"}) {
    std::string run(unit);
    for (int doublings = 0; doublings < 6; ++doublings) {
      fixture.merge(run, run);
      run += run;
    }
  }
  fixture.merge("b", "a");
  fixture.add("<|a|>", 3);
  fixture.add("<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<<|", 3);
  fixture.writer.set("tokenizer.ggml.bos_token_id", u32{0});
  for (const char* rule : {"smollm", "gpt-2", "llama-bpe", "qwen2"}) {
    fixture.writer.set("tokenizer.ggml.pre", rule);
    const Tokenizer tokenizer = must(fixture.build());
    for (const char* unit : {"a", " ", "1", "!", "\n", " \n", "ba", "\xF0\x9F\x98\x80", "\xCC\x81",
                             "\xC2\xA0", "'", "<", "<|a|>", " a", "a 1"}) {
      // Sixteen times the text: about sixteen times the time, where a quadratic step takes 256.
      constexpr size_t small = 4 << 10;
      const double short_s = seconds_to_encode(tokenizer, repeated(unit, small));
      const double long_s = seconds_to_encode(tokenizer, repeated(unit, 16 * small) + "b");
      INFO(rule, " '", unit, "': ", short_s, " s, ", long_s, " s");
      CHECK(long_s < 80 * short_s + 0.002);
    }
  }
}

TEST_CASE("a pattern that takes too many steps gives up with its reason") {
  const std::string_view patterns[] = {"(?:a+)+$"};
  const Pretokenizer slow = must(Pretokenizer::compile({.name = "slow", .patterns = patterns}));
  Cutter cutter = must(Cutter::make(slow));
  std::vector<std::string_view> pieces;
  const Status status = cutter.cut(std::string(40, 'a') + "b", pieces);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().id() == "tokenizer.limit");
  const std::string_view broken[] = {"(a"};
  CHECK_FALSE(Pretokenizer::compile({.name = "broken", .patterns = broken}).ok());
}

TEST_CASE("many threads encode with one tokenizer") {
  TokenizerFixture fixture;
  fixture.merge("t", "h");
  fixture.merge("th", "e");
  const Tokenizer tokenizer = must(fixture.build());
  const std::string sentence = "the other 12 things, théâtre\n";
  const std::vector<TokenId> expected = encode(tokenizer, sentence);
  std::atomic<int> equal = 0;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int round = 0; round < 100; ++round) {
        const auto ids = tokenizer.encode(sentence, true);
        if (ids.ok() && *ids == expected) ++equal;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(equal == 400);
}
