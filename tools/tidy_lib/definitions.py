"""Lists the types and functions that a source file defines with external linkage, by qualified name."""
import re

TYPE = re.compile(r"(?:^|\s)(?:class|struct|enum(?:\s+class|\s+struct)?|union)\s+(?:\[\[[^\]]*\]\]\s*)?(\w+)"
                  r"(?:\s+final)?\s*(?::[^:].*)?$", re.S)
NAMESPACE = re.compile(r"(?:^|\s)(?:inline\s+)?namespace\s*([\w:]*)\s*$")
FUNCTION = re.compile(r"(?:^|[\s*&>])(\w+)\s*(\([^{}]*\))\s*(?:const|noexcept|requires[^{]*)*\s*$", re.S)
PREPROCESSOR = re.compile(r"^[ ]*#(?:[^\n\\]|\\.|\\\n)*", re.M)


def of_file(code):
    """Yields (line, "type" or "function", name); a function's name includes its parameters. Leaves out anonymous
    namespaces, static definitions, members and specializations of templates."""
    code = PREPROCESSOR.sub(lambda m: "\n" * m.group(0).count("\n"), code)
    scopes, head, start, at = [], "", 0, 0
    while at < len(code):
        char = code[at]
        if char == "{":
            inner = NAMESPACE.search(head)
            if inner:
                scopes.append(inner.group(1))
                head = ""
            else:
                if "" not in scopes:
                    found = definition(head)
                    if found:
                        kind, name = found
                        where = code.count("\n", 0, start) + 1
                        yield where, kind, "::".join([*scopes, name])
                at = closing(code, at)
                head = head + " {}" if at + 1 < len(code) and code[at + 1] in ",;{" else ""
        elif char == "}":
            if scopes:
                scopes.pop()
            head = ""
        elif char == ";":
            head = ""
        else:
            if not head.strip():
                start = at
            head += char
        at += 1


def definition(head):
    text = head.strip()
    if "{}" in text or "=" in re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", text):
        return None
    kind = TYPE.search(re.sub(r"^template\s*<[^{}]*>\s*(?=class|struct)", "", text))
    if kind and "(" not in text:
        return "type", kind.group(1)
    function = FUNCTION.search(text)
    if not function or re.search(r"(^|\s)static\s", text):
        return None
    before = text[:function.start(1)]
    if before.rstrip().endswith("::") or not before.strip() or "template <>" in text or "operator" in before:
        return None
    # Two templates of one name and parameters differ by what they require.
    return "function", function.group(1) + " ".join((head.strip() if "template" in text else function.group(2)).split())


def closing(code, at):
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] == "{") - (code[i] == "}")
        if depth == 0:
            return i
    return len(code)
