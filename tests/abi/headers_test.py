#!/usr/bin/env python3
"""Proves that every public header compiles alone and twice, in each dialect of C and C++ it claims,
with gcc and clang, without a warning."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = sorted(path.name for path in (ROOT / "include/soma").glob("*.h"))
COMMON = ["-pedantic-errors", "-Wall", "-Wextra", "-Wundef", "-Werror",
          "-fsyntax-only", f"-I{ROOT}/include"]
IN_C = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wc++-compat"]
DIALECTS = [("c", "c99"), ("c", "c11"), ("c", "c17"), ("c", "c2x"),
            ("c++", "c++98"), ("c++", "c++11"), ("c++", "c++17"), ("c++", "c++20")]
COMPILERS = {"gcc": {"c": "gcc", "c++": "g++"}, "clang": {"c": "clang-19", "c++": "clang++-19"}}
# C++ only, from C++17 on.
WRAPPERS = sorted(path.name for path in (ROOT / "include/soma").glob("*.hpp"))


def compile_once(compiler, language, dialect, header, source):
    command = [compiler, "-x", language, f"-std={dialect}", *COMMON, str(source)]
    if header not in WRAPPERS:
        command[1:1] = ["-Wpadded"]  # no struct of the interface has holes, or there is none
    if language == "c":
        command[1:1] = IN_C
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for header in [*HEADERS, *WRAPPERS]:
            source = pathlib.Path(folder) / "twice.c"
            source.write_text(f'#include "soma/{header}"\n#include "soma/{header}"\n'
                              "typedef int not_empty;\n")
            for name, languages in COMPILERS.items():
                for language, dialect in DIALECTS:
                    if header in WRAPPERS and dialect not in ("c++17", "c++20"):
                        continue
                    result = compile_once(languages[language], language, dialect, header, source)
                    if result.returncode == 0:
                        passed += 1
                        continue
                    failed += 1
                    print(f"FAIL {header} as {dialect} with {name}:\n{result.stderr}")
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
