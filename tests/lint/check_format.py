#!/usr/bin/env python3
"""Are all C++ files formatted? With --fix: format them."""

import os
import subprocess
import sys

from sources import ROOT, cpp_files

CLANG_FORMAT = os.environ.get("CLANG_FORMAT", "clang-format")
CHECK = [CLANG_FORMAT, "--style=file", "--dry-run", "-Werror"]


def self_check():
    planted = subprocess.run(
        [*CHECK, "--assume-filename=store/planted.cpp"], cwd=ROOT, input="int  main( ){return 0 ;}\n",
        capture_output=True, text=True)
    assert planted.returncode != 0, "clang-format accepted a planted fault"


def main():
    self_check()
    files = cpp_files("store", "gateway", "tests")
    command = [CLANG_FORMAT, "--style=file", "-i"] if "--fix" in sys.argv else CHECK
    ended = subprocess.run([*command, *files], cwd=ROOT) if files else None
    ok = ended is not None and ended.returncode == 0
    print(f"check_format: {len(files)} files, {'clean' if ok else 'run ./dev format'}")
    sys.exit(0 if ok else 1)


main()
