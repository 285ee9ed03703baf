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
TABLE = """\
wrong
  place        stated                model         has  why
─────────────  ────────────────────  ─────────  ──────  ───────────────────────────────────
✗ README.md:3  7 million parameters  Net         4,160  the text names Net
✗ README.md:7  4.3 (Params (k))      Net         4,160  beside it stands the name Net
✗ README.md:8  12.1 (Params (k))     net_small  10,100  beside it stands the name Net-S
✗ c.yaml:3     n_parameters: 9_000   net_small  10,100  beside it stands the name net_small
✗ nets.py:1    9.9M parameters       Net         4,160  the text names Net
✗ nets.py:6    5k parameters         Net         4,160  it stands in the model's docstring
✗ r.csv:2      7.1 (params)          Net         4,160  beside it stands the name Net

right
  place        stated            model         has  why
─────────────  ────────────────  ─────────  ──────  ───────────────────────────────────
✓ README.md:3  10.1k parameters  net_small  10,100  the text names net_small
✓ r.csv:3      10,000 (params)   net_small  10,100  beside it stands the name net_small

10 stated counts: 7 wrong · 2 right · 1 about no model that was counted
"""


@pytest.fixture
def root(tmp_path):
    return write_files(tmp_path / "nets", FILES)


def test_every_count_the_wrong_ones_first(root, nparam_lint):
    done = nparam_lint("claims", cwd=root, COLUMNS="100")
    assert (done.returncode, done.stdout) == (1, TABLE)


def test_those_of_some_files(root, nparam_lint):
    done = nparam_lint("claims", "r.csv", "c.yaml", "--format", "concise", cwd=root)
    assert done.stdout == (
        "c.yaml:3:17: wrong: n_parameters: 9_000 of net_small, which has 10,100\n"
        "r.csv:2:5: wrong: 7.1 (params) of Net, which has 4,160\n"
        "r.csv:3:12: right: 10,000 (params) of net_small, which has 10,100\n"
    )


@pytest.mark.parametrize("format", ["github", "sarif", "gitlab", "junit", "markdown", "html"])
def test_in_every_format(root, nparam_lint, format):
    done = nparam_lint("claims", "README.md", "--format", format, cwd=root)
    assert done.returncode == 1
    assert "Net has 4,160" in done.stdout or "4,160" in done.stdout


def test_a_path_that_is_not_there(root, nparam_lint):
    done = nparam_lint("claims", "RAEDME.md", cwd=root)
    assert done.returncode == 2
    assert "there is no file or directory RAEDME.md; did you mean README.md?" in done.stderr


def test_update_writes_the_right_number_as_the_wrong_one_is_written(root, nparam_lint):
    before = {name: (root / name).read_bytes() for name in FILES}
    check = nparam_lint("update", "--claims", "--check", cwd=root)
    assert (check.returncode, {n: (root / n).read_bytes() for n in FILES}) == (1, before)
    done = nparam_lint("update", "--claims", cwd=root)
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
    assert (root / "README.md").read_text() == README.replace("7 million", "0.004 million").replace(
        "4.3", "4.2"
    ).replace("Net-S | 12.1", "Net-S | 10.1")
    assert (root / "c.yaml").read_bytes() == FILES["c.yaml"].replace("9_000", "10_100").encode()
    again = nparam_lint("update", "--claims", "README.md", "c.yaml", "nets.py", cwd=root)
    assert (again.returncode, again.stdout) == (0, "7 budgets hold\n")
