#!/usr/bin/env python3
"""Holds the tree to its own rules: arrows between folders, sizes, banned words and calls, links.

usage: tests/tidy/tidy.py [OBJECTS]    OBJECTS is a build folder (build/release) whose kernel
                                       objects may define no symbol that the linker merges

Each rule is a function that yields findings (file, line, sentence); src/STYLE.md says why it is.
The last line counts rules: "N passed, M failed".
"""

import ast
import pathlib
import re
import subprocess
import sys

import cpp

LINES_MAX = 700
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
CODE = {".cpp", ".hpp", ".h", ".c", ".inc", ".cu"}
TEXT = CODE | {".py", ".md", ".toml", ".txt", ".in", ".map", ".sh"}
HERE = "tests/tidy/"
GENERATED = re.compile(r"[Gg]enerated by (\S+?)[:;,.]?(?:\s|$)")

# Calls and types that the library must not contain: pattern, folders that may, why.
BANNED = [
    (r"(?<![\w])(?:std::)?(?:printf|fprintf|vprintf|vfprintf|puts|fputs|putchar|perror)\s*\(",
     (), "the library never prints"),
    (r"\bstd::(?:cout|cerr|clog|cin)\b", (), "the library never prints"),
    (r"\b(?:stdout|stderr)\b", (), "the library never prints"),
    (r"(?<![\w.>])(?:std::)?(?:abort|exit|_exit|quick_exit|terminate)\s*\(",
     (), "the library never ends the process"),
    (r"(?<![\w])assert\s*\(", (), "an assertion ends the process: fail(Reason::internal, …)"),
    (r"\b(?:secure_)?getenv\s*\(|\bsetenv\s*\(|\bputenv\s*\(", ("base/env.cpp",),
     "the environment is read in one documented function"),
    (r"\b(?:setlocale|uselocale|sigaction|atexit|chdir|umask)\s*\(", (),
     "process state belongs to the host"),
    (r"(?<![\w.>])(?:std::)?signal\s*\(", (), "process state belongs to the host"),
    (r"#\s*include\s*<(?:(?:io|i|o|if|of|f|s)stream|iomanip|regex|filesystem|locale)>", (),
     "these headers allocate inside libstdc++, past the host's allocator"),
    (r"\bstd::shared_ptr\b|\bstd::make_shared\b", (), "values and unique_ptr only"),
    (r"\bstd::(?:j?thread|async)\b|\bpthread_create\s*\(", ("base/",), "threads are made in base/"),
    (r"(?<!std::)\bget_[a-z]\w*\s*\(", ("abi/",), "an accessor is named by what it gives"),
    (r"__attribute__\s*\(\(\s*constructor", (), "no code runs at load"),
    (r"\bthread_local\b", ("base/", "abi/"), "thread-local state belongs to them"),
    (r"\busing\s+namespace\s+std\b", (), "names say where they come from"),
]
BANNED_IN_HEADERS = [
    (r"\bstd::function\b", "std::function allocates and hides its cost"),
    (r"#\s*include\s*<(?:functional|ranges)>", "slow to compile, in every file that includes it"),
]
# What must not be anywhere: marks of unfinished work (split here, or they would find themselves),
# and names of machines and workplaces.
MARKERS = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
PLACES = re.compile(
    r"(?<![\w.])/(?:work|root|home)/\w|\bissue #?\d+\b|\b(?:sub)?agents?\b"
    r"|\b(?:pypi|deb\.debian|crates|npmjs)\.(?:org|io|com)\b", re.I)
DRAWERS = {"util", "utils", "common", "helper", "helpers", "misc"}


class Tree:
    """A checkout: its files, and their text, read once."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        listed = subprocess.run(
            ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files",
             "--cached", "--others", "--exclude-standard"],
            capture_output=True, text=True, check=True).stdout.splitlines()
        self.files = sorted({name for name in listed if (self.root / name).is_file()})
        self.cache = {}

    def text(self, name):
        if name not in self.cache:
            self.cache[name] = (self.root / name).read_text("utf-8", "replace")
        return self.cache[name]

    def of(self, kinds, *folders):
        """Files with one of these suffixes, below one of these folders (all, if none is given)."""
        return [name for name in self.files if pathlib.Path(name).suffix in kinds
                and (not folders or name.startswith(folders))]

    def generated(self, name):
        return GENERATED.search(self.text(name)[:300].split("\n")[0])


def line_of(text, position):
    return text.count("\n", 0, position) + 1


# ---- Arrows

def read_arrows(tree):
    """{folder: the folders it may include}"""
    lines = tree.text("tests/tidy/arrows.txt").splitlines()
    rows = [line.split(":") for line in lines if line and not line.startswith("#")]
    folders = {folder for folder, _ in rows}
    arrows = {}
    for folder, targets in rows:
        names = set(targets.split())
        if "*" in names:
            names = folders
        elif "-" not in names and folder != "base":
            names |= {"base", "value"}
        arrows[folder] = names - {"-", "cli", "abi", folder}
    return arrows


def unit_of(name, arrows):
    """The longest listed folder that holds src/<name>."""
    parts = name.split("/")[:-1]
    while parts and "/".join(parts) not in arrows:
        parts.pop()
    return "/".join(parts)


def includes(text):
    for match in re.finditer(r'^\s*#\s*include\s*(["<])([^">]+)[">]', text, re.M):
        yield line_of(text, match.start(1)), match[1] == '"', match[2]


def rule_arrows(tree):
    """every #include follows an arrow of the table"""
    arrows = read_arrows(tree)
    for name in tree.of(CODE, "src/"):
        unit = unit_of(name[4:], arrows)
        if unit in ("cli", ""):
            continue
        folder = str(pathlib.Path(name).parent)
        for line, quoted, target in includes(tree.text(name)):
            if not quoted or f"{folder}/{target}" in tree.files:
                continue
            if target.startswith("soma/") and unit == "abi":
                continue
            made = target.removesuffix(".inc") if target.endswith(".toml.inc") else target
            other = unit_of(target, arrows)
            if f"src/{made}" not in tree.files:
                yield name, line, f"{target} is not a file of src/"
            elif other != unit and other not in arrows[unit]:
                yield name, line, f"{unit} may not include {other or target}"


def rule_no_cycles(tree):
    """the table of arrows has no cycle"""
    arrows = read_arrows(tree)
    done = set()

    def visit(folder, path):
        if folder in path:
            yield "tests/tidy/arrows.txt", 1, " -> ".join(path[path.index(folder):] + [folder])
        elif folder not in done:
            for target in sorted(arrows.get(folder) or ()):
                yield from visit(target, path + [folder])
            done.add(folder)
    for folder in arrows:
        yield from visit(folder, [])


def rule_folders_listed(tree):
    """every folder of src/ is in the table and in the Makefile's list"""
    arrows = read_arrows(tree)
    makefile = tree.text("Makefile") if "Makefile" in tree.files else ""
    match = re.search(r"^FOLDERS \?=((?:[^\n]*\\\n)*[^\n]*)", makefile, re.M)
    built = set(match[1].replace("\\", " ").split()) if match else set()
    sources = tree.of({".cpp"}, "src/")
    for folder in sorted({str(pathlib.Path(name[4:]).parent) for name in sources}):
        if not unit_of(folder + "/x", arrows):
            yield f"src/{folder}", 1, "not in tests/tidy/arrows.txt"
        if folder != "cli" and folder not in built:
            yield f"src/{folder}", 1, "not in the Makefile's FOLDERS"


def rule_wall(tree):
    """what stands outside the library includes soma/ and nothing of src/"""
    for name in tree.of(CODE, "src/cli/", "examples/", "bindings/", "tests/abi/"):
        folder = str(pathlib.Path(name).parent)
        for line, quoted, target in includes(tree.text(name)):
            own = f"{folder}/{target}" in tree.files or f"{folder}/" in f"src/{target}"
            inside = quoted and not target.startswith("soma/") or f"src/{target}" in tree.files
            if inside and not own:
                yield name, line, f"{target}: only include/soma may be included here"
    for name in tree.of(CODE, "include/"):
        for line, quoted, target in includes(tree.text(name)):
            if quoted and not target.startswith("soma/"):
                yield name, line, f"{target}: a public header includes public headers only"


# ---- Sizes

def rule_lines(tree):
    """no file is over 700 lines, no line over 100 columns, no stray whitespace"""
    for name in tree.of(TEXT, "src/", "include/", "tests/", "examples/", "bindings/", "lib/"):
        text = tree.text(name)
        if name.startswith("tests/golden/") or tree.generated(name):
            continue
        lines = text.split("\n")
        code = name.endswith(tuple(CODE | {".py"}))
        table = name.endswith(".inc")  # a row of a table is one line, however long
        if code and len(lines) - 1 > LINES_MAX:
            yield name, LINES_MAX, f"{len(lines) - 1} lines, {LINES_MAX} are allowed"
        if text and not text.endswith("\n"):
            yield name, len(lines), "no newline at the end"
        for number, line in enumerate(lines, 1):
            if code and not table and len(line) > COLUMNS_MAX:
                yield name, number, f"{len(line)} columns, {COLUMNS_MAX} are allowed"
            if line != line.rstrip() and not name.endswith(".txt"):
                yield name, number, "whitespace at the end of the line"
            if code and "\t" in line:
                yield name, number, "a tab"


def rule_functions(tree):
    """no function is over 70 lines"""
    for name in tree.of(CODE, "src/", "include/", "tests/", "examples/", "bindings/"):
        if not tree.generated(name):
            for function, line, length in cpp.functions(tree.text(name)):
                if length > FUNCTION_LINES_MAX:
                    yield name, line, f"{function} has {length} lines of {FUNCTION_LINES_MAX}"
    for name in tree.of({".py"}):
        if tree.generated(name):
            continue
        for node in ast.walk(ast.parse(tree.text(name), name)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                length = node.end_lineno - node.lineno + 1
                if length > FUNCTION_LINES_MAX:
                    yield name, node.lineno, f"{node.name} has {length} lines"


# ---- Words

def rule_banned(tree):
    """the library prints nothing, ends nothing, reads no environment, uses no banned header"""
    for name in tree.of(CODE, "src/"):
        if name.startswith("src/cli/"):
            continue
        code = cpp.code_only(tree.text(name))
        for pattern, exempt, why in BANNED:
            if exempt and name[4:].startswith(exempt):
                continue
            for match in re.finditer(pattern, code):
                yield name, line_of(code, match.start()), f"{match[0].strip()}: {why}"
        if name.endswith(".hpp"):
            for pattern, why in BANNED_IN_HEADERS:
                for match in re.finditer(pattern, code):
                    yield name, line_of(code, match.start()), f"{match[0].strip()}: {why}"


def rule_raw_memory(tree):
    """no new and delete outside the allocator and the handles, unless a unique_ptr takes it"""
    pattern = re.compile(r"(?<![\w.])new\s+[A-Za-z_:]|\bdelete(?:\s*\[\])?\s+[A-Za-z_*(]"
                         r"|\b(?:malloc|calloc|realloc)\s*\(")
    for name in tree.of(CODE, "src/"):
        if name.startswith(("src/abi/", "src/base/memory", "src/cli/")):
            continue
        code = cpp.code_only(tree.text(name))
        for match in pattern.finditer(code):
            statement = re.split(r"[;{}]", code[:match.start()])[-1]
            if "unique_ptr<" not in statement:
                yield name, line_of(code, match.start()), f"{match[0].strip()}…: who owns this?"


def rule_markers(tree):
    """no unfinished work is marked in the text, no drawer is named in a path"""
    for name in tree.files:
        for part in pathlib.Path(name).parts:
            if part.split(".")[0].lower() in DRAWERS:
                yield name, 1, f"{part} is a drawer, not a name"
        if pathlib.Path(name).suffix in TEXT or name.startswith((".ci/", "Makefile")):
            for match in MARKERS.finditer(tree.text(name)):
                yield name, line_of(tree.text(name), match.start()), f"{match[0]}: do it or file it"


def rule_places(tree):
    """nothing names a machine's folders, a registry or how the project is worked on"""
    for name in tree.files:
        is_text = pathlib.Path(name).suffix in TEXT or name.startswith((".ci/", "Makefile"))
        if not is_text or name.startswith((HERE, "tests/golden/")):
            continue
        text = tree.text(name)
        for match in PLACES.finditer(text):
            yield name, line_of(text, match.start()), f"{match[0]} has no place here"
        if name == "Makefile" and "-march=native" in text:
            yield name, 1, "-march=native builds for one machine"


# ---- Files

def rule_first_line(tree):
    """every source file says in its first line what it does"""
    for name in tree.of(CODE | {".py"}, "src/", "include/", "tests/", "examples/", "bindings/"):
        first, second = (tree.text(name).split("\n") + ["", ""])[:2]
        if first.startswith("#!"):
            first = second
        start = ('"""', "#") if name.endswith(".py") else ("// ", "/* ", "/// ", "/** ")
        if name.endswith("/__init__.py") and not tree.text(name):
            continue
        if not first.startswith(start) or len(first) < 12:
            yield name, 1, "the first line is no comment that says what the file does"


def rule_headers_used(tree):
    """every header of src/ is included by somebody"""
    included = set()
    for name in tree.of(CODE, "src/", "tests/"):
        folder = pathlib.Path(name).parent
        for _, quoted, target in includes(tree.text(name)):
            if quoted:
                included.update((f"src/{target}", str(folder / target)))
    for name in tree.of({".hpp", ".inc"}, "src/"):
        if name not in included:
            yield name, 1, "nobody includes this header"


def rule_generated(tree):
    """a generated file names the script that made it"""
    for name in tree.of(TEXT, "lib/abi/", "bindings/", "src/", "include/", "tests/"):
        match = tree.generated(name)
        if match and match[1] not in tree.files and not name.startswith(HERE):
            yield name, 1, f"made by {match[1]}, which is not in the tree"
    for name in tree.files:
        must = re.search(r"^lib/abi/.*\.txt$|^bindings/.*_generated\.", name)
        if must and not tree.generated(name):
            yield name, 1, 'the first line does not say "Generated by SCRIPT"'


def slug(heading):
    """The anchor that a Markdown heading gets."""
    plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")


def rule_links(tree):
    """every link of a Markdown file leads to a file, and to a heading if it names one"""
    folders = {str(parent) for name in tree.files for parent in pathlib.Path(name).parents}
    for name in tree.of({".md"}):
        text = re.sub(r"^```.*?^```", lambda m: re.sub(r"[^\n]", " ", m[0]), tree.text(name),
                      flags=re.M | re.S)
        for match in re.finditer(r"\]\(([^)\s]+)\)", text):
            target, _, anchor = match[1].partition("#")
            line = line_of(text, match.start())
            if re.match(r"[a-z]+:", match[1]):
                continue
            joined = str(pathlib.Path(name).parent / target) if target else name
            path = str(pathlib.PurePath(*resolve(joined)))
            if path not in tree.files and path not in folders:
                yield name, line, f"{match[1]} leads nowhere"
            elif anchor and path.endswith(".md"):
                headings = re.findall(r"^#+ (.*)$", tree.text(path), re.M)
                if anchor not in {slug(heading) for heading in headings}:
                    yield name, line, f"{match[1]}: no such heading"


def resolve(path):
    """The parts of a path without . and .."""
    parts = []
    for part in path.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in (".", ""):
            parts.append(part)
    return parts or ["."]


# ---- Objects

def rule_kernel_symbols(tree, objects=None):
    """kernel objects define no weak symbol that the linker could keep for other processors"""
    if objects is None:
        return
    sources = [name for name in tree.of({".cpp"}, "src/backend/cpu/kernels/")]
    for name in sources:
        path = pathlib.Path(objects) / "obj" / (name[4:-4] + ".o")
        if not path.is_file():
            yield name, 1, f"{path} is not built: nothing to check"
            continue
        symbols = subprocess.run(["nm", "-C", "--defined-only", str(path)], capture_output=True,
                                 text=True, check=True).stdout
        for line in symbols.splitlines():
            match = re.match(r"\S*\s+([WVuw])\s+(.*)", line)
            if match:
                yield name, 1, f"weak symbol {match[2]}"


def rules():
    return [value for name, value in globals().items() if name.startswith("rule_")]


def check(root, objects=None):
    """[(rule, findings)] for the checkout at `root`."""
    tree = Tree(root)
    found = []
    for rule in rules():
        arguments = (tree, objects) if rule is rule_kernel_symbols else (tree,)
        found.append((rule, list(rule(*arguments))))
    return found


def main(arguments):
    root = pathlib.Path(__file__).resolve().parents[2]
    passed = failed = 0
    for rule, findings in check(root, arguments[0] if arguments else None):
        if findings:
            failed += 1
            print(f"tidy: {rule.__doc__}: {len(findings)} findings")
            for name, line, sentence in findings:
                print(f"  {name}:{line}: {sentence}")
        else:
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
