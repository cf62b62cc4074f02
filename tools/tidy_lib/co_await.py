"""Finds the forms of co_await that g++ 12 miscompiles; docs/coroutines.md gives reasons and alternatives.

The code is cut into full expressions (a lambda's body is separate code, not part of the enclosing
expression). `findings` lists the forms that an expression with co_await must not contain.
"""
import re

TOKEN = re.compile(r"\w+|::|->|<=>|[=!<>]=|\S")
OPEN = {"(": ")", "[": "]", "{": "}"}
CLOSE = {")": "(", "]": "[", "}": "{"}
HEADERS = ("if", "while", "for", "switch")
DECLARATION = re.compile(r"(?:const )?(?:\w+ :: )*\w+(?: <.*>)?(?: [&*])* \w+ [=:] ")
LAMBDA_BODY = "<lambda body>"
BARE_CONDITION = "<condition>"  # marks the header of an if, loop or switch
# Types that the tracker test asserts to be trivial; braces of these are safe.
TRACKER_TEST = "tests/runtime/coroutine_forms_test.cc"


def safe_in_braces(tree):
    return set(re.findall(r"kSafeInBraces<(?:\w+::)*(\w+)>", tree.get(TRACKER_TEST, "")))


class Token(str):
    """A token with its line, the index of its bracket's partner, and for `{` what it opens."""
    line = 0
    partner = None
    opens = None  # "block", "lambda" or "braces"
    lambda_at = None  # of "lambda": the index of its [


def tokenize(code):
    code = re.sub(r"^[ ]*#.*(?:\\\n.*)*", lambda m: "\n" * m.group(0).count("\n"), code, flags=re.M)
    tokens, stack, line, at = [], [], 1, 0
    for match in TOKEN.finditer(code):
        line += code.count("\n", at, match.start())
        at = match.start()
        token = Token(match.group(0))
        token.line = line
        if token in OPEN:
            stack.append(len(tokens))
        elif token in CLOSE and stack and tokens[stack[-1]] == CLOSE[token]:
            token.partner = stack.pop()
            tokens[token.partner].partner = len(tokens)
        tokens.append(token)
    for i, token in enumerate(tokens):
        if token == "{":
            classify(tokens, i)
    return tokens


def classify(tokens, i):
    """The kind of the `{` at i: a block, the body of a lambda, or an initializer."""
    token, at = tokens[i], i - 1
    while at >= 0 and tokens[at] in ("mutable", "noexcept", "const", "override", "final", "&"):
        at -= 1
    arrow = at  # A trailing return type: names and template arguments back to `->`.
    while arrow >= 0 and re.fullmatch(r"\w+|::|<|>|,|\*|&", tokens[arrow]):
        arrow -= 1
    if arrow > 0 and tokens[arrow] == "->" and tokens[arrow - 1] in (")", "]", "mutable", "noexcept"):
        at = arrow - 1
        while tokens[at] in ("mutable", "noexcept"):
            at -= 1
    bracket = at
    if bracket >= 0 and tokens[bracket] == ")" and tokens[bracket].partner:
        bracket = tokens[bracket].partner - 1
    while bracket > 0 and tokens[bracket] == ">" and tokens[at] == ")":  # []<class T>(T x) {
        bracket = max(k for k in range(bracket) if tokens[k] == "<") - 1
    if bracket >= 0 and tokens[bracket] == "]" and tokens[bracket].partner is not None:
        intro = tokens[bracket].partner
        before = tokens[intro - 1] if intro > 0 else ";"
        if not re.fullmatch(r"\w+|\)|\]", before) or before in ("return", "co_return", "co_await"):
            token.opens, token.lambda_at = "lambda", intro
            return
    before = tokens[at] if at >= 0 else ";"
    if at < i - 1 or before in (")", ";", "{", "}", ":", "else", "do", "try"):
        token.opens = "block"
        return
    start = at  # `struct Name ... {` and its kin open a block, `Name {` and `= {` do not.
    while start >= 0 and tokens[start] not in (";", "{", "}", ")", "("):
        start -= 1
    head = tokens[start + 1:i]
    kinds = ("struct", "class", "enum", "union", "namespace", "extern")
    token.opens = "block" if any(t in kinds for t in head) and "=" not in head else "braces"


def expressions(tokens, begin, end, in_catch=False):
    """Yields (tokens, in_catch) for every full expression between begin and end."""
    current = []
    i = begin
    while i < end:
        token = tokens[i]
        if token in HEADERS and i + 1 < end:
            opening = i + 1 + (tokens[i + 1] == "constexpr")
            if tokens[opening] == "(" and tokens[opening].partner:
                yield current, in_catch
                header = list(expressions(tokens, opening + 1, tokens[opening].partner, in_catch))
                if not DECLARATION.match(" ".join(header[0][0]) + " "):
                    for condition, _ in header:
                        condition.insert(0, Token(BARE_CONDITION))
                yield from header
                current, i = [], tokens[opening].partner + 1
                continue
        if token == ";":
            yield current, in_catch
            current = []
        elif token == "{" and token.opens == "block" and token.partner:
            catching = in_catch or any(t == "catch" for t in current)
            yield current, in_catch
            yield from expressions(tokens, i + 1, token.partner, catching)
            current, i = [], token.partner
        elif token == "{" and token.opens == "lambda" and token.partner:
            yield from expressions(tokens, i + 1, token.partner)
            body = Token(LAMBDA_BODY)
            body.line = token.line
            body.partner = (i, token.partner, token.lambda_at)
            current.append(body)
            i = token.partner
        else:
            current.append(token)
        i += 1
    yield current, in_catch


def type_before(expression, i):
    """The name of the type that the brace at i initializes: `Match{`, `std::vector<int>{`."""
    at = i - 1
    if at >= 0 and expression[at] == ">":
        depth = 0
        while at >= 0:
            depth += (expression[at] == ">") - (expression[at] == "<")
            at -= 1
            if depth == 0:
                break
    return str(expression[at]) if at >= 0 and re.fullmatch(r"[A-Za-z_]\w*", expression[at]) else ""


def captures(tokens, body):
    """The captures of a lambda, as strings."""
    intro = body.partner[2]
    text = " ".join(tokens[intro + 1:tokens[intro].partner])
    return [part.strip() for part in text.split(",") if part.strip()]


def findings(code, safe):
    """Yields (line, message)."""
    if "co_await" not in code and "Task" not in code:
        return
    tokens = tokenize(code)
    for expression, in_catch in expressions(tokens, 0, len(tokens)):
        if awaits(expression):
            yield from check_awaiting(tokens, expression, in_catch, safe)
        else:
            yield from check_spawned_lambda(tokens, expression)
        yield from check_default_arguments(expression, safe)


def awaits(expression):
    return any(t == "co_await" and (i == 0 or expression[i - 1] != "operator")
               for i, t in enumerate(expression))


def check_awaiting(tokens, expression, in_catch, safe):
    line = expression[expression.index("co_await")].line
    if in_catch:
        yield line, "co_await in a catch handler; leave the handler first"
    if BARE_CONDITION in expression:
        yield line, ("co_await in a condition that declares nothing; name the result "
                     "first, or declare it there: if (const bool x = co_await ...)")
    if "?" in expression:
        yield line, "?: in an expression with co_await; use if, or name the choice first"
    if "SHOAL_CHECK" in expression:
        yield line, "SHOAL_CHECK of a co_await is a condition with co_await; name the result first"
    if "throw" in expression:
        yield line, "throw of an expression with co_await; name the value first"
    for i, token in enumerate(expression):
        if token == "{" and token.opens == "braces":
            name = type_before(expression, i)
            if name not in safe:
                yield token.line, (f"{name}{{...}} in an expression with co_await; name it first, use "
                                   f"parentheses, or assert kSafeInBraces in {TRACKER_TEST}")
        elif token == LAMBDA_BODY:
            by_value = [c for c in captures(tokens, token) if not c.startswith("&") and c != "this"]
            if by_value:
                yield token.line, (f"a lambda that captures by value ({', '.join(by_value)}) in an "
                                   "expression with co_await; name the lambda first, or capture by &")
        elif token == "auto" and re.match(r"(&& |& |& & )?\[", " ".join(expression[i + 1:i + 4])):
            yield token.line, "a structured binding of a co_await; name the result first"


def check_spawned_lambda(tokens, expression):
    for i, token in enumerate(expression):
        if token != LAMBDA_BODY or i + 1 >= len(expression) or expression[i + 1] != "(":
            continue
        first, last, _ = token.partner
        body = tokens[first:last]
        if captures(tokens, token) and ("co_await" in body or "co_return" in body):
            yield token.line, ("a coroutine that is a temporary lambda with captures outlives them; "
                               "pass what it needs as arguments")


def check_default_arguments(expression, safe):
    """Task<> f(Options o = {}): the default is built inside the caller's co_await expression."""
    text = " ".join(expression)
    if not re.search(r"\bTask < .*> [\w :]+ \(", text):
        return
    for match in re.finditer(r"(\w+) (?:& |&& )?\w+ = ((?:\w+ :: )*)(\w*) ?\{", text):
        name = match.group(3) or match.group(1)
        if name not in safe:
            yield expression[0].line, (f"a default argument with braces ({name}) of a coroutine; "
                                       "overload it, or give the type a constructor")
