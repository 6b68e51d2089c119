// Text to token ids and back, from the tables of a model file: byte-level BPE.
//
// Immutable after `build`; every function may be called from many threads at once.
#pragma once

#include "base/core.hpp"
#include "model/gguf/gguf.hpp"

namespace soma {

using TokenId = i32;

struct Message {
  std::string_view role;     // "system", "user", "assistant"
  std::string_view content;
};

struct TextRange {
  size_t begin = 0, end = 0;  // bytes
};

class Tokenizer {
 public:
  // Checks the tables against each other: sizes, types, merges that join known pieces, ids.
  // tokenizer_missing, tokenizer_unsupported, tokenizer_broken, template_unsupported is *not*
  // raised here: a model without a known template still tokenizes.
  static Result<Tokenizer> build(const gguf::File& file);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  i64 vocabulary() const;
  TokenId begin_token() const;  // -1: none
  bool adds_begin_token() const;
  bool ends_generation(TokenId token) const;  // eos, eot and other end-of-turn markers

  // Ids of `text`; no begin token is added. With `special`, the text of control tokens
  // ("<|im_start|>") is recognised as such; without, it is ordinary text. The text of user-defined
  // tokens is recognised in either case. Bytes for which the vocabulary has no token are dropped,
  // as the reference does. Cost: linear in the text, n·log n within one pre-token.
  // argument_utf8; tokenizer_limit for more than 1 GiB or when a regular expression gives up.
  Result<std::vector<TokenId>> encode(std::string_view text, bool special) const;

  // The bytes of one token: not always whole characters. Control tokens are empty unless
  // `special`. tokenizer_token for an id outside the vocabulary.
  Result<std::string> piece(TokenId token, bool special) const;

  // The prompt of a conversation in the model's own chat template; the family's default system turn
  // is put before messages that have none, and the last line opens the assistant's turn. It is all
  // of the prompt: where the template writes the begin token, its text is there, and none is to be
  // added. template_unsupported if the file's template is of no known family; chat_role.
  Result<std::string> chat(std::span<const Message> messages) const;
  // The same as ids. What a message says is ordinary text, control tokens' texts too, so that it
  // can't open a turn of its own; but for those, the ids are encode(chat(messages), true).
  Result<std::vector<TokenId>> encode_chat(std::span<const Message> messages) const;

 private:
  struct Tables;
  explicit Tokenizer(std::unique_ptr<Tables> tables);
  std::unique_ptr<Tables> tables_;
};

// Turns pieces into text that never ends inside a character: keeps back up to three bytes of an
// unfinished one. Bytes that can't become valid UTF-8 come out as U+FFFD, one for each maximal
// ill-formed part (the Unicode standard's recommended practice).
class TextStream {
 public:
  std::string push(std::string_view bytes);  // what is complete so far
  std::string finish();                      // the rest

 private:
  std::string pending_;
};

}  // namespace soma
