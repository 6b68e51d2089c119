"""Compiles a program of this folder against the library, as an embedder would, and runs it."""
import os
import pathlib
import subprocess
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
LIBRARY = pathlib.Path(os.environ.get("SOMA_LIBRARY", ROOT / "lib/libsoma.so")).resolve()
TINY = os.path.join(os.environ.get("SOMA_TINY_DIR", "build/tiny"), "tiny-q4_1.gguf")
# A sanitized library needs a program whose compiler brings the sanitizer's runtime.
COMPILER = os.environ.get("SOMA_TEST_CC", "gcc").split()
CXX_OF = {"gcc": "g++", "clang-19": "clang++-19"}


def run(name, *arguments, linked=True, environment=None):
    """The program's exit code; what it prints goes where this prints."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / name
        link = [f"-L{LIBRARY.parent}", "-lsoma", f"-Wl,-rpath,{LIBRARY.parent}"] if linked else []
        source = FOLDER / f"{name}.c"
        compiler, standard = COMPILER, "-std=c11"
        if not source.is_file():
            source, standard = FOLDER / f"{name}.cpp", "-std=c++17"
            compiler = [CXX_OF[COMPILER[0]], *COMPILER[1:]]
        subprocess.run([*compiler, standard, "-Wall", "-Wextra", "-Werror", "-O1", "-g",
                        "-pthread", f"-I{ROOT}/include", str(source), *link,
                        "-o", str(program)], check=True)
        return subprocess.run([str(program), *map(str, arguments)], check=False,
                              env={**os.environ, **(environment or {})}).returncode
