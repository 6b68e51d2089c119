#!/usr/bin/env python3
"""Packs the Python wheel: the package, the shared library and the headers. Needs no compiler.

usage: bindings/python/make_wheel.py [FOLDER]     default build/wheel

One file serves every CPython of this platform, since the package is pure Python over ctypes. The
headers travel along so that a C program can be built against the installed wheel. Times inside are
fixed: the same inputs give the same bytes.
"""

import base64
import hashlib
import platform
import sys
import sysconfig
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings" / "python" / "soma"
WHEN = (2020, 1, 1, 0, 0, 0)


def version():
    for line in (ROOT / "src" / "base" / "version.hpp").read_text().splitlines():
        if "SOMA_VERSION_STRING" in line:
            return line.split('"')[1]
    raise SystemExit("src/base/version.hpp names no version")


def files():
    """(name in the wheel, bytes) of everything but the metadata."""
    library = ROOT / "lib" / "libsoma.so.1"
    if not library.exists():
        raise SystemExit("lib/libsoma.so.1 is not built: run make")
    for path in sorted(PACKAGE.glob("*.py")):
        yield f"soma/{path.name}", path.read_bytes()
    yield "soma/py.typed", b""
    yield "soma/lib/libsoma.so.1", library.read_bytes()
    for path in sorted((ROOT / "include" / "soma").iterdir()):
        yield f"soma/include/soma/{path.name}", path.read_bytes()
    yield "soma/LICENSE", (ROOT / "LICENSE").read_bytes()


def tag():
    libc, number = platform.libc_ver()
    if libc != "glibc":
        return "py3-none-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-manylinux_{number.replace('.', '_')}_{platform.machine()}"


def metadata():
    return (f"Metadata-Version: 2.1\nName: libsoma\nVersion: {version()}\n"
            "Summary: Language models inside your program, compiled to launch programs\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\n"
            "Description-Content-Type: text/markdown\n\n"
            + (ROOT / "bindings" / "python" / "README.md").read_text())


def digest(content):
    raw = hashlib.sha256(content).digest()
    return "sha256=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "wheel"
    folder.mkdir(parents=True, exist_ok=True)
    info = f"libsoma-{version()}.dist-info"
    content = dict(files())
    content[f"{info}/METADATA"] = metadata().encode()
    content[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: make_wheel\n"
                                f"Root-Is-Purelib: false\nTag: {tag()}\n").encode()
    record = "".join(f"{name},{digest(data)},{len(data)}\n" for name, data in content.items())
    content[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    target = folder / f"libsoma-{version()}-{tag()}.whl"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name, WHEN)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    print(target)


if __name__ == "__main__":
    main()
