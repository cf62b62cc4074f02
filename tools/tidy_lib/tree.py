"""The files that tidy checks, with and without their comments and strings."""
import os
import re

FOLDERS = ("src", "include", "tests", "bench", "examples")
PAGES = ("docs/architecture.md",)
ENDINGS = (".h", ".cc", ".cc.in", ".cpp", ".hpp", ".cxx", ".hh", "CMakeLists.txt")

# A digit separator (1'000) is not a character literal.
COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<tag>[^(\s]*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])*'", re.S)


def blank(match):
    """Blanks comments and strings. Strings keep their quotes, and so count as arguments; lines keep their numbers."""
    text = match.group(0)
    quote = text[-1] if text[-1] in "\"'" and not text.startswith("/") else ""
    return quote + "\n" * text.count("\n") + quote


class Tree(dict):
    """{path relative to the root: text}."""

    def __init__(self, files, reference=None):
        super().__init__(files)
        self.reference = self if reference is None else reference
        self.warnings = []
        self._code = {}

    def select(self, *folders, endings=(".h", ".cc")):
        return [p for p in sorted(self) if p.endswith(endings) and (not folders or p.startswith(folders))]

    def code(self, path):
        """The code without comments and contents of strings; '' for a file that is not in the tree."""
        if path not in self._code:
            # The target of an #include stays: it only looks like a string.
            keep = re.compile(r'^[ ]*#[ ]*include[^\n]*|' + COMMENT_OR_STRING.pattern, re.S | re.M)
            text = self.get(path, "")
            self._code[path] = keep.sub(
                lambda m: m.group(0) if m.group(0).lstrip().startswith("#") else blank(m), text)
        return self._code[path]

    def lines(self, *folders):
        for path in self.select(*folders):
            for number, line in enumerate(self[path].split("\n"), 1):
                yield path, number, line

    def code_lines(self, *folders):
        for path in self.select(*folders):
            for number, line in enumerate(self.code(path).split("\n"), 1):
                yield path, number, line

    def includes(self):
        """(path, line, target) of every #include "target"."""
        for path in self.select(endings=(".h", ".cc", ".cc.in")):
            for number, line in enumerate(self[path].split("\n"), 1):
                match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
                if match:
                    yield path, number, match.group(1)

    def includes_of(self, path):
        return re.findall(r'^\s*#\s*include\s*"([^"]+)"', self.get(path, ""), re.M)

    @staticmethod
    def layer(path):
        parts = path.split("/")
        return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def read_tree(root):
    files = {}
    for folder in FOLDERS:
        for where, folders, names in os.walk(os.path.join(root, folder)):
            folders[:] = [f for f in folders if not f.startswith((".", "build"))]
            for name in names:
                if name.endswith(ENDINGS):
                    path = os.path.join(where, name)
                    with open(path, encoding="utf-8") as file:
                        files[os.path.relpath(path, root)] = file.read()
    for page in PAGES:
        if os.path.exists(os.path.join(root, page)):
            with open(os.path.join(root, page), encoding="utf-8") as file:
                files[page] = file.read()
    return Tree(files)


def split_cases(text):
    """[(rule, "bad" or "good", title, {path: text})] from `=== rule kind` and `--- path` lines."""
    cases = []
    for part in re.split(r"^=== ", text, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        name, kind = head.split()[:2]
        files = {}
        for piece in re.split(r"^--- ", body, flags=re.M)[1:]:
            path, _, content = piece.partition("\n")
            repeated = re.fullmatch(r"@repeat (\d+) (.*)\n*", content)
            if repeated:
                content = (repeated.group(2) + "\n") * int(repeated.group(1))
            files[path.strip()] = content
        cases.append((name, kind, head, files))
    return cases
