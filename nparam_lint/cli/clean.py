"""`nparam-lint clean`: deletes the cache, of all projects."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from nparam_lint.cache.housekeeping import clean
from nparam_lint.cache.store import NOWHERE, OLD_CACHE, RENAMED, directory
from nparam_lint.ground.errors import UsageError
from nparam_lint.report.style import human_bytes, plural

USAGE = "nparam-lint clean"
DESCRIPTION = "Delete the cache of all projects: the results that are kept between runs."


def add_arguments(_: ArgumentParser) -> None:
    pass


def run(options: Namespace) -> int:
    if options.environ.get(OLD_CACHE):
        raise UsageError(f"environment variable {OLD_CACHE} {RENAMED}")
    base = directory(options.environ)
    if base is None:
        print(f"nothing to remove: {NOWHERE}")
        return 0
    removed = clean(base)
    if removed.files:
        count = plural(len(removed.files), "file")
        print(f"removed {count}, {human_bytes(removed.size)}, from {base}")
    elif not removed.faults:
        print(f"nothing to remove from {base}")
    if removed.faults:
        raise UsageError("\n".join(("cannot remove everything", *removed.faults)))
    return 0
