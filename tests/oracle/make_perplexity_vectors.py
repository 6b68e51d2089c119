"""Writes tests/golden/logits/text_4k_*.npy: what the float64 model says of each token of the text.

    python3 tests/oracle/make_perplexity_vectors.py MODEL
"""

import sys

import numpy as np

from file_tokenizer import load_tokenizer
from float64_model import Float64Model, log_sum_exp
from make_logits_vectors import write
from windows import log_softmax, next_log_probabilities, perplexity, text_windows


def main():
    model, tokenizer = Float64Model(sys.argv[1]), load_tokenizer(sys.argv[1])
    windows = text_windows(tokenizer)
    sums, next_logs = [], []
    for tokens in windows:
        logits = model.forward(tokens)
        sums.append(log_sum_exp(logits))
        next_logs.append(next_log_probabilities(log_softmax(logits), tokens))
    write("text_4k_tokens", windows, "<i4")
    write("text_4k_log_sum_exp", sums, "<f4")
    write("text_4k_next", next_logs, "<f4")
    print(f"{windows.size} tokens, perplexity {perplexity(np.concatenate(next_logs)):.4f}")


if __name__ == "__main__":
    main()
