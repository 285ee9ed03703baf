"""Modules of the list are read when something asks for a name in them."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from textwrap import dedent

import pytest

from nparam_lint.ground.late import LATE

# `one` and `two` ask each other for names, and `broken` cannot be read at first.
FILES = {
    "__init__": "print('pack')",
    "one": """
        print('one')
        from pack import two
        name = 'one'
        """,
    "two": """
        print('two')
        from pack import one
        def both():
            return one.name + ' two'
        """,
    "broken": """
        import os
        if 'MENDED' not in os.environ:
            raise ImportError('no')
        name = 3
        """,
}
CASES = {
    "nothing is read before": (
        """
        from pack import one, two
        import pack.one
        print(one.__name__, two.__file__[-6:])
        """,
        "pack.one two.py",
    ),
    "a name is the reason to read": (
        """
        from pack import two
        print(two.both())
        print(two.both(), type(two).__name__)
        """,
        "two|one|one two|one two module",
    ),
    "the package itself": ("import pack; pack.name", "pack|no pack.name"),
    "a name that is not there": ("from pack import two; two.three", "two|no pack.two.three"),
    "what cannot be read can be asked again": (
        """
        import os
        from pack import broken
        try:
            broken.name
        except ImportError as error:
            print(error)
        os.environ['MENDED'] = ''
        print(broken.name)
        """,
        "no|3",
    ),
    "twenty threads read it once": (
        """
        from concurrent.futures import ThreadPoolExecutor
        from pack import two
        print(*set(ThreadPoolExecutor(20).map(lambda _: two.both(), range(20))))
        """,
        "two|one|one two",
    ),
}
PROGRAM = """
from nparam_lint.ground import late
late.LATE = {"pack", "pack.one", "pack.two", "pack.broken"}
try:
    exec(%r)
except AttributeError as error:
    print(f"no {error.obj.__name__}.{error.name}")
"""


@pytest.mark.parametrize("case", CASES)
def test_a_module_is_read_once_and_late(tmp_path, case):
    (tmp_path / "pack").mkdir()
    for name, source in FILES.items():
        (tmp_path / "pack" / f"{name}.py").write_text(dedent(source))
    source, lines = CASES[case]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM % dedent(source)],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout.splitlines() == lines.split("|")


def test_each_of_the_list_is_there():
    assert [name for name in sorted(LATE) if find_spec(name) is None] == []
