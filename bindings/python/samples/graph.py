"""Runs a graph of Python functions: python graph.py "a text"."""

import sys

import soma


@soma.node
def words(text):
    return text.split()


@soma.node
def count(words):
    return len(words)


@soma.node
def longest(words):
    return max(words, key=len)


graph = soma.Graph(words() >> (count() | longest()))
print(graph.compile(), end="")
print(graph.run(sys.argv[1] if len(sys.argv) > 1 else "graphs are data"))
