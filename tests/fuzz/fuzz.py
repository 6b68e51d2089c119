#!/usr/bin/env python3
"""Runs every fuzz target for its share of a time budget, from its seeds.

usage: tests/fuzz/fuzz.py BUILD SECONDS    BUILD is build/asan

Seeds lie in tests/fuzz/seeds/NAME/; those of targets that read models are made by make_corpus.py.
What a target finds new is kept in build/fuzz/NAME/ for the next run; an input that crashes it stays
in build/fuzz/NAME.crash/. The last line counts targets.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

CORPUS = pathlib.Path("build/fuzz/corpus")
INPUT_SECONDS_MAX = 10
MEMORY_MIB_MAX = 1024


def run(target, seconds):
    name = target.name.removesuffix("_fuzz")
    corpus = pathlib.Path("build/fuzz", name)
    crashes = pathlib.Path("build/fuzz", name + ".crash")
    corpus.mkdir(parents=True, exist_ok=True)
    crashes.mkdir(parents=True, exist_ok=True)
    seeds = [pathlib.Path("tests/fuzz/seeds", name), CORPUS / "seeds" / name]
    folders = [str(corpus)] + [str(folder) for folder in seeds if folder.is_dir()]
    dictionary = pathlib.Path("tests/fuzz", name + ".dict")
    options = [f"-max_total_time={seconds}", f"-timeout={INPUT_SECONDS_MAX}",
               f"-rss_limit_mb={MEMORY_MIB_MAX}", f"-malloc_limit_mb={MEMORY_MIB_MAX}",
               f"-artifact_prefix={crashes}/", "-print_final_stats=1", "-verbosity=0"]
    if dictionary.is_file():
        options.append(f"-dict={dictionary}")
    done = subprocess.run([str(target), *options, *folders], capture_output=True, text=True,
                          errors="replace")
    stats = dict(line.removeprefix("stat::").split(": ", 1)
                 for line in done.stderr.splitlines() if line.startswith("stat::"))
    runs = int(stats.get("number_of_executed_units", 0))
    print(f"fuzz {name}: {runs} inputs in {seconds} s, exit code {done.returncode}", flush=True)
    if done.returncode != 0 or runs == 0:
        print(done.stderr[-6000:])
        return False
    return True


def main(build, seconds):
    subprocess.run([sys.executable, "tests/fuzz/make_corpus.py", str(CORPUS)], check=True)
    targets = sorted(pathlib.Path(build, "tests/fuzz").glob("*_fuzz"))
    share = max(int(seconds) // max(len(targets), 1), 1)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # each keeps one busy
        good = sum(pool.map(lambda target: run(target, share), targets))
    print(f"{good} passed, {len(targets) - good} failed")
    return 0 if targets and good == len(targets) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
