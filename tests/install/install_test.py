#!/usr/bin/env python3
"""Proves that an installed prefix is all an embedder needs: both libraries, their files, the tool.

A prefix is installed to a temporary folder, moved as a package would be (DESTDIR), and used by a
program that has a cJSON, a zstd and a SQLite of its own: the library's must not meet them.
"""

import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

MODEL = os.path.abspath(os.environ["SOMA_TEST_MODEL"])
EXAMPLE = os.path.abspath("examples/c/generate.c")
GRAPH_EXAMPLE = os.path.abspath("examples/c/graph.c")
HOST = """/* A host whose own symbols have the names of what the library holds inside. */
#include <soma/soma.h>
#include <stdio.h>
int ZSTD_versionNumber(void) { return 7; }
void* cJSON_Parse(const char* text) { (void)text; return 0; }
void* pcre2_compile_8(void) { return 0; }
int sqlite3_open_v2(void) { return 7; }
int main(void) {
  soma_error* error = 0;
  soma_runtime* runtime = 0;
  soma_model* model = 0;
  if (soma_runtime_create(SOMA_HEADER_ABI, NULL, &runtime, &error) != SOMA_OK) return 1;
  if (soma_model_open(runtime, "/nowhere.gguf", SOMA_NUL, NULL, NULL, &model, &error) == SOMA_OK)
    return 2;
  printf("%s %s\\n", soma_version_string(), soma_error_reason(error, NULL));
  soma_error_release(error);
  soma_runtime_release(runtime);
  return ZSTD_versionNumber() == 7 && cJSON_Parse("") == 0 && pcre2_compile_8() == 0 &&
         sqlite3_open_v2() == 7 ? 0 : 3;
}
"""
CMAKE = """cmake_minimum_required(VERSION 3.18)
project(host C CXX)
find_package(soma 1.0 REQUIRED)
add_executable(shared host.c)
target_link_libraries(shared soma::soma)
add_executable(static host.c)
target_link_libraries(static soma::static)
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def make(*arguments):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return run("make", "--no-print-directory", *arguments, env=clean)


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = pathlib.Path(cls.folder.name).resolve()
        cls.prefix = cls.root / "prefix"
        make("install", f"PREFIX={cls.prefix}")
        (cls.root / "host.c").write_text(HOST)
        cls.environment = {**os.environ, "PKG_CONFIG_PATH": f"{cls.prefix}/lib/pkgconfig"}
        cls.environment.pop("LD_LIBRARY_PATH", None)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def flags(self, *options):
        return run("pkg-config", *options, "soma", env=self.environment).split()

    def build(self, source, *words):
        out = self.root / "program"
        run("gcc", "-std=c99", "-Wall", "-Werror", str(source), "-o", str(out), *words)
        return out

    def test_files_are_where_they_should_be(self):
        real = [path for path in self.prefix.glob("lib/libsoma.so.*") if not path.is_symlink()]
        self.assertEqual(len(real), 1)
        self.assertRegex(real[0].name, r"^libsoma\.so\.1\.\d+\.\d+$")
        self.assertEqual(os.readlink(self.prefix / "lib/libsoma.so"), "libsoma.so.1")
        self.assertEqual(os.readlink(self.prefix / "lib/libsoma.so.1"), real[0].name)
        for name in ("include/soma/soma.h", "lib/libsoma.a", "lib/pkgconfig/soma.pc", "bin/soma",
                     "lib/cmake/soma/soma-config.cmake", "share/soma/soma.api.json",
                     "lib/cmake/soma/soma-config-version.cmake", "share/doc/soma/ABI.md",
                     "lib/cmake/soma/soma-targets.cmake", "share/doc/soma/LICENSE"):
            self.assertTrue((self.prefix / name).is_file(), name)
        for path in self.prefix.rglob("*"):
            if path.suffix in (".pc", ".cmake"):
                self.assertNotRegex(path.read_text(), r"@[A-Z]+@", path)

    def test_example_runs_with_the_shared_library(self):
        program = self.build(EXAMPLE, *self.flags("--cflags", "--libs"),
                             f"-Wl,-rpath,{self.prefix}/lib")
        self.assertIn("Rayleigh", run(str(program), MODEL))

    def test_graph_example_runs_with_the_shared_library(self):
        program = self.build(GRAPH_EXAMPLE, *self.flags("--cflags", "--libs"),
                             f"-Wl,-rpath,{self.prefix}/lib")
        self.assertIn("Branch(gate):", run(str(program), "a text"))
        self.assertTrue(run(str(program), "a text").endswith('{"short":"6 bytes are short"}\n'))
        self.assertIn("are long", run(str(program), "a text of more than twenty bytes"))

    def test_host_with_own_symbols_links_shared_and_static(self):
        shared = self.build(self.root / "host.c", *self.flags("--cflags", "--libs"),
                            f"-Wl,-rpath,{self.prefix}/lib")
        expected = run(str(shared)).split()
        self.assertRegex(expected[1], r"^\w+(\.\w+)+$")
        libraries = self.flags("--cflags", "--libs", "--static")
        static = self.build(self.root / "host.c", "-Wl,-Bstatic", *libraries[:3], "-Wl,-Bdynamic",
                            *libraries[3:])
        self.assertNotIn("libsoma", run("readelf", "-d", str(static)))
        self.assertEqual(run(str(static)).split(), expected)

    def test_static_library_exports_the_map_and_nothing_else(self):
        archive = run("nm", "-g", "--defined-only", f"{self.prefix}/lib/libsoma.a")
        defined = set(re.findall(r"^\S+ [A-Z] (\S+)$", archive, re.M))
        listed = set(re.findall(r"^\s+(soma_\w+);", pathlib.Path("lib/soma.map").read_text(), re.M))
        self.assertEqual(defined, listed)

    def test_cmake_finds_both_targets(self):
        source = self.root / "cmake"
        source.mkdir()
        (source / "CMakeLists.txt").write_text(CMAKE)
        shutil.copy(self.root / "host.c", source / "host.c")
        run("cmake", "-S", str(source), "-B", str(source / "out"),
            f"-DCMAKE_PREFIX_PATH={self.prefix}")
        run("cmake", "--build", str(source / "out"))
        for name in ("shared", "static"):
            self.assertIn(" ", run(str(source / "out" / name)))
        refused = CMAKE.replace("soma 1.0", "soma 2.0")
        (source / "CMakeLists.txt").write_text(refused)
        with self.assertRaises(AssertionError):
            run("cmake", "-S", str(source), "-B", str(source / "no"),
                f"-DCMAKE_PREFIX_PATH={self.prefix}")

    def test_prefix_may_be_moved_and_uninstalled(self):
        arguments = (f"DESTDIR={self.root}/stage", "PREFIX=/usr",
                     "LIBDIR=/usr/lib/x86_64-linux-gnu")
        make("install", *arguments)
        stage = self.root / "stage/usr"
        version = run(str(stage / "bin/soma"), "version")
        self.assertIn(re.search(r'"(.*)"', pathlib.Path("src/base/version.hpp").read_text())[1],
                      version)
        self.assertIn("libdir=/usr/lib/x86_64-linux-gnu\n",
                      (stage / "lib/x86_64-linux-gnu/pkgconfig/soma.pc").read_text())
        make("uninstall", *arguments)
        left = [path for path in stage.rglob("*") if not path.is_dir()]
        self.assertEqual(left, [])


if __name__ == "__main__":
    unittest.main()
