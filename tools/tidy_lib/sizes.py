"""Counts the fields and methods of each class, in the code without comments and strings."""
import re
from collections import namedtuple

# `path:line` is where the class begins; `reason` is the sentence that excuses its size, or "".
Size = namedtuple("Size", "name path line fields methods reason")

CLASS = re.compile(r"\b(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?(?:\[\[[^\]]*\]\]\s*)?(\w+(?:\s*<[^{};()]*>)?)"
                   r"\s*(?:final\s*)?(?::[^:;{}()][^;{}]*)?\{")
# Beginnings of member declarations that are neither fields nor methods.
NEITHER = re.compile(r"(?:template\s*<.*>\s*)?(?:using|typedef|friend|static_assert|enum)\b")
EXCUSE = "Large class: "


def of_tree(tree, *folders):
    return [size for path in tree.select(*folders) for size in of_file(path, tree[path], tree.code(path))]


def of_file(path, text, code):
    code = re.sub(r"^[ ]*#[^\n]*", "", code, flags=re.M)
    lines = text.split("\n")
    for match in CLASS.finditer(code):
        before = code[:match.start()].rstrip()
        if before.endswith(("enum", "friend", "<", ",")):
            continue
        line = code.count("\n", 0, match.start()) + 1
        fields, methods = members(code[match.end():closing(code, match.end() - 1)])
        yield Size(match.group(1), path, line, fields, methods, excuse(lines, line))


def excuse(lines, line):
    """The sentence after "Large class:" in the comment directly above the class."""
    above = []
    for text in reversed(lines[:line - 1]):
        text = text.strip()
        if not text.startswith(("//", "template", "requires")):
            break
        if text.startswith("//"):
            above.insert(0, text.lstrip("/ "))
    comment = " ".join(above)
    return comment.partition(EXCUSE)[2].strip()


def members(body):
    """(fields, methods) of the text between the braces of a class, without the members of nested classes."""
    fields = methods = 0
    for declaration in declarations(body):
        kind, count = classify(declaration)
        fields += count if kind == "field" else 0
        methods += kind == "method"
    return fields, methods


def declarations(body):
    """The member declarations, with () for every pair of parentheses, {} for braces and [] for brackets."""
    text, at = "", 0
    while at < len(body):
        char = body[at]
        if char in "({[":
            at = closing(body, at)
            text += char + {"(": ")", "{": "}", "[": "]"}[char]
            # The body of a function ends its declaration; after other braces comes a name, a comma or a semicolon.
            if char == "{" and re.match(r"\s*[^\s;,={\[]", body[at + 1:] or " x") and is_function(text):
                yield text
                text = ""
        elif char == ";":
            yield text
            text = ""
        else:
            text += char
        at += 1
    if text.strip():
        yield text


def closing(text, at):
    """The index of the bracket that closes the one at `at`."""
    pairs, depth = {"(": ")", "{": "}", "[": "]"}, 0
    opened, closed = text[at], pairs[text[at]]
    for i in range(at, len(text)):
        depth += (text[i] == opened) - (text[i] == closed)
        if depth == 0:
            return i
    return len(text)


def simplified(declaration):
    text = re.sub(r"\b(?:public|protected|private)\s*:(?!:)", " ", declaration)
    text = re.sub(r"\b(?:alignas|noexcept|explicit|decltype)\s*\(\)", " ", text)
    text = re.sub(r"\[\[?\]?\]", " ", text)
    return " ".join(text.split())


def without_arguments(text):
    """The text without template arguments. Operators such as < end the search: they are part of a method's name."""
    while True:
        shorter = re.sub(r"(?<!operator)<[^<>]*>", "", text)
        if shorter == text:
            return text
        text = shorter


def is_function(declaration):
    text = without_arguments(simplified(declaration))
    text = re.split(r"(?<!operator)(?<![=<>!])=(?!=)", text, maxsplit=1)[0]
    return "(" in text and not re.search(r"\(\)\s*\(\)\s*$", text.split("operator")[0]) and \
        not re.match(r"[^()]*\{", text)


def classify(declaration):
    """("field" or "method" or "", how many)."""
    text = simplified(declaration)
    if not text or NEITHER.match(text) or re.match(r"(?:template\s*<.*>\s*)?(?:class|struct|union)\b[^(]*\{\}$", text):
        return "", 0
    if is_function(declaration):
        return ("", 0) if re.search(r"=\s*(?:default|delete)$", text) else ("method", 1)
    if re.match(r"(?:inline\s+)?(?:static\s+)?constexpr\b|(?:inline\s+)?static\s+const\b", text):
        return "", 0  # a named constant
    if re.match(r"(?:template\s*<.*>\s*)?(?:class|struct)\s+\w+$", text):
        return "", 0  # declared here, defined elsewhere
    return "field", 1 + without_arguments(text).count(",")
