"""An answer that is kept for a check of the index, and given again."""

from __future__ import annotations

import os

from commits import accepted, model, refused

CONFIG = '[budgets]\n"net.py::Net" = {}\n'


def test_each_project_has_a_heading_and_the_answer_is_given_again(
    repository, nparam_lint, nparam_lint_process
):
    files = {"net.py": model(10), "nparam-lint.toml": CONFIG.format(110)}
    inner = {f"{place}/{name}": text for place in "ab" for name, text in files.items()}
    sample = repository({"top.py": model(10, 110)} | inner)
    for path in (*sample.path.rglob("*"), sample.path):  # what has just changed is not relied upon
        os.utime(path, (1_600_000_000, 1_600_000_000), follow_symlinks=False)

    def run(command):
        return command("--declared", "--staged", cwd=sample.path, **sample.environ)

    first, again = run(nparam_lint), run(nparam_lint_process)
    assert (first.returncode, first.stderr) == (again.returncode, again.stderr) == (0, "")
    lines = [line for line in first.stdout.splitlines() if line.startswith("project")]
    assert lines == ["project .", "project a (nparam-lint.toml)", "project b (nparam-lint.toml)"]
    assert [line for line in again.stdout.splitlines() if line.startswith("project")] == lines
    assert again.stdout.count("staged: 1 model (1 from the cache) · 1 budget holds · ") == 3
    sample.add({"b/nparam-lint.toml": CONFIG.format(111)})
    assert "declared 111" in " ".join(run(nparam_lint).stdout.split())


def test_an_answer_that_is_kept_rests_on_the_last_commit(judged):
    config = '[severity]\nNPL013 = "error"\n'
    sample = judged({"nets.py": model(10, name="GridNet"), "nparam-lint.toml": config})
    sample.committed({"README.md": "GridNet has 120 parameters.\n"})
    sample.add({"x.py": "x = 1\n"})
    for path in (*sample.path.rglob("*"), sample.path):  # what has just changed is not relied upon
        os.utime(path, (1_600_000_000, 1_600_000_000), follow_symlinks=False)
    accepted(sample.commit(), "nothing to check")
    sample.git("reset", "--quiet", "--soft", "HEAD~2")
    refused(sample.commit(), "README.md:1:13  NPL013")
