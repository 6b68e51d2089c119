"""Writes GGUF files with Python's standard library alone: for test models and malformed files.

    file = GgufFile()
    file.set("llama.block_count", "u32", 2)
    file.set("tokenizer.ggml.tokens", "text", ["a", "b"])      # a list becomes an array
    file.tensor("output_norm.weight", "f32", [64], [1.0] * 64)  # innermost dimension first
    open(path, "wb").write(file.bytes())
"""

import math
import struct

# Value types: number in the file, struct code.
TYPES = {
    "u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"),
    "i32": (5, "i"), "f32": (6, "f"), "bool": (7, "?"), "text": (8, None), "array": (9, None),
    "u64": (10, "Q"), "i64": (11, "q"), "f64": (12, "d"),
}


def packed_text(text):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data


def packed(kind, value):
    return packed_text(value) if kind == "text" else struct.pack("<" + TYPES[kind][1], value)


def packed_entry(key, kind, value):
    """One key with its value; a list is an array of `kind`."""
    if not isinstance(value, list):
        return packed_text(key) + struct.pack("<I", TYPES[kind][0]) + packed(kind, value)
    head = struct.pack("<IIQ", TYPES["array"][0], TYPES[kind][0], len(value))
    return packed_text(key) + head + b"".join(packed(kind, one) for one in value)


def packed_record(name, dims, type_number, offset):
    """One tensor's line in the table of tensors."""
    return (packed_text(name) + struct.pack("<I", len(dims)) +
            b"".join(struct.pack("<Q", dim) for dim in dims) +
            struct.pack("<IQ", type_number, offset))


# ---- Element formats: from a block of numbers to its bytes


def half(value):
    return struct.pack("<e", value)


def stored_half(value):
    """What a reader will get back for a scale that is kept in 16 bits."""
    return struct.unpack("<e", half(value))[0]


def nibbles(levels):
    """Low halves are elements 0..15 of the block, high halves are 16..31."""
    return bytes((levels[j] & 15) | ((levels[j + 16] & 15) << 4) for j in range(16))


def fifth_bits(levels):
    return struct.pack("<I", sum((level >> 4) << j for j, level in enumerate(levels)))


def nearest(values, scale, base, most):
    """The level of each value on the grid base + scale · level, 0 ≤ level ≤ most."""
    if scale == 0:
        return [0] * len(values)
    return [min(max(math.floor((v - base) / scale + 0.5), 0), most) for v in values]


def symmetric(values, zero_level):
    """Scale for x = d · (q − zero_level): the largest magnitude falls on level 0."""
    extreme = max(values, key=abs)
    scale = stored_half(extreme / -zero_level)
    return scale, nearest(values, scale, -zero_level * scale, 2 * zero_level - 1)


def affine(values, most):
    """Scale and minimum for x = d · q + m."""
    low = stored_half(min(values))
    scale = stored_half((max(values) - low) / most)
    return scale, low, nearest(values, scale, low, most)


def q4_0(values):
    scale, levels = symmetric(values, 8)
    return half(scale) + nibbles(levels)


def q4_1(values):
    scale, low, levels = affine(values, 15)
    return half(scale) + half(low) + nibbles(levels)


def q5_0(values):
    scale, levels = symmetric(values, 16)
    return half(scale) + fifth_bits(levels) + nibbles(levels)


def q5_1(values):
    scale, low, levels = affine(values, 31)
    return half(scale) + half(low) + fifth_bits(levels) + nibbles(levels)


def q8_0(values):
    scale = stored_half(max(abs(v) for v in values) / 127)
    levels = [min(level, 254) - 127 for level in nearest(values, scale, -127 * scale, 254)]
    return half(scale) + struct.pack("<32b", *levels)


def bf16(values):
    (bits,) = struct.unpack("<I", struct.pack("<f", values[0]))
    return struct.pack("<H", (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)


# Type number in the file, elements of a block, block to bytes.
FORMATS = {
    "f32": (0, 1, lambda values: struct.pack("<f", values[0])),
    "f16": (1, 1, lambda values: half(values[0])),
    "bf16": (30, 1, bf16),
    "q4_0": (2, 32, q4_0),
    "q4_1": (3, 32, q4_1),
    "q5_0": (6, 32, q5_0),
    "q5_1": (7, 32, q5_1),
    "q8_0": (8, 32, q8_0),
}


class GgufFile:
    def __init__(self, version=3, alignment=32):
        self.version = version
        self.alignment = alignment
        self.entries = []
        self.tensors = []

    def set(self, key, kind, value):
        self.entries.append(packed_entry(key, kind, value))

    def tensor(self, name, format_name, dims, values):
        """Row after row; `values` are numbers, stored in the format."""
        number, block, to_bytes = FORMATS[format_name]
        if dims[0] % block != 0 or math.prod(dims) != len(values):
            raise ValueError(f"{name}: {len(values)} values do not fill {dims} in {format_name}")
        data = b"".join(to_bytes(values[i:i + block]) for i in range(0, len(values), block))
        self.tensors.append((name, dims, number, data))

    def pad(self, data):
        return data + bytes(-len(data) % self.alignment)

    def head(self):
        """All but the tensors' data."""
        head = b"GGUF" + struct.pack("<IQQ", self.version, len(self.tensors), len(self.entries))
        head += b"".join(self.entries)
        offset = 0
        for name, dims, number, data in self.tensors:
            head += packed_record(name, dims, number, offset)
            offset += len(self.pad(data))
        return self.pad(head)

    def bytes(self):
        return self.head() + b"".join(self.pad(data) for *_, data in self.tensors)
