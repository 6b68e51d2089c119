#!/usr/bin/env python3
"""Writes tests/golden/tokenizer/: ids, pieces and prompts as the reference programs make them.

    python3 tests/oracle/make_tokenizer_vectors.py MODEL      needs gguf, tokenizers, jinja2

smollm2.jsonl  the ids of texts, from Hugging Face's `tokenizers` over the file's own tables
pieces.jsonl   how each family's pre-tokenizer cuts texts: the lengths of the pieces in bytes
chat.jsonl     prompts that Jinja makes of the file's own template, and of one for each other family
"""

import json
import sys
from pathlib import Path

from gguf import GGUFReader
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Regex, pre_tokenizers

from file_tokenizer import load_tokenizer
from tokenizer_texts import NEARLY, SENTENCES, SPECIAL, texts

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "tokenizer"
SMOLLM2_TEXTS, PIECES_TEXTS = 2600, 1100


def write(name, rows):
    lines = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows]
    # newline="": a U+0085 or a lone carriage return inside a text must stay as it is.
    with open(GOLDEN / name, "w", encoding="utf-8", newline="") as file:
        file.writelines(lines)
    print(name, len(rows), "rows,", (GOLDEN / name).stat().st_size, "bytes")


def ids(model):
    tokenizer = load_tokenizer(model)
    rows = []
    for text in texts(SMOLLM2_TEXTS):
        tokenizer.encode_special_tokens = False
        special = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = True
        plain = tokenizer.encode(text, add_special_tokens=False).ids
        rows.append({"text": text, "special": 1, "ids": special})
        if plain != special:
            rows.append({"text": text, "special": 0, "ids": plain})
    return rows


def cutters():
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    gpt2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    tail = r"|\s+(?!\S)|\s+"
    later = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s"
             r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+" + tail)
    split = lambda pattern: pre_tokenizers.Split(Regex(pattern), "isolated")
    sequence = pre_tokenizers.Sequence
    return {
        "gpt-2": gpt2,
        "llama-bpe": sequence([split(later % "{1,3}"), byte_level]),
        "qwen2": sequence([split(later % ""), byte_level]),
        "smollm": sequence([pre_tokenizers.Digits(individual_digits=True), gpt2]),
    }


def pieces():
    # A piece is written in the byte alphabet: as many characters as bytes.
    return [
        {"text": text,
         **{name: [len(piece) for piece, _ in cutter.pre_tokenize_str(text)]
            for name, cutter in cutters().items()}}
        for text in texts(PIECES_TEXTS, seed=7)
    ]


def chatml(system):
    return ("{%- if messages and messages[0]['role'] != 'system' -%}<|im_start|>system\n" + system
            + "<|im_end|>\n{% endif %}{% for message in messages %}"
            "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
            "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}")


LLAMA3 = ("{% for message in messages %}{% if loop.first %}{{ bos_token }}{% endif %}"
          "{{ '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' }}"
          "{{ message['content'] | trim }}{{ '<|eot_id|>' }}{% endfor %}"
          "{% if add_generation_prompt %}"
          "{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}")

CONVERSATIONS = [
    [],
    [("user", "Hello")],
    [("system", "Answer in one word."), ("user", "Hello")],
    [("user", "Hello"), ("assistant", "Hi there!"), ("user", "How are you?")],
    [("system", ""), ("user", "")],
    [("assistant", "I begin."), ("user", "Then go on.")],
    [("user", "one"), ("system", "late"), ("system", "later"), ("user", "two")],
    [("user", "  white space around \n\n"), ("assistant", "\t\u00a0\u3000x\u2028\x1c\x85 ")],
    [("user", " \n ")],
    [("user", "line\r\nends\rof\nall kinds\n")],
    [("user", "{{ messages }} {% raw %} <b>&amp;</b> 'quotes' \"double\" \\n")],
    [("user", "NUL \x00 and \x7f and \ufeff and \U0001f600")],
    *[[("user", sentence), ("assistant", sentence[::-1])] for sentence in SENTENCES[3:40:4]],
    *[[("user", f"a{text}b")] for text in SPECIAL[:4] + NEARLY],
]


def chats(model):
    fields = GGUFReader(model).fields
    templates = {
        "SmolLM": fields["tokenizer.chat_template"].contents(),
        "Qwen2": chatml("You are a helpful assistant."),
        "Qwen2.5": chatml("You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
        "Llama 3": LLAMA3,
    }
    begin = "<|begin_of_text|>"  # only Llama 3 writes it
    # The settings of Hugging Face's transformers.
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    rows = []
    for family, text in templates.items():
        rows.append({"family": family, "template": text})
        template = environment.from_string(text)
        for conversation in CONVERSATIONS:
            messages = [{"role": role, "content": content} for role, content in conversation]
            prompt = template.render(messages=messages, add_generation_prompt=True, bos_token=begin)
            turns = [part for message in conversation for part in message]
            rows.append({"family": family, "turns": turns, "prompt": prompt})
    return rows


def main():
    model = sys.argv[1]
    write("smollm2.jsonl", ids(model))
    write("pieces.jsonl", pieces())
    write("chat.jsonl", chats(model))


main()
