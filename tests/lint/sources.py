"""Which C++ files the lints look at, and how they report."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def cpp_files(*folders):
    """Tracked files and new ones that are not ignored, as paths relative to the root."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--",
         *(f"{folder}/**.{ending}" for folder in folders for ending in ("cpp", "hpp"))],
        capture_output=True, text=True)
    if listing.returncode == 0:
        names = {name for name in listing.stdout.split("\0") if name}
    else:  # not a git checkout, for example an unpacked archive
        names = {str(path.relative_to(ROOT)) for folder in folders
                 for path in (ROOT / folder).rglob("*.[ch]pp") if "node_modules" not in path.parts}
    return sorted(name for name in names if (ROOT / name).is_file())


def finish(lint, files, faults):
    """Prints the faults and ends the process; a lint that saw no file has failed."""
    for fault in faults:
        print(fault)
    print(f"{lint}: {len(files)} files, {len(faults)} faults")
    sys.exit(1 if faults or not files else 0)
