"""The 4 k-token text in windows of 512, and the measures of quality over them.

Each window is a text of its own (its context starts empty), so that a computation needs room for
512 positions only and every engine can be asked the same question. All sums are in float64.
"""

from pathlib import Path

import numpy as np

from float64_model import log_sum_exp

WINDOW = 512
TEXT = Path(__file__).with_name("text_4k.txt")


def text_windows(tokenizer):
    """Token ids [window, 512] of the text's whole windows; the few tokens after them are unused."""
    ids = tokenizer.encode(TEXT.read_text(encoding="utf-8")).ids
    whole = len(ids) // WINDOW
    return np.array(ids[:whole * WINDOW], np.int32).reshape(whole, WINDOW)


def log_softmax(logits):
    """Log-probabilities along the last axis, in float64."""
    logits = np.asarray(logits, np.float64)
    return logits - log_sum_exp(logits)[..., None]


def divergence(p, q):
    """KL(p || q) of each position, in nats, from log-probabilities [position, vocabulary]."""
    return np.sum(np.exp(p) * (p - q), axis=-1)


def next_log_probabilities(log_probabilities, tokens):
    """What a window's positions (all but the last) give to the token that really follows."""
    return log_probabilities[np.arange(len(tokens) - 1), tokens[1:]]


def perplexity(next_logs):
    """exp of the mean negative log-probability of the tokens that followed."""
    return float(np.exp(-np.mean(next_logs)))
