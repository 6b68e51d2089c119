// The tokenizer of a model: builds and checks its parts, and puts them to work in order.
#include "model/tokenizer/tokenizer.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "model/tokenizer/bpe.hpp"
#include "model/tokenizer/chat.hpp"
#include "model/tokenizer/pretokenize.hpp"
#include "model/tokenizer/special_texts.hpp"

namespace soma {

namespace {

// Control tokens after which no family goes on, whether or not the file names them.
constexpr std::string_view ending_texts[] = {"<|im_end|>", "<|eot_id|>", "<|eom_id|>",
                                             "<|end_of_text|>", "<|endoftext|>"};
constexpr std::string_view ending_keys[] = {
    "tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"};

// Positions in a text are 32-bit numbers to the merger.
constexpr size_t text_bytes_max = size_t{1} << 30;

}  // namespace

struct Tokenizer::Tables {
  Vocabulary vocabulary;
  MergeTable merges;
  Pretokenizer pretokenizer;
  SpecialTexts all_special;   // control, unknown and user-defined tokens
  SpecialTexts user_defined;  // those that are found in any text
  std::vector<TokenId> endings;
  TokenId begin = -1;
  bool adds_begin = false;
  bool whole_piece_first = false;
  bool has_template = false;
  const ChatFamily* chat = nullptr;

  void add_special_texts();
  void read_ends(const gguf::File& file, Problems& problems);
  Result<ChatPrompt> prompt_of(std::span<const Message> messages) const;
  Result<std::vector<TokenId>> encode(std::string_view text,
                                      std::span<const TextRange> ordinary) const;
  Status encode_plain(std::string_view text, Cutter& cutter, Merger& merger,
                      std::vector<std::string_view>& pieces, std::vector<TokenId>& out) const;
};

Tokenizer::Tokenizer(std::unique_ptr<Tables> tables) : tables_(std::move(tables)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

// ---- Building

Result<Tokenizer> Tokenizer::build(const gguf::File& file) {
  Problems problems;
  const auto kind = read_text(file, "tokenizer.ggml.model", Presence::Required, problems);
  if (!kind) return std::move(problems).take();
  if (*kind != "gpt2") {
    return fail(Reason::tokenizer_unsupported,
                "tokenizer.ggml.model is {}; this library knows 'gpt2' (byte-level BPE)",
                quoted(*kind));
  }
  const CuttingRule* rule = nullptr;
  if (const auto name = read_text(file, "tokenizer.ggml.pre", Presence::Required, problems)) {
    rule = find_cutting_rule(*name);
    if (rule == nullptr) {
      problems.add(fail(Reason::tokenizer_unsupported,
                        "tokenizer.ggml.pre is {}; this library can cut text as {} do",
                        quoted(*name), cutting_rule_names()));
    }
  }
  auto tables = std::make_unique<Tables>();
  tables->vocabulary = Vocabulary::build(file, problems);
  // Without a vocabulary every merge and id would be wrong too, and drown what matters.
  if (tables->vocabulary.size() == 0) return std::move(problems).take();
  tables->merges = MergeTable::build(file, tables->vocabulary, problems);
  tables->read_ends(file, problems);
  const auto adds_begin = read_bool(file, "tokenizer.ggml.add_bos_token", problems);
  const auto chat = read_text(file, "tokenizer.chat_template", Presence::Optional, problems);
  tables->adds_begin = adds_begin.value_or(rule != nullptr && rule->adds_begin_token);
  if (tables->adds_begin && tables->begin < 0) {
    problems.add(fail(Reason::tokenizer_broken,
                      "prompts must start with the begin token, but the file has no valid "
                      "tokenizer.ggml.bos_token_id"));
  }
  if (!problems.none()) return std::move(problems).take();

  tables->whole_piece_first = rule->whole_piece_first;
  tables->has_template = chat.has_value();
  tables->chat = find_chat_family(chat.value_or(""));
  tables->add_special_texts();
  SOMA_ASSIGN(tables->pretokenizer, Pretokenizer::compile(*rule));
  return Tokenizer(std::move(tables));
}

// The tokens at which prompts start and answers end.
void Tokenizer::Tables::read_ends(const gguf::File& file, Problems& problems) {
  begin = read_token(file, "tokenizer.ggml.bos_token_id", vocabulary.size(), problems);
  for (const std::string_view key : ending_keys) {
    endings.push_back(read_token(file, key, vocabulary.size(), problems));
  }
  for (const std::string_view text : ending_texts) {
    endings.push_back(vocabulary.find_control(text));
  }
  std::erase(endings, -1);
}

void Tokenizer::Tables::add_special_texts() {
  for (TokenId token = 0; token < vocabulary.size(); ++token) {
    switch (vocabulary.kind(token)) {
      case TokenKind::Normal:
      case TokenKind::Unused:
        break;
      case TokenKind::UserDefined:
        user_defined.add(vocabulary.bytes(token), token);
        [[fallthrough]];
      case TokenKind::Unknown:
      case TokenKind::Control:
        all_special.add(vocabulary.bytes(token), token);
    }
  }
  all_special.sort();
  user_defined.sort();
}

// ---- Questions

i64 Tokenizer::vocabulary() const { return tables_->vocabulary.size(); }
TokenId Tokenizer::begin_token() const { return tables_->begin; }
bool Tokenizer::adds_begin_token() const { return tables_->adds_begin; }
bool Tokenizer::ends_generation(TokenId token) const {
  const auto& endings = tables_->endings;
  return std::find(endings.begin(), endings.end(), token) != endings.end();
}

// ---- Text to tokens

// Special tokens are cut out first, wherever they stand, and what lies between them is text of its
// own: a pattern does not look across them.
//
// User-defined tokens are cut out of plain text too. Their makers added them to a finished
// vocabulary (runs of spaces, "<tool_call>"), no merges lead to them, and in training their text
// was always the one token; what must not be recognised in untrusted text is what steers the
// model, and that is the control tokens.
Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, bool special) const {
  const TextRange all = {0, text.size()};
  return tables_->encode(text, special ? std::span<const TextRange>() : std::span(&all, 1));
}

Result<std::vector<TokenId>> Tokenizer::encode_chat(std::span<const Message> messages) const {
  SOMA_ASSIGN(const ChatPrompt prompt, tables_->prompt_of(messages));
  return tables_->encode(prompt.text, prompt.contents);
}

// `ordinary`: where control tokens are not recognised, ascending.
Result<std::vector<TokenId>> Tokenizer::Tables::encode(std::string_view text,
                                                       std::span<const TextRange> ordinary) const {
  if (const size_t at = find_invalid_utf8(text); at != std::string_view::npos) {
    return fail(Reason::argument_utf8, "the text is not valid UTF-8 at byte {} of {}", at,
                text.size());
  }
  if (text.size() > text_bytes_max) {
    return fail(Reason::tokenizer_limit, "the text has {} bytes; expected at most {} in one call",
                text.size(), text_bytes_max);
  }
  SOMA_ASSIGN(Cutter cutter, Cutter::make(pretokenizer));
  Merger merger(vocabulary, merges);
  std::vector<std::string_view> pieces;
  std::vector<TokenId> out;
  size_t plain = 0;  // where the text that is not special begins
  for (size_t at = 0; at < text.size();) {
    while (!ordinary.empty() && ordinary.front().end <= at) ordinary = ordinary.subspan(1);
    const bool is_ordinary = !ordinary.empty() && ordinary.front().begin <= at;
    const SpecialTexts& texts = is_ordinary ? user_defined : all_special;
    const size_t end = is_ordinary ? ordinary.front().end : text.size();
    SpecialTexts::Match match{-1, 0};
    if (texts.may_start(text[at])) match = texts.longest(text.substr(at, end - at));
    if (match.token < 0) {
      ++at;
      continue;
    }
    SOMA_TRY(encode_plain(text.substr(plain, at - plain), cutter, merger, pieces, out));
    out.push_back(match.token);
    at += match.length;
    plain = at;
  }
  SOMA_TRY(encode_plain(text.substr(plain), cutter, merger, pieces, out));
  return out;
}

Status Tokenizer::Tables::encode_plain(std::string_view text, Cutter& cutter, Merger& merger,
                                       std::vector<std::string_view>& pieces,
                                       std::vector<TokenId>& out) const {
  pieces.clear();
  SOMA_TRY(cutter.cut(text, pieces));
  for (const std::string_view piece : pieces) {
    const TokenId whole = whole_piece_first ? vocabulary.find(piece) : -1;
    if (whole >= 0) {
      out.push_back(whole);
    } else {
      merger.encode(piece, out);
    }
  }
  return {};
}

// ---- Tokens to text

Result<std::string> Tokenizer::piece(TokenId token, bool special) const {
  const Vocabulary& vocabulary = tables_->vocabulary;
  if (token < 0 || token >= vocabulary.size()) {
    return fail(Reason::tokenizer_token, "there is no token {}; the vocabulary has {}", token,
                vocabulary.size());
  }
  const TokenKind kind = vocabulary.kind(token);
  const bool is_text = kind == TokenKind::Normal || kind == TokenKind::UserDefined;
  return std::string(is_text || special ? vocabulary.bytes(token) : std::string_view());
}

Result<std::string> Tokenizer::chat(std::span<const Message> messages) const {
  SOMA_ASSIGN(ChatPrompt prompt, tables_->prompt_of(messages));
  return std::move(prompt.text);
}

Result<ChatPrompt> Tokenizer::Tables::prompt_of(std::span<const Message> messages) const {
  if (!has_template) {
    return fail(Reason::template_unsupported,
                "the model has no chat template; give it the whole prompt as text");
  }
  if (chat == nullptr) {
    return fail(Reason::template_unsupported,
                "the model's chat template is of no family that this library knows ({}); give it "
                "the whole prompt as text", chat_family_names());
  }
  const std::string_view begin_text = begin < 0 ? std::string_view() : vocabulary.bytes(begin);
  return render_chat(*chat, begin_text, messages);
}

}  // namespace soma
