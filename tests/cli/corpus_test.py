#!/usr/bin/env python3
"""Proves that the tool refuses every malformed file of the corpus with one clear error, at once."""

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import unittest

TOOL = os.environ["SOMA_TOOL"]
ADDRESS_SPACE_MAX = 1 << 30  # several of the files claim more than this


def check(path):
    return subprocess.run(
        [TOOL, "model", "check", path], capture_output=True, text=True, timeout=20,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_MAX,) * 2))


class Corpus(unittest.TestCase):
    def test_every_file_gives_the_error_that_it_should(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "tests/fuzz/make_corpus.py", folder], check=True)
            lines = pathlib.Path(folder, "expected.txt").read_text().splitlines()
            self.assertGreater(len(lines), 60)
            for line in lines:
                name, reason, offset, report = line.split()
                with self.subTest(name, report=report):
                    path = f"{folder}/files/{name}.gguf"
                    result = check(path)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertEqual(result.stdout, "")
                    first, *others = result.stderr.rstrip().splitlines()
                    self.assertIn(path, first)
                    self.assertTrue(first.endswith(f"[{reason}]"), first)
                    if offset != "-":
                        self.assertIn(f": byte {offset}: ", first)
                        self.assertEqual(others, [])


if __name__ == "__main__":
    unittest.main()
