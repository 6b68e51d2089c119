"""Reads C++ just far enough for tidy.py: code without comments, and where functions lie."""

import re

LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/'
    r'|R"([^\s()\\]{0,16})\(.*?\)\1"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.S)

NOT_A_FUNCTION = re.compile(
    r"\b(?:namespace|class|struct|union|enum|concept|requires|extern)\b[^()]*$"
    r"|^\s*(?:if|for|while|switch|do|else|try|catch|return|case)\b")


def code_only(text):
    """The same text with comments and literals blanked, so that lines and columns stay."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return LITERAL.sub(blank, text)


def without_directives(code):
    """Preprocessor lines blanked, their continuations too."""
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m[0]), code,
                  flags=re.M)


def function_name(head):
    """The name a statement before a brace gives to a function, or nothing if it is none."""
    head = head.strip()
    if "(" not in head or NOT_A_FUNCTION.search(head):
        return None
    before = re.sub(r"^(?:template\s*<[^;{]*?>\s*)+", "", head).split("(")[0]
    if re.search(r"=\s*[^=]*$", before) and "operator" not in before:
        return None
    match = re.search(r"([\w:~]+|operator\s*\S+)\s*$", before)
    return match[1] if match else None


def functions(text):
    """Yields (name, first line, number of lines) of every outermost function body."""
    code = without_directives(code_only(text))
    depth_of_function = None
    depth = 0
    begin = 0
    name = first = None
    for position, mark in enumerate(code):
        if mark in "{}" and depth_of_function is None and unclosed(code, begin, position):
            depth += 1 if mark == "{" else -1  # a default argument, a lambda in an initialiser
        elif mark == "{":
            depth += 1
            if depth_of_function is None:
                head = code[begin:position]
                name = function_name(head)
                if name:
                    depth_of_function = depth
                    first = begin + len(head) - len(head.lstrip())
            begin = position + 1
        elif mark == "}":
            if depth == depth_of_function:
                yield name, code.count("\n", 0, first) + 1, code.count("\n", first, position) + 1
                depth_of_function = None
            depth -= 1
            begin = position + 1
        elif mark == ";" and not unclosed(code, begin, position):
            begin = position + 1


def unclosed(code, begin, end):
    """Whether a parenthesis is open at `end`: the semicolons of a for loop end no statement."""
    return code.count("(", begin, end) > code.count(")", begin, end)
