"""Hugging Face's `tokenizers` set up from what a GGUF file says: the oracle for token ids.

Knows the byte-level BPE of the `smollm` pre-tokenizer: digits one by one, then GPT-2's pattern.
"""

from gguf import GGUFReader
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

CONTROL, USER_DEFINED = 3, 4  # token types of the file that are matched whole, before any merge


def load_tokenizer(path):
    """The file's tokenizer; text of special tokens is recognised, no token is added around it."""
    fields = GGUFReader(path).fields
    kind = [fields[f"tokenizer.ggml.{key}"].contents() for key in ("model", "pre")]
    if kind != ["gpt2", "smollm"]:
        raise ValueError(f"{path}: expected a gpt2 tokenizer with smollm pre-tokenizer, got {kind}")
    texts = fields["tokenizer.ggml.tokens"].contents()
    types = fields["tokenizer.ggml.token_type"].contents()
    merges = [tuple(m.split(" ")) for m in fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE({text: i for i, text in enumerate(texts)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([
        AddedToken(text, special=True, normalized=False)
        for text, kind in zip(texts, types) if kind in (CONTROL, USER_DEFINED)
    ])
    return tokenizer


def chat_prompt(message):
    """One user turn as SmolLM2's own template writes it, with its default system turn."""
    return ("<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by "
            "Hugging Face<|im_end|>\n<|im_start|>user\n" + message +
            "<|im_end|>\n<|im_start|>assistant\n")
