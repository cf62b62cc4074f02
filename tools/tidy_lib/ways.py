"""Checks the ways through the sources in docs/architecture.md.

A way is a code block that begins with ```way. Its lines name a file below src/ and a function, and explain it:

  cli/train.cc        run_train          opens the data
  app/train_run.cc    TrainRun::train    makes the plan

Each function must be defined in its file and must call the function in the next line. For a function that is passed
along and called later, the explanation begins with the function that mentions it: `<- TrainRun::train`. Lines that
begin with a # are titles.
"""
import re

STEP = re.compile(r"(?P<file>[\w/]+\.(?:cc|h))\s+(?P<function>[\w:]+)(?:\s+(?:<- (?P<caller>\w+(?:::\w+)*))?.*)?$")


def steps(text):
    """Yields (line, file, function, caller or None) for every step; None between two ways."""
    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            inside = line.strip() == "```way"
            yield None
        elif inside and line.startswith("#"):
            yield None
        elif inside and line.strip():
            step = STEP.match(line)
            yield (number, step["file"], step["function"], step["caller"]) if step else (number, line, "", None)


def body_of(code, function):
    """The body of a function's definition; None if the code does not define it."""
    *_, last = function.split("::")
    for name in (function, last):
        for found in re.finditer(rf"(?<![\w:.>]){re.escape(name)}\s*\(", code):
            if name != function and "::" in function and not defined_in_class(code, found.start()):
                continue
            after = re.compile(r"\s*(?:const|override|final|noexcept|:[^;{]*|->[^;{]*|\s)*\{").match(
                code, closing(code, found.end() - 1, "()") + 1)
            if after:
                return code[after.end():closing(code, after.end() - 1, "{}")]
    return None


def defined_in_class(code, at):
    """Whether the line of this position is indented, as members in a class are."""
    return code[code.rfind("\n", 0, at) + 1] == " "


def closing(code, at, pair):
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] == pair[0]) - (code[i] == pair[1])
        if depth == 0:
            return i
    return len(code)


def findings(text, code_of):
    """Yields (line, message) for every step of the page that the sources lack. `code_of(path)`: "" for a missing file."""
    bodies, before = {}, None
    for step in steps(text):
        if step is None:
            bodies, before = {}, None
            continue
        number, file, function, caller = step
        code = code_of(f"src/{file}")
        body = body_of(code, function) if function else None
        if not code:
            yield number, f"there is no file src/{file}"
        elif body is None:
            yield number, f"src/{file} does not define {function}"
        else:
            by = caller or before
            if caller and caller not in bodies:
                yield number, f"{caller} is in no line above"
            elif by and not re.search(rf"\b{function.split('::')[-1]}\b", bodies[by]):
                yield number, f"{by} does not call {function}"
        bodies[function], before = body or "", function
