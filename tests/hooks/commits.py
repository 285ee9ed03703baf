"""What the tests of the hooks share: models, and what becomes of a commit."""

from __future__ import annotations

import sys
import venv
from typing import TYPE_CHECKING

from sample_files import write_files

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

MODEL = '''\
from torch import nn


class {name}(nn.Module):
    """{claim}"""

    def __init__(self, width={width}):
        super().__init__()
        self.layer = nn.Linear(width, width)
'''


# What is refused, and what there is nothing to say of, without a model being built: torch is not
# imported for tests of how a hook is found and called.
UNREADABLE = "12 apples"
REFUSED = ("net.py:5:16 NPL002", UNREADABLE)
JUDGED = "nothing to check"


def model(width: int, claim: int | str | None = None, name: str = "Net") -> str:
    """A model with width * (width + 1) parameters; `claim`: what its docstring says."""
    text = "A model." if claim is None else f"nparam: {claim}"
    return MODEL.format(width=width, claim=text, name=name)


def unwrapped(done: subprocess.CompletedProcess[str]) -> str:
    """All output, without the line breaks that the width of a terminal makes."""
    return " ".join((done.stdout + done.stderr).split())


def refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """The commit was not made, and the output has each of the parts."""
    said = unwrapped(done)
    assert done.returncode == 1, said
    for part in parts:
        assert " ".join(part.split()) in said, said
    assert "nparam-lint-copy" not in said


def accepted(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """The commit was made after it was judged."""
    said = unwrapped(done)
    assert done.returncode == 0, said
    for part in parts or ("staged: ",):
        assert " ".join(part.split()) in said, said
    assert "nparam-lint-copy" not in said


def environment(place: Path, **files: str) -> Path:
    """An environment that has the packages of the tests, torch among them, and these files."""
    venv.create(place)
    (packages,) = place.glob("lib/python*/site-packages")
    own = next(p for p in sys.path if p.endswith("site-packages"))
    write_files(packages, {"of_the_tests.pth": f"{own}\n", **files})
    return place
