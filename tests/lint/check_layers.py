#!/usr/bin/env python3
"""Which folder may include which. The table below is the rule; CONTRIBUTING.md explains it."""

import re

from sources import ROOT, cpp_files, finish

API = {"delivery", "hub", "auth", "net", "metrics", "base", "store"}

# folder: the layers that it may include besides itself
LAYERS = {
    "store": set(),
    "store/sqlite": {"store"},
    "store/postgres": {"store"},
    "gateway/base": set(),
    "gateway/metrics": {"base", "store"},
    "gateway/net": {"base", "metrics"},
    "gateway/hub": {"metrics", "base", "store"},
    "gateway/auth": {"base", "store"},
    "gateway/delivery": {"hub", "net", "metrics", "base", "store"},
    "gateway/api": API,
    "gateway/app": API | {"api"},
    "gateway": API | {"api", "app"},  # main.cpp
}

BOOST_SMALL = {"asio", "system", "assert", "config", "core", "throw_exception"}
# folder: the Boost libraries that it may use; the others may use any but Beast
BOOST = {
    "store": BOOST_SMALL | {"json"},
    "store/sqlite": BOOST_SMALL,
    "store/postgres": BOOST_SMALL,
    "gateway/base": BOOST_SMALL | {"intrusive"},
}

# header: the files that may include it
FENCED = {
    r"<boost/beast": r"gateway/net/[^/]+\.cpp|gateway/net/detail/.*",
    r"<sqlite3\.h>": r"store/sqlite/([^/]+\.cpp|detail/.*)",
    r"<libpq-fe\.h>": r"store/postgres/([^/]+\.cpp|detail/.*)",
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(<[^>]+>|"[^"]+")', re.MULTILINE)


def folder_of(path):
    parts = path.split("/")[:-1]
    while "/".join(parts) not in LAYERS:
        parts.pop()
    return "/".join(parts)


def project_fault(path, folder, target):
    own = folder.removeprefix("gateway/")
    engine = re.match(r"store/(sqlite|postgres)/", target)
    if engine:
        allowed = path == "store/open_store.cpp" or folder == engine.group(0)[:-1]
        return None if allowed else "an engine is named only in store/open_store.cpp"
    layer = target.split("/")[0]
    if "/" not in target or layer not in API | {"api", "app"}:
        return "project includes start at a layer, like \"store/event.hpp\" or \"hub/cursor.hpp\""
    return None if layer == own or layer in LAYERS[folder] else f"{folder} may not include {layer}"


def boost_fault(folder, header):
    library = re.match(r"boost/(\w+)", header)
    if library and library.group(1) not in BOOST.get(folder, {library.group(1)}):
        return f"{folder} may not use Boost.{library.group(1)}"
    return None


def faults_in(path, text):
    folder = folder_of(path)
    for include in INCLUDE.finditer(text):
        named = include.group(1)
        fence = next((FENCED[header] for header in FENCED if re.match(header, named)), None)
        if fence:
            fault = None if re.fullmatch(fence, path) else "this library is fenced in"
        elif named.startswith('"'):
            fault = project_fault(path, folder, named[1:-1])
        else:
            fault = boost_fault(folder, named[1:-1])
        if fault:
            yield f"{path}:{text.count(chr(10), 0, include.start(1)) + 1}: {named}: {fault}"


def self_check():
    bad = [
        ("store/event.hpp", '"hub/cursor.hpp"'), ("store/store.cpp", '"store/sqlite/engine.hpp"'),
        ("store/store.cpp", "<sqlite3.h>"), ("store/store.cpp", "<boost/beast/http.hpp>"),
        ("store/store.cpp", "<boost/program_options.hpp>"), ("store/sqlite/a.hpp", "<sqlite3.h>"),
        ("store/sqlite/a.cpp", '"store/postgres/a.hpp"'), ("store/postgres/a.cpp", "<sqlite3.h>"),
        ("gateway/base/log.hpp", '"store/event.hpp"'), ("gateway/net/listener.hpp", "<boost/beast/core.hpp>"),
        ("gateway/net/listener.cpp", '"hub/hub.hpp"'), ("gateway/hub/hub.cpp", '"net/listener.hpp"'),
        ("gateway/hub/hub.cpp", '"delivery/sse_sink.hpp"'), ("gateway/hub/hub.cpp", '"frame.hpp"'),
        ("gateway/delivery/a.cpp", '"api/routes.hpp"'), ("gateway/delivery/a.cpp", '"auth/token.hpp"'),
        ("gateway/api/a.cpp", '"app/config.hpp"'), ("gateway/api/a.cpp", "<boost/beast/http.hpp>"),
        ("gateway/app/app.cpp", '"store/sqlite/engine.hpp"'), ("gateway/main.cpp", "<libpq-fe.h>"),
    ]
    good = [
        ("store/open_store.cpp", '"store/sqlite/engine.hpp"'), ("store/sqlite/a.cpp", "<sqlite3.h>"),
        ("store/sqlite/a.cpp", '"store/event.hpp"'), ("gateway/net/detail/beast.hpp", "<boost/beast/http.hpp>"),
        ("gateway/hub/hub.cpp", '"store/event.hpp"'), ("gateway/hub/hub.cpp", '"hub/cursor.hpp"'),
        ("gateway/delivery/a.cpp", '"net/response.hpp"'), ("gateway/main.cpp", '"app/app.hpp"'),
        ("gateway/api/a.cpp", "<boost/json.hpp>"), ("store/event.hpp", "<boost/json/value.hpp>"),
    ]
    for path, header in bad:
        assert list(faults_in(path, f"#include {header}\n")), f"planted fault not seen: {path} {header}"
    for path, header in good:
        assert not list(faults_in(path, f"#include {header}\n")), f"false alarm: {path} {header}"


def main():
    self_check()
    files = cpp_files("store", "gateway")
    finish("check_layers", files, [
        fault for name in files for fault in faults_in(name, (ROOT / name).read_text(encoding="utf-8"))])


main()
