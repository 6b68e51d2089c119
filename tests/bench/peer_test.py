"""Proves that the paired bench reads both engines' output, pairs their runs and sums them up."""

import contextlib
import io
import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import peer

SOMA = {"prefill_tok_s": 1000.0, "decode_tok_s": 300.0, "load_s": 0.12, "read_gb_s": 40.0,
        "peak_bytes": 256 * peer.MIB, "decode_bytes_per_token": 100_000_000,
        "kernel_set": "avx2"}

# What llama-bench prints, cut down to the keys around those that are read.
LLAMA_BENCH = [
    {"build_commit": "0c1e570", "n_threads": 1, "type_k": "f16", "n_prompt": 512, "n_gen": 0,
     "n_depth": 0, "avg_ns": 2560000000, "avg_ts": 200.0, "stddev_ts": 0.0, "samples_ts": [200.0]},
    {"build_commit": "0c1e570", "n_threads": 1, "type_k": "f16", "n_prompt": 0, "n_gen": 128,
     "n_depth": 0, "avg_ns": 1280000000, "avg_ts": 100.0, "stddev_ts": 0.0, "samples_ts": [100.0]},
]

ENGINE = """#!{python}
import sys
with open({log!r}, "a") as log:
    log.write({name!r} + "\\n")
print({text!r} if "--json" in sys.argv or "-o" in sys.argv else "x")
"""


class Parsing(unittest.TestCase):
    def test_soma(self):
        figures = peer.parse_soma(json.dumps(SOMA))
        self.assertEqual(figures["decode"], 300.0)
        self.assertEqual(figures["prefill"], 1000.0)
        self.assertEqual(figures["peak_mib"], 256)
        self.assertAlmostEqual(figures["read_share"], 0.75)

    def test_llama_bench(self):
        self.assertEqual(peer.parse_llama_bench(json.dumps(LLAMA_BENCH)),
                         {"prefill": 200.0, "decode": 100.0})

    def test_llama_bench_without_decode(self):
        with self.assertRaises(SystemExit):
            peer.parse_llama_bench(json.dumps(LLAMA_BENCH[:1]))


class Measuring(unittest.TestCase):
    def test_busy_neighbours_are_seen_and_own_children_are_not(self):
        spin = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
        samples = iter([(10.0, 1.0), (13.0, 2.0)])  # 3 s used, of them 1 s ours
        clock = iter([0.0, 2.0])
        with mock.patch.object(peer, "busy_seconds", lambda: next(samples)), \
                mock.patch.object(peer.time, "monotonic", lambda: next(clock)):
            self.assertEqual(peer.others_while(lambda: "done"), ("done", 1.0))
        _, before = peer.busy_seconds()
        peer.output_of([sys.executable, "-c", spin])
        self.assertGreater(peer.busy_seconds()[1] - before, 0.25)

    def test_first_byte_comes_before_the_end(self):
        slow = "import sys, time\nprint('x', flush=True)\ntime.sleep(2)"
        self.assertLess(peer.first_byte_seconds([sys.executable, "-c", slow]), 2)

    def test_a_failing_engine_ends_the_bench(self):
        with self.assertRaises(SystemExit):
            peer.output_of([sys.executable, "-c", "import sys; sys.exit(3)"])
        with self.assertRaises(SystemExit):
            peer.first_byte_seconds([sys.executable, "-c", ""])


class Peak(unittest.TestCase):
    def test_the_integer_units_are_timed_where_they_are(self):
        with tempfile.TemporaryDirectory() as folder:
            program = peer.build_int8_peak(folder)
            with open("/proc/cpuinfo", encoding="utf-8") as file:
                flags = next(line for line in file if line.startswith("flags")).split()
            for name in ("avx2", "avx512_vnni", "amx_int8"):
                if name in flags:
                    self.assertGreater(float(peer.output_of([program, name, "1"])), 1)
                else:
                    self.assertEqual(subprocess.run([program, name, "1"]).returncode, 2)
            self.assertEqual(subprocess.run([program, "sse9", "1"]).returncode, 2)


class Whole(unittest.TestCase):
    """The driver over two stand-ins that write down when they ran."""

    def engine(self, name, answer):
        path = Path(self.folder.name) / name
        path.write_text(ENGINE.format(python=sys.executable, log=self.log, name=name,
                                      text=json.dumps(answer)), encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.log = os.path.join(self.folder.name, "log")

    def run_driver(self, others):
        peak = Path(self.folder.name, "peak")
        peak.write_text("#!/bin/sh\necho 400\n")
        peak.chmod(0o755)
        soma, llama = self.engine("soma", SOMA), self.engine("llama", LLAMA_BENCH)
        arguments = [
            "peer.py", soma, "model.gguf", "--peer-bench", llama, "--peer-commit", "0c1e570",
            "--peer-first-token", llama + " {model} {threads} {prompt}",
            "--threads", "2", "--pairs", "3", "--patience", "5"]
        out = io.StringIO()
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(out), \
                contextlib.redirect_stderr(io.StringIO()), \
                mock.patch.object(peer, "await_quiet", lambda options: None), \
                mock.patch.object(peer, "layer_operations", lambda model: 200_000_000), \
                mock.patch.object(peer, "build_int8_peak", lambda folder: str(peak)), \
                mock.patch.object(peer, "others_while", lambda work: (work(), next(others))):
            try:
                code = peer.main()
            except SystemExit as end:
                code = end.code
        return code, out.getvalue(), Path(self.log).read_text(encoding="utf-8").split()

    def test_runs_alternate_and_ratios_are_of_pairs(self):
        code, out, ran = self.run_driver(iter([0.0] * 3))
        self.assertEqual(code, 0)
        a, b = ["soma"] * 2, ["llama"] * 2
        self.assertEqual(ran, a + b + b + a + a + b)
        self.assertIn("| decode 128, tok/s | 2 | 300 [300..300] | 100 [100..100] "
                      "| 3.00 [3.00..3.00] |", out)
        self.assertIn("| prefill 512, tok/s | 2 | 1000 [1000..1000] | 200 [200..200] "
                      "| 5.00 [5.00..5.00] |", out)
        self.assertIn("| decode's share of it | 2 | 0.75 [0.75..0.75] | – | – |", out)
        self.assertIn("| prefill's share of it | 2 | 0.50 [0.50..0.50] | – | – |", out)
        self.assertIn("peer: 0c1e570", out)

    def test_disturbed_pairs_are_dropped(self):
        code, out, ran = self.run_driver(iter([0.0, 0.5, 0.0, 0.0]))
        self.assertEqual((code, len(ran)), (0, 16))
        self.assertIn("| decode 128", out)

    def test_too_few_pairs_are_a_failure(self):
        code, _, _ = self.run_driver(iter([0.0, 0.5, 0.5, 0.5, 0.5]))
        self.assertNotEqual(code, 0)


if __name__ == "__main__":
    unittest.main()
