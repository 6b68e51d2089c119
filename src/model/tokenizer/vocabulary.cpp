// Reads the tokens of a model file, and finds them by id and by bytes.
#include "model/tokenizer/vocabulary.hpp"

#include <algorithm>
#include <cstring>

#include "base/text.hpp"
#include "model/tokenizer/byte_alphabet.hpp"

namespace soma {

namespace {

constexpr std::string_view tokens_key = "tokenizer.ggml.tokens";
constexpr std::string_view types_key = "tokenizer.ggml.token_type";

u64 hash_of(std::string_view bytes) { return std::hash<std::string_view>{}(bytes); }

Error broken_token(TokenId token, std::string_view text, std::string_view why) {
  return fail(Reason::tokenizer_broken, "{}[{}] {}: {}", tokens_key, token, quoted(text), why)
      .with("key", tokens_key)
      .with("token", token);
}

}  // namespace

Vocabulary Vocabulary::build(const gguf::File& file, Problems& problems) {
  Vocabulary vocabulary;
  vocabulary.byte_tokens_.fill(-1);
  const gguf::Value* tokens =
      read_array(file, tokens_key, gguf::Type::Text, gguf::Type::Text, problems);
  const gguf::Value* types =
      read_array(file, types_key, gguf::Type::I32, gguf::Type::U32, problems);
  if (tokens == nullptr || types == nullptr) return vocabulary;
  if (tokens->count == 0 || tokens->count > tokens_max ||
      tokens->packed.size() > table_bytes_max) {
    problems.add(fail(Reason::tokenizer_broken,
                      "{} has {} tokens in {} bytes; expected 1 to {} in at most {}", tokens_key,
                      tokens->count, tokens->packed.size(), tokens_max, table_bytes_max));
    return vocabulary;
  }
  if (types->count != tokens->count) {
    problems.add(fail(Reason::tokenizer_broken, "{} has {} entries, but {} has {}; expected one "
                      "for each token", types_key, types->count, tokens_key, tokens->count));
    return vocabulary;
  }
  vocabulary.read_kinds(*types, tokens->count, problems);
  vocabulary.bytes_.reserve(tokens->packed.size() - tokens->count * sizeof(u64));
  vocabulary.starts_.reserve(tokens->count + 1);
  vocabulary.index_ = ProbeIndex(tokens->count);
  gguf::for_each_text(*tokens, [&](u64 i, std::string_view text) {
    vocabulary.add(static_cast<TokenId>(i), text, problems);
  });
  vocabulary.check_special_texts(problems);
  return vocabulary;
}

void Vocabulary::read_kinds(const gguf::Value& types, u64 tokens, Problems& problems) {
  kinds_.resize(tokens, TokenKind::Unused);
  for (u64 i = 0; i < tokens; ++i) {
    i32 number = 0;
    std::memcpy(&number, types.packed.data() + i * sizeof number, sizeof number);
    if (number < 1 || number > 5) {
      problems.add(fail(Reason::tokenizer_broken,
                        "{}[{}] is {}; expected 1 (normal), 2 (unknown), 3 (control), "
                        "4 (user-defined) or 5 (unused)", types_key, i, number)
                       .with("key", types_key));
    } else {
      kinds_[i] = static_cast<TokenKind>(number);
    }
  }
}

void Vocabulary::add(TokenId token, std::string_view text, Problems& problems) {
  const size_t start = bytes_.size();
  if (kind(token) != TokenKind::Normal) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    starts_.push_back(static_cast<u32>(bytes_.size()));
    return;
  }
  const bool known = ByteAlphabet::decode(text, bytes_);
  starts_.push_back(static_cast<u32>(bytes_.size()));
  const std::string_view own = bytes(token);
  if (!known) {
    problems.add(broken_token(token, text, "a normal token is written in the byte alphabet, but "
                              "this one has other characters"));
    return;
  }
  if (own.empty()) {
    problems.add(broken_token(token, text, "a normal token can't be empty"));
    return;
  }
  if (const TokenId twin = find(own); twin >= 0) {
    const std::string why = soma::text("token {} has the same text", twin);
    problems.add(broken_token(token, text, why));
    return;
  }
  if (!index_.insert(hash_of(own), token)) {
    problems.add(broken_token(token, text, "too many tokens share a hash; the file looks crafted"));
    return;
  }
  if (bytes_.size() - start == 1) byte_tokens_[static_cast<u8>(own[0])] = token;
}

// Two tokens of one text contradict each other, whatever their kinds. Texts of normal tokens were
// compared as bytes; here the others are compared with each other, and with the normal ones as the
// file writes those. Unused tokens stand for nothing, so their names don't matter.
void Vocabulary::check_special_texts(Problems& problems) const {
  std::vector<TokenId> order;
  std::string decoded;
  for (TokenId token = 0; token < size(); ++token) {
    if (kind(token) == TokenKind::Normal || kind(token) == TokenKind::Unused) continue;
    if (bytes(token).empty() || bytes(token).size() > special_bytes_max) {
      const std::string why = text("a special token has 1 to {} bytes, this one has {}",
                                   special_bytes_max, bytes(token).size());
      problems.add(broken_token(token, bytes(token), why));
      continue;
    }
    order.push_back(token);
    decoded.clear();
    if (!ByteAlphabet::decode(bytes(token), decoded)) continue;
    if (const TokenId twin = find(decoded); twin >= 0) {
      const std::string why = text("normal token {} has the same text", twin);
      problems.add(broken_token(token, bytes(token), why));
    }
  }
  std::sort(order.begin(), order.end(), [&](TokenId a, TokenId b) {
    return std::pair(bytes(a), a) < std::pair(bytes(b), b);
  });
  for (size_t i = 1; i < order.size(); ++i) {
    if (bytes(order[i]) != bytes(order[i - 1])) continue;
    const std::string why = text("token {} has the same text", order[i - 1]);
    problems.add(broken_token(order[i], bytes(order[i]), why));
  }
}

TokenId Vocabulary::find(std::string_view bytes) const {
  return index_.find(hash_of(bytes), [&](i32 row) { return this->bytes(row) == bytes; });
}

TokenId Vocabulary::find_control(std::string_view text) const {
  for (TokenId token = 0; token < size(); ++token) {
    if (kind(token) == TokenKind::Control && bytes(token) == text) return token;
  }
  return -1;
}

}  // namespace soma
