"""`nparam-lint claims`, and what `update --claims` writes: every other byte stays as it was."""

from __future__ import annotations

import pytest
from sample_files import write_files

NETS = '''\
"""Net has 9.9M parameters."""
from torch import nn


class Net(nn.Module):
    """A net with 5k parameters."""

    def __init__(self, d=64):
        super().__init__()
        self.l = nn.Linear(d, d)


def net_small():
    return Net(100)
'''
README = """\
# Nets

`Net` has 7 million parameters, `net_small` has 10.1k parameters.

| model | Params (k) | n |
|---|--:|---|
| Net | 4.3 | 1 |
| Net-S | 12.1 | 2 |
| Other | 12.1 | 2 |
"""
FILES = {
    "nets.py": NETS,
    "README.md": README,
    "c.yaml": "a: 1\r\nnet_small:\r\n  n_parameters: 9_000  # why\r\n",
    "r.csv": 'name,params\nNet,7.1\nnet_small,"10,000"\n',
    "nparam-lint.toml": 'device = "meta"\n',
}


@pytest.fixture
def place(tmp_path):
    return write_files(tmp_path / "nets", FILES)


def test_what_is_said(transcript, expected):
    """Every count, the wrong ones first; and those of some files."""
    expected(transcript("claims\nclaims r.csv c.yaml --format concise", columns=100))


@pytest.mark.parametrize("format", ["github", "sarif", "gitlab", "junit", "markdown", "html"])
def test_in_every_format(place, nparam_lint, format):
    done = nparam_lint("claims", "README.md", "--format", format, cwd=place)
    assert (done.returncode, "4,160" in done.stdout) == (1, True)


def test_update_writes_the_right_number_as_the_wrong_one_is_written(place, nparam_lint):
    before = {name: (place / name).read_bytes() for name in FILES}
    check = nparam_lint("update", "--claims", "--check", cwd=place)
    assert (check.returncode, {n: (place / n).read_bytes() for n in FILES}) == (1, before)
    done = nparam_lint("update", "--claims", cwd=place)
    assert done.returncode == 1  # one is left
    assert done.stdout == (
        "README.md:3  Net  7 → 0.004  (4,160)\n"
        "README.md:7  Net  4.3 → 4.2  (4,160)\n"
        "README.md:8  net_small  12.1 → 10.1  (10,100)\n"
        "c.yaml:3  net_small  9_000 → 10_100  (10,100)\n"
        "nets.py:1  Net  9.9M → 0.0042M  (4,160)\n"
        "nets.py:6  Net  5k → 4k  (4,160)\n"
        "r.csv:2  Net  7.1  left alone: it has no unit; correct it by hand; counted: 4,160\n"
        "6 budgets rewritten in 3 files · 2 budgets hold · 1 left alone\n"
    )
    assert (place / "README.md").read_text() == README.replace(
        "7 million", "0.004 million"
    ).replace("4.3", "4.2").replace("Net-S | 12.1", "Net-S | 10.1")
    assert (place / "c.yaml").read_bytes() == FILES["c.yaml"].replace("9_000", "10_100").encode()
    again = nparam_lint("update", "--claims", "README.md", "c.yaml", "nets.py", cwd=place)
    assert (again.returncode, again.stdout) == (0, "7 budgets hold\n")
