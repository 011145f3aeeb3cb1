#!/usr/bin/env python3
"""Guards against GCC 12's double destruction of temporaries in coroutines.

GCC 12 destroys twice any aggregate (closures count) that is made inside a full expression
with co_await (GCC bugs 95599, 107288). In a statement with co_await this lint reports

  1. a lambda that captures by value          co_await f([s] { ... })
  2. a brace as an argument                   co_await f({a, b})
  3. a temporary made with braces             co_await f(options{a, b})
  4. co_await inside an initialiser list      options{co_await x(), co_await y()}

Give the object a name on the line before. It reads formatted text: "name{" is a temporary,
") {" and "name {" open a block. Also reported: asio::detached, since a nursery owns coroutines.
"""

import re

from sources import ROOT, cpp_files, finish

IGNORED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)
LAMBDA = re.compile(r"(?<![\w\])>\[])\s*\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\](?=\s*[({m]|\s*->|\s*<)")
PAIRS = {")": "(", "]": "[", "}": "{"}


def blank(text):
    """Comments and literals become spaces; line numbers stay."""
    return IGNORED.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def is_block(text, brace):
    """Does this brace open a block (and not a list of initialisers)?"""
    before = text[:brace].rstrip()
    if not before or before[-1] in ")];{}:":
        return True
    if before[-1] in "(,=?" or re.search(r"\b(co_)?(return|yield)$", before):
        return False
    return text[brace - 1].isspace()


def closing(text, start):
    """The place behind the bracket that closes the one at start."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place + 1
    return len(text)


def statement_start(text, place):
    """Backwards to where the statement begins, or to the list that holds it: (place, in a list)."""
    while place > 0:
        place -= 1
        if text[place] == ";":
            return place + 1, False
        if text[place] == "{":
            if is_block(text, place):
                return place + 1, False
            return place, True
        if text[place] == "}":
            opening, depth = place, 0
            while opening >= 0:
                depth += (text[opening] == "}") - (text[opening] == "{")
                if depth == 0:
                    break
                opening -= 1
            # Behind a block that is not a lambda's begins a new statement.
            follower = text[place + 1:].lstrip()[:1]
            if is_block(text, opening) and follower not in (",", ")", "(", ".", ";"):
                return place + 1, False
            place = opening
    return 0, False


def statement_faults(text, start, end_from):
    """Looks at one statement, without the bodies of its lambdas, from start to its semicolon."""
    place, depth = start, 0
    while place < len(text):
        char = text[place]
        if char == ";" and depth <= 0 and place > end_from:
            return
        if char == "[":
            found = LAMBDA.match(text, place)
            if found:
                captures = [item.strip() for item in re.split(r",(?![^()]*\))", found.group(1)) if item.strip()]
                if any(not re.match(r"&|this$", item) for item in captures):
                    yield place, "a lambda that captures by value"
        if char == "{":
            if is_block(text, place):
                if depth <= 0 and place > end_from:
                    return  # the body of an if, while or for
                place = closing(text, place)
                continue
            before = text[:place].rstrip()[-1:]
            yield place, "a brace as an argument" if before in ("(", ",") else "a temporary made with braces"
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            if char == "}":
                return
            depth = 0
        place += 1


def faults_in(path, source):
    text = blank(source)
    found = {}
    for await_at in (match.start() for match in re.finditer(r"\bco_await\b", text)):
        start, in_list = statement_start(text, await_at)
        if in_list:
            found[start] = "co_await inside an initialiser list"
            continue
        for place, fault in statement_faults(text, start, await_at):
            found.setdefault(place, f"{fault}, in an expression with co_await")
    if path.startswith(("store/", "gateway/")):
        for match in re.finditer(r"\basio::detached\b", text):
            found[match.start()] = "asio::detached: let a nursery own the coroutine"
    for place, fault in sorted(found.items()):
        yield f"{path}:{text.count(chr(10), 0, place) + 1}: {fault}"


BAD = [
    "co_await f([s] { use(s); });",
    "co_await f([s = std::move(s)]() -> awaitable<void> { co_await g(s); });",
    "co_await f(1, [=] { use(s); });",
    "co_await f([&a, b]() mutable { use(a, b); });",
    "auto r = co_await asio::co_spawn(ex, [s]() -> awaitable<void> { co_return; }, use_awaitable);",
    "co_await f({a, b});",
    "co_await f({.a = 1, .b = 2});",
    "co_await f(x, {a});",
    "auto r = co_await f(options{a, b});",
    "auto r = co_await f(options{.a = 1});",
    "if (co_await f(options{1})) {\n    g();\n}",
    "auto r = options{co_await x(), co_await y()};",
    "co_return options{co_await x(), y};",
    "co_return {co_await x()};",
    "f({co_await x()});",
    "options r = {co_await x()};",
    "options r{co_await x()};",
    "asio::co_spawn(ex, f(), asio::detached);",
    "for (;;) {\n    if (a) {\n        b();\n    }\n    co_await f({a, b});\n}",
]

GOOD = [
    "auto job = [s] { use(s); };\nco_await f(std::move(job));",
    "co_await f([&] { use(s); });",
    "co_await f([&s, this] { use(s); });",
    "const options wanted{1, 2};\nco_await f(wanted);",
    "asio::co_spawn(ex, [s]() -> awaitable<void> { co_await g(s); }, token);",
    "spawn(\"name\", [s]() -> awaitable<void> {\n    co_await g(s);\n});",
    "co_await f(a[i], b[0]);",
    "if (a) {\n    co_await f();\n} else {\n    co_await g();\n}",
    "const auto x = list{1, 2};\nif (x) {\n    g({1});\n}\nco_await f();",
    "for (auto& item : items) {\n    co_await f(item);\n}\ng(options{1});",
    "while (co_await more()) {\n    g(options{1});\n}",
    "// co_await f({a, b});\nco_await f(\"{a\", '{');",
    "co_await f([&] {\n    return options{1, 2};\n});",
    "do {\n    co_await f();\n} while (x);\ng({1});",
    "const auto n = 1'000;\nco_await f(n);\nconst auto m = 2'000;",
    "switch (x) {\ncase a: {\n    co_await f();\n    break;\n}\n}",
    "try {\n    co_await f();\n} catch (const error& e) {\n    g({e});\n}",
]


def self_check():
    frame = "awaitable<void> thing::run() {{\n{}\n}}\n\nawaitable<int> other() const override {{\n    co_return 1;\n}}\n"
    for code in BAD:
        assert list(faults_in("store/planted.cpp", frame.format(code))), f"planted fault not seen: {code}"
    for code in GOOD:
        seen = list(faults_in("store/planted.cpp", frame.format(code)))
        assert not seen, f"false alarm: {code} {seen}"


def main():
    self_check()
    files = cpp_files("store", "gateway", "tests")
    finish("lint_coroutines", files, [
        fault for name in files for fault in faults_in(name, (ROOT / name).read_text(encoding="utf-8"))])


main()
