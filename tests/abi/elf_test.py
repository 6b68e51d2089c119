#!/usr/bin/env python3
"""Proves the library's ELF contract: it exports what the map says and nothing else, needs little,
and calls nothing that would print, end the process or change its state.

usage: tests/abi/elf_test.py [--update]    --update rewrites the lock lib/abi/elf.txt
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = pathlib.Path(os.environ.get("SOMA_LIBRARY", "lib/libsoma.so"))
ARCHIVE = LIBRARY.with_suffix(".a")
LOCK = ROOT / "lib/abi/elf.txt"
NEEDED = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "libpthread.so.0",
          "libdl.so.2", "ld-linux-x86-64.so.2"}
# Of ours and of what is linked into it.
FORBIDDEN = set("""
  abort exit _exit _Exit quick_exit atexit at_quick_exit __assert_fail
  puts putchar printf fprintf vprintf vfprintf perror stdout stderr psignal
  __printf_chk __fprintf_chk __vfprintf_chk
  setlocale uselocale signal sigaction umask chdir fchdir getenv secure_getenv setenv putenv
  system popen fork
""".split())

results = []


def check(condition, message):
    results.append(bool(condition))
    if not condition:
        print("FAIL", message)


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def map_names():
    return set(re.findall(r"^ +(soma_\w+);", (ROOT / "lib/soma.map").read_text(), re.M))


def check_symbols():
    exported, kinds = set(), {}
    for line in run("nm", "-D", "--defined-only", LIBRARY).splitlines():
        _, kind, name = line.split()
        if kind != "A":  # the version nodes themselves
            exported.add(name.split("@")[0])
            kinds[name] = kind
    check(exported == map_names(), f"exports differ from the map: {exported ^ map_names()}")
    check(set(kinds.values()) == {"T"}, f"not only functions: {kinds}")
    undefined = {line.split()[-1].split("@")[0]
                 for line in run("nm", "-D", "-u", LIBRARY).splitlines()}
    operators = {name for name in undefined if re.match(r"_Zn[wa]|_Zd[la]", name)}
    check(not operators, f"the host's operators are called: {operators}")
    check(not undefined & FORBIDDEN, f"forbidden functions are called: {undefined & FORBIDDEN}")


def check_dynamic_section():
    dynamic = run("readelf", "-dW", LIBRARY)
    check("Library soname: [libsoma.so.1]" in dynamic, "the soname is not libsoma.so.1")
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    check(needed <= NEEDED, f"needs {needed - NEEDED}")
    check("NODELETE" in dynamic, "not marked NODELETE")
    check("STATIC_TLS" not in dynamic, "has static TLS")
    check("TEXTREL" not in dynamic, "has text relocations")
    check("RPATH" not in dynamic and "RUNPATH" not in dynamic, "has a search path")
    stack = re.search(r"GNU_STACK.*", run("readelf", "-lW", LIBRARY))[0]
    check("RWE" not in stack, "has an executable stack")


def newest(versions):
    return max(versions, key=lambda version: [int(part) for part in version.split(".")])


def floors():
    """What the library asks of a system, and how many constructors run when it is loaded."""
    versions = run("readelf", "-VW", LIBRARY)
    constructors = re.search(r"\.init_array\s+INIT_ARRAY\s+\S+ \S+ (\S+)",
                             run("readelf", "-SW", LIBRARY))
    count = int(constructors[1], 16) // 8 if constructors else 0
    return (f"GLIBC {newest(re.findall(r'GLIBC_([0-9.]+)', versions))}\n"
            f"GLIBCXX {newest(re.findall(r'GLIBCXX_([0-9.]+)', versions))}\n"
            f"CXXABI {newest(re.findall(r'CXXABI_([0-9.]+)', versions))}\n"
            f"init_array {count}\n")


def check_lock(update):
    now = floors()
    if update:
        LOCK.write_text(now)
    check(LOCK.exists() and LOCK.read_text() == now,
          f"{LOCK.relative_to(ROOT)} differs; now:\n{now}--update it if that is meant")


def check_archive():
    names = {line.split()[-1] for line in run("nm", "-g", "--defined-only", ARCHIVE).splitlines()
             if len(line.split()) == 3}
    check(names == map_names(), f"{ARCHIVE} defines other names: {names ^ map_names()}")


check_symbols()
check_dynamic_section()
check_lock("--update" in sys.argv)
check_archive()
print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
sys.exit(not all(results))
