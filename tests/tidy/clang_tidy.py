#!/usr/bin/env python3
"""Runs clang-tidy on what changed, or on everything, with the flags the asan build used.

usage: tests/tidy/clang_tidy.py [--all] BUILD    BUILD is build/asan, built; CHANGED_SINCE=COMMIT
                                                 names the base of the change

Looked at are the sources that differ from the base (where the branch left origin's main, or the
last commit), and for each changed header that none of them includes, one source that does. If
nothing changed, src/base is taken: a check that found nothing to look at has not looked. --all
takes every source and adds clang's path-sensitive analyzer, which costs minutes. The last line
counts files: "N passed, M failed".
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys

CLANG_TIDY = "clang-tidy-19"


def git(*arguments):
    done = subprocess.run(["git", "-c", "safe.directory=*", *arguments], capture_output=True,
                          text=True)
    return done.stdout.split() if done.returncode == 0 else []


def base_of_change():
    """The commit the change is measured against; the empty tree if history does not reach back."""
    head = git("rev-parse", "HEAD")
    left = git("merge-base", "HEAD", "origin/main")
    for candidate in (git("rev-parse", os.environ.get("CHANGED_SINCE", "")), left,
                      git("rev-parse", "--verify", "-q", "HEAD~1")):
        if candidate and candidate != head:
            return candidate[0]
    return None


def changed_files():
    base = base_of_change()
    untracked = git("ls-files", "--others", "--exclude-standard")
    return set(untracked + (git("diff", "--name-only", base) if base else git("ls-files")))


def commands(build):
    """{source: (arguments, files it depends on)}, as the Makefile wrote them beside each object."""
    found = {}
    for path in sorted(pathlib.Path(build).rglob("*.o.cmd")):
        depends = path.with_suffix("").with_suffix(".d").read_text().replace("\\\n", " ")
        names = depends.partition(":")[2].partition("\n")[0].split()
        source = next(name for name in names if name.endswith(".cpp"))
        if pathlib.Path(source).is_file():
            found[source] = (path.read_text().split()[1:], set(names))
    return found


def cover(known, changed):
    """The changed sources, and as few others as include the changed headers."""
    chosen = [source for source in known if source in changed]
    seen = set().union(*(known[source][1] for source in chosen)) if chosen else set()
    for source, (_, depends) in known.items():
        if (depends & changed) - seen:
            chosen.append(source)
            seen |= depends
    return chosen or [source for source in known if source.startswith("src/base/")]


def check(source, arguments, extra):
    done = subprocess.run([CLANG_TIDY, "--quiet", *extra, source, "--", *arguments],
                          capture_output=True, text=True)
    return source, done.returncode, done.stdout + (done.stderr if done.returncode else "")


def main(arguments):
    everything = arguments[:1] == ["--all"]
    known = commands(arguments[-1])
    if not known:
        print(f"clang-tidy: {arguments[-1]} holds no objects; build it first")
        return 1
    extra = ["--checks=clang-analyzer-*"] if everything else []
    chosen = list(known) if everything else cover(known, changed_files())
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, code, output in pool.map(
                lambda name: check(name, known[name][0], extra), chosen):
            if code != 0:
                failed += 1
                print(f"clang-tidy: {source}\n{output}")
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
