#!/usr/bin/env python3
"""Rebuilds malformed GGUF files that are known from public reports against other readers.

usage: tests/fuzz/make_corpus.py FOLDER

FOLDER/files/ gets files whose structure is broken, and sound files that hold no sound model;
FOLDER/expected.txt one line for each: name, reason id of the error that opening it as a model
gives, the byte where the reader is to find the fault (a dash where it has no one place), and the
report (repository#number). The bytes are written here from what the reports describe.
FOLDER/seeds/gguf/ and FOLDER/seeds/model/ get what the fuzz targets start from: the former for
the first, for the second heads of model files, to which the target itself adds tensor data.
"""

import os
import pathlib
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))

import make_tiny_model as tiny
from gguf_file import FORMATS, TYPES, GgufFile, packed_entry, packed_record, packed_text

HUGE = 2**64 - 1
HEADER_BYTES = 24
# A record of one tensor named t: its name, the number of dimensions, one dimension, the type.
RANK_AT = HEADER_BYTES + 9
DIM_AT = RANK_AT + 4


class Corpus:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.expected = []

    def add(self, name, report, reason, offset, data):
        self.write(f"files/{name}", data)
        self.write(f"seeds/gguf/{name}", data)
        self.expected.append(f"{name} {reason} {offset} {report}\n")

    def add_model(self, name, report, reason, file):
        self.write(f"files/{name}", file.bytes())
        self.write(f"seeds/model/{name}", file.head())
        self.expected.append(f"{name} {reason} - {report}\n")

    def write(self, name, data):
        path = self.folder / f"{name}.gguf"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def finish(self):
        (self.folder / "expected.txt").write_text("".join(self.expected))


def header(tensors=0, keys=0, version=3):
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys)


def one_key(entry):
    return header(keys=1) + entry


def one_tensor(record, data=b""):
    head = header(tensors=1) + record
    return head + bytes(-len(head) % 32) + data


def text_head(key, length):
    """A key with a text that claims `length` bytes."""
    return packed_text(key) + struct.pack("<IQ", TYPES["text"][0], length)


def array_head(key, element, count):
    kinds = struct.pack("<II", TYPES["array"][0], element)
    return packed_text(key) + kinds + struct.pack("<Q", count)


def add_lengths(corpus):
    """Lengths and counts that were used to size memory."""
    add = corpus.add
    add("key_length_2_48", "leejet/stable-diffusion.cpp#1397", "gguf.limit", 24,
        header(keys=1) + struct.pack("<Q", 2**48 - 1))
    add("key_length_huge", "ollama/ollama#17032", "gguf.limit", 24,
        header(keys=1) + struct.pack("<Q", HUGE) + b"name")
    add("key_length_past_end", "janhq/cortex.cpp#1985", "gguf.truncated", 32,
        header(keys=1) + struct.pack("<Q", 4096) + b"name")
    add("text_1_gib", "ggml-org/ggml#1516", "gguf.truncated", 49,
        one_key(text_head("a.key", 2**30)).ljust(160, b"x"))
    add("text_over_1_gib", "ggml-org/ggml#1516", "gguf.limit", 41,
        one_key(text_head("a.key", 2**30 + 1)).ljust(160, b"x"))
    add("text_length_2_63", "ggml-org/llama.cpp#19003", "gguf.limit", 41,
        one_key(text_head("a.key", 2**63)))
    add("texts_1_gib", "ggml-org/ggml#1516", "gguf.truncated", 157,
        one_key(array_head("a.key", TYPES["text"][0], 2**30)).ljust(160, b"\0"))
    add("numbers_1_gib", "ollama/ollama#16189", "gguf.truncated", 53,
        one_key(array_head("a.key", TYPES["u32"][0], 0x40000000)))
    add("array_count_huge", "ollama/ollama#17042", "gguf.limit", 45,
        one_key(array_head("a.key", TYPES["u8"][0], HUGE)))
    add("array_count_2_63", "ggml-org/llama.cpp#27188", "gguf.limit", 45,
        one_key(array_head("a.key", TYPES["u8"][0], 2**63)))
    add("key_count_huge", "huggingface/huggingface.js#2020", "gguf.limit", 16,
        header(keys=2**63))
    add("key_count_past_end", "huggingface/huggingface.js#2020", "gguf.truncated", 24,
        header(keys=50000))
    add("tensor_count_huge", "ggml-org/llama.cpp#15711", "gguf.limit", 8,
        header(tensors=2**63 // 400))
    add("tensor_count_past_end", "huggingface/candle#3533", "gguf.truncated", 24,
        header(tensors=60000))


def add_values(corpus):
    """Keys and values that ended in an assertion or in recursion."""
    add = corpus.add
    for kind in ("u8", "f32", "bool", "text", "array", "f64"):
        add(f"empty_key_{kind}", "ggml-org/llama.cpp#24446", "gguf.text", 24,
            one_key(packed_text("") + struct.pack("<I", TYPES[kind][0]) + bytes(20)))
    add("value_type_unknown", "antirez/gguf-tools#28", "gguf.type", 37,
        one_key(packed_text("a.key") + struct.pack("<I", 13) + bytes(8)))
    add("value_type_huge", "antirez/gguf-tools#28", "gguf.type", 37,
        one_key(packed_text("a.key") + struct.pack("<I", 2**32 - 1) + bytes(8)))
    add("element_type_unknown", "huggingface/huggingface.js#2028", "gguf.type", 41,
        one_key(array_head("a.key", 99, 1) + bytes(8)))
    nested = struct.pack("<IQ", TYPES["array"][0], 1) * 5000
    add("arrays_in_arrays", "huggingface/huggingface.js#2028", "gguf.type", 41,
        one_key(packed_text("a.key") + struct.pack("<I", TYPES["array"][0]) + nested))
    add("duplicate_key", "ggml-org/llama.cpp#24446", "gguf.duplicate", 50,
        header(keys=2) + packed_entry("a.key", "u8", 1) + packed_entry("a.key", "u8", 2))
    for alignment, report in ((0, "antirez/gguf-tools#27"), (2**30, "ggml-org/ggml#1516"),
                              (2**31, "ggml-org/llama.cpp#26318"), (1, "ggml-org/ggml#1516"),
                              (48, "ggml-org/ggml#1516")):
        add(f"alignment_{alignment}", report, "gguf.alignment", 24,
            one_key(packed_entry("general.alignment", "u32", alignment)))
    add("alignment_i32", "ggml-org/llama.cpp#26318", "gguf.alignment", 24,
        one_key(packed_entry("general.alignment", "i32", 32)))


def add_tensors(corpus):
    """Tensor records that overflowed an array, a product or a division."""
    add = corpus.add
    for rank in (5, 9, 2**32 - 1):
        add(f"rank_{rank}", "antirez/gguf-tools#25", "gguf.tensor", RANK_AT,
            one_tensor(packed_text("t") + struct.pack("<I", rank) + bytes(8 * 16)))
    add("dimension_zero", "ggml-org/ggml#1517", "gguf.tensor", DIM_AT + 8,
        one_tensor(packed_record("t", [32, 0], 0, 0)))
    add("dimension_negative", "ggml-org/llama.cpp#27203", "gguf.tensor", DIM_AT,
        one_tensor(packed_record("t", [HUGE], 0, 0)))
    add("product_of_dimensions_wraps", "ggml-org/llama.cpp#18674", "gguf.tensor", DIM_AT + 8,
        one_tensor(packed_record("t", [2**22, 2**42 + 1], 0, 0)))
    add("product_negative", "ggml-org/llama.cpp#27203", "gguf.tensor", DIM_AT,
        one_tensor(packed_record("t", [2**63 - 1, 2], 24, 0)))
    add("block_bytes_wrap", "ggml-org/llama.cpp#27200", "gguf.tensor", DIM_AT,
        one_tensor(packed_record("t", [5124095576030431008], 2, 0), bytes(64)))
    add("row_within_block", "ggml-org/llama.cpp#25378", "gguf.tensor", DIM_AT + 8,
        one_tensor(packed_record("t", [33], 2, 0), bytes(64)))
    add("type_removed", "ggml-org/llama.cpp#25378", "gguf.type", DIM_AT + 8,
        one_tensor(packed_record("t", [32], 4, 0), bytes(64)))
    add("type_unknown", "ggml-org/llama.cpp#25378", "gguf.type", DIM_AT + 8,
        one_tensor(packed_record("t", [32], 2**31, 0), bytes(64)))
    add("offset_past_end", "ggml-org/llama.cpp#14595", "gguf.tensor", DIM_AT + 12,
        one_tensor(packed_record("t", [32], 0, 2**40), bytes(128)))
    add("data_past_end", "janhq/cortex.cpp#1985", "gguf.truncated", 64,
        one_tensor(packed_record("t", [2**20], 0, 0), bytes(128)))
    second = packed_record("u", [32], 0, 64)
    first = packed_record("t", [32], 0, 0)
    add("tensors_overlap", "ggml-org/llama.cpp#14595", "gguf.tensor",
        HEADER_BYTES + len(first) + len(second) - 8,
        header(tensors=2) + first + second + bytes(512))
    add("duplicate_tensor", "ggml-org/llama.cpp#24446", "gguf.duplicate",
        HEADER_BYTES + len(first) + 8,
        header(tensors=2) + first + packed_record("t", [32], 0, 128) + bytes(512))


def add_headers(corpus):
    """What is no GGUF file of today."""
    add = corpus.add
    add("empty", "1bit-MONSTER/1bit-MONSTER#1104", "gguf.truncated", 0, b"")
    add("magic_only", "ggml-org/llama.cpp#19003", "gguf.truncated", 4, b"GGUF")
    add("web_page", "oobabooga/textgen#6080", "gguf.magic", 0, b"<!DOCTYPE html><html>")
    add("version_1", "huggingface/candle#3533", "gguf.version", 4,
        b"GGUF" + struct.pack("<III", 1, 0, 0))
    add("big_endian", "huggingface/candle#3533", "gguf.version", 4,
        b"GGUF" + struct.pack(">IQQ", 3, 0, 0))


def add_sound(corpus):
    """Sound files that hold no model: seeds to mutate, with every value type in each."""
    for version, alignment in ((2, 32), (3, 8), (3, 64)):
        file = GgufFile(version, alignment)
        file.set("general.alignment", "u32", alignment)
        for kind in [kind for kind in TYPES if kind not in ("text", "array")]:
            file.set(f"one.{kind}", kind, 1)
            file.set(f"list.{kind}", kind, [1, 0])
        file.set("one.text", "text", "tëxt")
        file.set("list.text", "text", ["", "a", "🙂"])
        for index, name in enumerate(FORMATS):
            file.tensor(f"t.{name}", name, [32, 2], [index / 8] * 64)
        corpus.add(f"sound_{version}_{alignment}", "-", "model.key.missing", "-",
                   file.bytes())


class ChangedFile(GgufFile):
    """Writes some keys otherwise than it is told, and leaves some tensors out."""

    def __init__(self, changes, left_out):
        super().__init__()
        self.changes = changes
        self.left_out = left_out

    def set(self, key, kind, value):
        super().set(key, *self.changes.get(key, (kind, value)))

    def tensor(self, name, *rest):
        if name != self.left_out:
            super().tensor(name, *rest)


def add_models(corpus):
    """Sound files with a model or a tokenizer that is not."""

    def add(name, report, reason, key=None, kind=None, value=None, left_out=None):
        file = ChangedFile({key: (kind, value)}, left_out)
        corpus.add_model(name, report, reason, tiny.make_model("q8_0", 1, file))

    corpus.write("seeds/model/sound", tiny.make_model("q8_0", 1).head())
    heads = "llama.attention.head_count"
    add("no_heads", "ggml-org/llama.cpp#24085", "model.parameter", heads, "u32", 0)
    add("heads_huge", "ggml-org/llama.cpp#24085", "model.parameter", heads, "u64", HUGE)
    add("heads_negative", "ggml-org/llama.cpp#24085", "model.parameter", heads, "i32", -1)
    add("layers_huge", "ggml-org/llama.cpp#26690", "model.parameter", "llama.block_count", "u32",
        2**32 - 1)
    add("vocabulary_huge", "ggml-org/llama.cpp#26690", "model.parameter", "llama.vocab_size",
        "u32", 2**32 - 1)
    add("width_is_text", "EricLBuehler/mistral.rs#2215", "model.key.type",
        "llama.embedding_length", "text", "64")
    add("architecture_unknown", "ggml-org/llama.cpp#22742", "model.architecture",
        "general.architecture", "text", "no-such-model")
    add("tensor_missing", "janhq/cortex.cpp#1985", "model.tensor.missing",
        left_out="blk.1.ffn_up.weight")

    tokens, types, merges = tiny.tokenizer_tables()
    table = "tokenizer.ggml."
    add("token_types_u8", "ggml-org/llama.cpp#24888", "tokenizer.broken", table + "token_type",
        "u8", types)
    add("token_types_short", "ggml-org/llama.cpp#20735", "tokenizer.broken", table + "token_type",
        "i32", types[:200])
    add("token_types_scalar", "EricLBuehler/mistral.rs#2215", "tokenizer.broken",
        table + "token_type", "i32", 1)
    add("tokens_twice", "ggml-org/llama.cpp#24885", "tokenizer.broken", table + "tokens", "text",
        tokens[:-1] + tokens[5:6])
    add("tokens_are_numbers", "ggml-org/llama.cpp#26690", "tokenizer.broken", table + "tokens",
        "u32", list(range(300)))
    add("merge_without_space", "EricLBuehler/mistral.rs#2215", "tokenizer.broken",
        table + "merges", "text", ["nospace"] + merges[1:])
    add("end_token_out_of_range", "EricLBuehler/mistral.rs#2215", "tokenizer.broken",
        table + "eos_token_id", "u32", 2**32 - 1)
    add("tokenizer_unknown", "ggml-org/llama.cpp#24885", "tokenizer.unsupported", table + "model",
        "text", "no-such-tokenizer")


def main(folder):
    corpus = Corpus(folder)
    add_sound(corpus)
    add_headers(corpus)
    add_lengths(corpus)
    add_values(corpus)
    add_tensors(corpus)
    add_models(corpus)
    corpus.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
