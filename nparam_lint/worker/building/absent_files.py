"""What a script asks for and is not there: it may go on without, and make another model."""

import builtins
import functools
import glob
import os
import pathlib
import re
import sys

from ..tracing.project_paths import OWN, line_of_frame, line_text, place_of_frame

# As it was before the project ran: a way that is told without a run finds nothing in what is
# absent.
listdir = os.listdir
LISTING = [(glob, "glob"), (os, "walk"), (pathlib.Path, "glob"), (pathlib.Path, "rglob")]
# Questions for files.
ASKED = [
    *((os.path, name) for name in ("exists", "isfile", "isdir")),
    *((pathlib.Path, name) for name in ("exists", "is_file", "is_dir")),
]
# The modules of Python that have these questions.
OF_FILES = re.compile(r"\b(os|glob|pathlib|posixpath|ntpath|genericpath)(\.py$|>$|[/\\])")
# Of what a script reads rather than writes.
OF_DATA_FILE = re.compile(
    r"(?i)\.(json|jsonl|txt|csv|tsv|pkl|pickle|npy|npz|h5|hdf5|ya?ml|toml|db|parquet|vocab)$"
    r"|(^|[/_])(data\w*|\w*dataset)(/|$)"
)


def watched_files(folder, note):
    """(owner, name, value) of functions that call `note` with the line of the project, and the
    error, where that asks for files which are not there. `folder`: that of the script."""

    def note_absence(error):
        if place := asking_line():
            note(place, error)

    def opening(function, of_several=False):
        """A function that opens a file, or lists some; of those whose number a model may be made
        of, it fails where there are none."""

        @functools.wraps(function)
        def find(*args, **kwargs):
            try:
                files = function(*args, **kwargs)
                if of_several:
                    files = [*files]
                    if not files and asking_line():
                        raise FileNotFoundError(f"there is no file for {args}")
                return files
            except FileNotFoundError as error:
                note_absence(error)
                raise

        return find

    def asking(function):
        """A question for a file, of which only data matter."""

        @functools.wraps(function)
        def ask(path, *args, **kwargs):
            is_there = function(path, *args, **kwargs)
            if not is_there and OF_DATA_FILE.search(os.path.relpath(str(path), folder)):
                note_absence(FileNotFoundError(f"there is no {path}"))
            return is_there

        return ask

    for owner, name in LISTING:
        yield owner, name, opening(getattr(owner, name), of_several=True)
    yield os, "listdir", opening(listdir)
    yield builtins, "open", opening(builtins.open)
    for owner, name in ASKED:
        yield owner, name, asking(getattr(owner, name))


def asking_line():
    """The line of the project that asks for files; None where a library does."""
    frame = sys._getframe()
    while frame.f_code.co_filename.startswith(OWN) or OF_FILES.search(frame.f_code.co_filename):
        frame = frame.f_back
    is_ours = place_of_frame(frame) == "project"
    return line_text(*line_of_frame(frame)) if is_ours else None
