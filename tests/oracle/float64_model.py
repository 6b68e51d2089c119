"""An independent float64 model of the `llama` family: the numeric oracle of the library.

It shares nothing with the library but the file: tensors are dequantised by the `gguf` package, and
every product, norm and softmax below is plain NumPy in double precision, so that its own rounding
(about 1e-15 of a value) is invisible beside the errors it judges.

    python3 tests/oracle/float64_model.py MODEL "The capital of France is"
"""

import sys

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize


class Float64Model:
    """Weights and the forward pass. A subclass may degrade `product` and `stored` to simulate a
    lower precision; everything else stays as it is."""

    def __init__(self, path):
        reader = GGUFReader(path)

        def meta(key):
            return reader.fields[f"llama.{key}"].contents()

        if reader.fields["general.architecture"].contents() != "llama":
            raise ValueError(f"{path}: this oracle knows the llama family only")
        self.layers = meta("block_count")
        self.heads = meta("attention.head_count")
        self.kv_heads = meta("attention.head_count_kv")
        self.epsilon = float(meta("attention.layer_norm_rms_epsilon"))
        self.rope_base = float(meta("rope.freq_base"))
        self.head_dim = meta("embedding_length") // self.heads
        if meta("rope.dimension_count") != self.head_dim:
            raise ValueError(f"{path}: only whole heads are rotated here")
        self.weights = {
            tensor.name: np.asarray(dequantize(tensor.data, tensor.tensor_type), np.float64)
            for tensor in reader.tensors
        }
        # A file without an `output.weight` ties its head to the token embedding.
        self.weights.setdefault("output.weight", self.weights["token_embd.weight"])

    def new_cache(self):
        """Keys and values seen so far, one pair of [kv head, position, head dim] a layer."""
        empty = np.zeros((self.kv_heads, 0, self.head_dim))
        return [(empty, empty) for _ in range(self.layers)]

    def forward(self, tokens, cache=None):
        """Logits [position, vocabulary] of `tokens`; they follow what `cache` holds and join it."""
        return self.forward_together([tokens], [self.new_cache() if cache is None else cache])

    def forward_together(self, texts, caches):
        """The same for several texts in one pass over the weights: all their rows, text by text."""
        ends = np.cumsum([len(tokens) for tokens in texts])
        x = self.weights["token_embd.weight"][np.concatenate(texts)]
        for layer in range(self.layers):
            normed = self.norm(x, f"blk.{layer}.attn_norm.weight")
            x = x + self.attention(normed, layer, ends, caches)
            normed = self.norm(x, f"blk.{layer}.ffn_norm.weight")
            x = x + self.feed_forward(normed, layer)
        return self.product("output.weight", self.norm(x, "output_norm.weight"))

    def product(self, name, x):
        """x [row, in] times the transposed weight [out, in]."""
        return x @ self.weights[name].T

    def stored(self, x):
        """A key or value as the cache keeps it."""
        return x

    def norm(self, x, name):
        """RMSNorm: each row divided by its root mean square, then scaled by column."""
        mean_square = np.mean(x * x, axis=-1, keepdims=True)
        return x / np.sqrt(mean_square + self.epsilon) * self.weights[name]

    def rotate(self, x, start):
        """RoPE over [row, head, column]: columns 2i and 2i+1 are a point in the plane, turned by
        position * base^(-2i / head_dim)."""
        turns = self.rope_base ** (-np.arange(0, self.head_dim, 2) / self.head_dim)
        angle = np.outer(np.arange(start, start + len(x)), turns)[:, None, :]
        even, odd = x[..., 0::2], x[..., 1::2]
        turned = np.empty_like(x)
        turned[..., 0::2] = even * np.cos(angle) - odd * np.sin(angle)
        turned[..., 1::2] = even * np.sin(angle) + odd * np.cos(angle)
        return turned

    def attention(self, x, layer, ends, caches):
        """Projects all rows, lets each text attend to its own past, projects back."""
        rows = [np.split(self.product(f"blk.{layer}.{name}.weight", x), ends[:-1])
                for name in ("attn_q", "attn_k", "attn_v")]
        mixed = [self.attend(*own, layer, cache) for *own, cache in zip(*rows, caches)]
        return self.product(f"blk.{layer}.attn_output.weight", np.concatenate(mixed))

    def attend(self, query, key, value, layer, cache):
        """Causal grouped-query attention: heads of the same h // group share keys and values."""
        rows, start = len(query), cache[layer][0].shape[1]
        query = self.rotate(query.reshape(rows, self.heads, -1), start).transpose(1, 0, 2)
        key = self.rotate(key.reshape(rows, self.kv_heads, -1), start).transpose(1, 0, 2)
        value = value.reshape(rows, self.kv_heads, -1).transpose(1, 0, 2)
        keys = np.concatenate([cache[layer][0], self.stored(key)], axis=1)
        values = np.concatenate([cache[layer][1], self.stored(value)], axis=1)
        cache[layer] = (keys, values)

        query = query.reshape(self.kv_heads, -1, rows, self.head_dim)
        scores = query @ keys[:, None].transpose(0, 1, 3, 2) / np.sqrt(self.head_dim)
        future = np.arange(keys.shape[1]) > np.arange(start, start + rows)[:, None]
        mixed = softmax(np.where(future, -np.inf, scores)) @ values[:, None]
        return mixed.reshape(self.heads, rows, -1).transpose(1, 0, 2).reshape(rows, -1)

    def feed_forward(self, x, layer):
        """SwiGLU: down(silu(gate(x)) * up(x))."""
        gate = self.product(f"blk.{layer}.ffn_gate.weight", x)
        up = self.product(f"blk.{layer}.ffn_up.weight", x)
        return self.product(f"blk.{layer}.ffn_down.weight", gate / (1 + np.exp(-gate)) * up)


def softmax(x):
    """Probabilities along the last axis."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def log_sum_exp(x):
    """log of the sum of exponentials along the last axis, in float64."""
    x = np.asarray(x, np.float64)
    top = np.max(x, axis=-1, keepdims=True)
    return (top + np.log(np.sum(np.exp(x - top), axis=-1, keepdims=True)))[..., 0]


def greedy(model, prompts, count):
    """After each prompt the `count` likeliest tokens, one after another, end-of-text like any
    other; and with each the gap between the first and the second logit. [(tokens, gaps)]"""
    caches = [model.new_cache() for _ in prompts]
    ends = np.cumsum([len(prompt) for prompt in prompts])
    logits = model.forward_together(prompts, caches)[ends - 1]
    tokens, gaps = [], []
    while True:
        tokens.append(np.argmax(logits, axis=1))
        best = np.partition(logits, -2, axis=1)
        gaps.append(best[:, -1] - best[:, -2])
        if len(tokens) == count:
            return list(zip(np.transpose(tokens).tolist(), np.transpose(gaps).tolist()))
        logits = model.forward_together(tokens[-1][:, None], caches)


if __name__ == "__main__":
    from file_tokenizer import load_tokenizer

    tokenizer = load_tokenizer(sys.argv[1])
    prompt = tokenizer.encode(sys.argv[2]).ids
    [(ids, _)] = greedy(Float64Model(sys.argv[1]), [prompt], 24)
    print(tokenizer.decode(ids, skip_special_tokens=False))
