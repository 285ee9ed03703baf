"""`nparam-lint clean`: deletes the cache, of all projects."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from nparam_lint.cache.housekeeping import clean
from nparam_lint.cache.store import NOWHERE, directory
from nparam_lint.count import resident
from nparam_lint.ground.errors import UsageError
from nparam_lint.report.style import human_bytes, plural

USAGE = "nparam-lint clean"
DESCRIPTION = (
    "Delete the cache of all projects: the results that are kept between runs. Workers that stay "
    "(resident = true) end."
)


def add_arguments(_: ArgumentParser) -> None:
    pass


def run(options: Namespace) -> int:
    base = directory(options.environ)
    if base is None:
        print(f"nothing to remove: {NOWHERE}")
        return 0
    ended = resident.end_all(options.environ)
    if ended:
        print(f"ended {plural(ended, 'worker')} that stayed")
    removal = clean(base)
    if removal.files:
        count = plural(len(removal.files), "file")
        print(f"removed {count}, {human_bytes(removal.size)}, from {base}")
    elif not removal.faults:
        print(f"nothing to remove from {base}")
    if removal.faults:
        raise UsageError("\n".join(("cannot remove everything", *removal.faults)))
    return 0
