"""A commit that states a wrong count is told of it: of its own lines, and of no older ones."""

from __future__ import annotations

import os

from commits import accepted, refused

NETS = """\
from torch import nn


class GridNet(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.fc = nn.Linear(9, width)


def grid_large():
    return GridNet(100)
"""
README = "GridNet has 120 parameters.\n"
CONFIG = 'exclude = ["left/"]\ndevice = "meta"\n[severity]\nNPL013 = "error"\n'
WRONG = {
    "README.md:3:16": README + "\ngrid_large has 7k parameters.\n",
    "docs/a b.md:3:16": "| model | Params |\n|--|--|\n| grid-large | 7k |\n",
    "conf/grid.yaml:1:3": "# 120 parameters\n_target_: nets.GridNet\n",
    "train.py:2:18": "size = 1\nn = GridNet()  # 120k params\n",
}
RIGHT = {
    "README.md": README + "\nGridNet is fast. grid_large has 1k parameters.\n",
    "nets.py": NETS + "\n# 120 steps\n",
    # A row beside the right one is likely of another table, as in a run over all.
    "a.md": "| m | params |\n|--|--|\n| grid_large | 1k |\n| grid_large | 7k |\n",
    "left/a.md": "grid_large has 7k parameters.\n",  # which is left out
}
# The README was wrong before there was a hook.
BEFORE = {"nets.py": NETS, "README.md": README, "nparam-lint.toml": CONFIG}


def test_wrong_counts_are_refused_where_they_are_written(hooked):
    sample = hooked(BEFORE)
    sample.add({place.partition(":")[0]: text for place, text in WRONG.items()})
    done = sample.commit()
    refused(done, *(f"{place}  NPL013" for place in WRONG))
    assert "README.md:1" not in done.stdout + done.stderr


def test_lines_are_found_whatever_git_is_set_to_and_in_a_project_in_a_folder(judged):
    sample = judged({"p[1]/nets.py": NETS, "p[1]/nparam-lint.toml": CONFIG})
    plus = "++ a line that begins so\n# grid\n\n" + README
    sample.committed({"p[1]/a.yaml": "x: 1\n", ".gitattributes": "*.MD -diff\n"})
    sample.add({"p[1]/b/R.MD": README, 'p[1]/a"b.md': README, "p[1]/plus.md": plus})
    sample.add({"P[1]/R.md": README})
    (sample.path / "p[1]/a.yaml").unlink()
    (sample.path / "p[1]/a.yaml").symlink_to("plus.md")
    sample.git("add", "--all")
    for setting in ("diff.mnemonicPrefix", "diff.noprefix"):
        sample.git("config", setting, "true")
        lines = ("b/R.MD:1", 'a"b.md:1', "plus.md:4")
        refused(sample.commit(), *(f"{at}:13  NPL013" for at in lines))
        sample.git("config", "--unset", setting)


def test_an_answer_that_is_kept_rests_on_the_last_commit(judged):
    sample = judged({"nets.py": NETS, "nparam-lint.toml": CONFIG})
    sample.committed({"README.md": README})
    sample.add({"x.py": "x = 1\n"})
    for path in (*sample.path.rglob("*"), sample.path):  # what has just changed is not relied upon
        os.utime(path, (1_600_000_000, 1_600_000_000), follow_symlinks=False)
    accepted(sample.commit(), "nothing to check")
    sample.git("reset", "--quiet", "--soft", "HEAD~2")
    refused(sample.commit(), "README.md:1:13  NPL013")


def test_a_commit_that_states_nothing_wrong_is_made_and_another_warned_of(
    judged,
):
    sample = judged(BEFORE)
    for files in (RIGHT, {"README.md": None}):
        sample.add(files)
        accepted(sample.commit(), "nothing to check")
    sample.add({"README.md": README, "nparam-lint.toml": 'device = "meta"\n'})
    accepted(
        sample.commit(), "NPL013  warning: GridNet has 100", "1 warning · this stops no commit"
    )


def test_a_commit_that_changes_a_model_is_told_of_the_counts_that_it_makes_wrong(judged):
    """Other counts that are wrong, of other models, were so before."""
    declared = NETS.replace("(nn.Module):\n", '(nn.Module):\n    """nparam: 100"""\n\n', 1)
    readme = "GridNet has 100 parameters.\n\ngrid_large has 7k parameters.\n"
    sample = judged({"nets.py": declared, "README.md": readme, "nparam-lint.toml": CONFIG})
    wider = declared.replace("width=10", "width=11").replace("nparam: 100", "nparam: 110")
    sample.add({"nets.py": wider})
    done = sample.commit()
    refused(done, "README.md:1:13  NPL013  GridNet has 110 parameters")
    assert "README.md:3" not in done.stdout
    sample.add({"README.md": readme.replace("100", "110")})
    accepted(sample.commit(), "1 budget holds")
