"""An exception that nobody expected: it ends no command with the exit code of a finding, and what
is only said beside a verdict does not take it away."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from sample_repository import Sample

from nparam_lint.cli.main import COMMANDS, main

LINE = "a defect of nparam-lint: LookupError: of some kind"
NEXT = "; next: report it at https://github.com/nparam-lint/nparam-lint/issues\n"
ARGUMENTS = {
    "merge": ["a.json"],
    "show": ["a.py::A"],
    "annotate": ["a.py"],
    "compare": ["a.py::A"],
    "formula": ["a.py::A"],
    "solve": ["a.py::A"],
    "sweep": ["a.py::A", "--vary", "d=1|2"],
    "history": ["a.py::A"],
    "rule": ["NPL001"],
    "completion": ["bash"],
    "schema": ["config"],
}
NET = '''\
from torch import nn


class Net(nn.Module):
    """nparam: {budget}"""

    def __init__(self, d=10):
        super().__init__()
        self.l = nn.Linear({arguments})


class Other(nn.Module):
    def __init__(self, d, e):
        super().__init__()
        self.net = Net(d)
'''


def fails(*_: object, **__: object) -> None:
    raise LookupError("of\nsome kind")


@pytest.fixture
def sample(tmp_path, environ):
    made = Sample.create(tmp_path / "r", environ)
    made.committed({"net.py": NET.format(budget="d * d + d", arguments="d, d")})
    return made


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_ends_with_2_and_one_line(command, monkeypatch, capsys):
    monkeypatch.setattr(import_module(f"nparam_lint.cli.{command.replace('-', '_')}"), "run", fails)
    code = main([command, *ARGUMENTS.get(command, [])])
    output, errors = capsys.readouterr()
    line, _, place = errors.partition(" in cli/main.py:")
    assert (code, output, line) == (2, "", f"nparam-lint: {LINE}")
    assert place.lstrip("0123456789") == NEXT


def test_a_format_for_programs_says_it_too(sample, nparam_lint, monkeypatch):
    monkeypatch.setattr("nparam_lint.gate.read_source", fails)
    done = nparam_lint("--format", "json", cwd=sample.path, **sample.environ)
    text, _, place = json.loads(done.stdout)["error"].partition(" in gate/__init__.py:")
    assert (done.returncode, text, place.lstrip("0123456789")) == (2, LINE, NEXT.rstrip())
    assert done.stderr == f"nparam-lint: {text} in gate/__init__.py:{place}\n"


@pytest.mark.parametrize("arguments", [["--static"], ["--static", "--format=json"], ["--version"]])
def test_there_is_no_room_for_the_report(sample, arguments):
    command = [sys.executable, "-m", "nparam_lint", *arguments]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command,
            cwd=sample.path,
            env=sample.environ,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr.count("No space left on device")) == (2, 1), done.stderr
    assert "Traceback" not in done.stderr


BESIDES = {
    "nparam_lint.gate.explanations._explained": "the explanation of NPL001 at net.py:5",
    "nparam_lint.changes.edited_lines._source_line": "what broke the budgets",
    "nparam_lint.analysis.missing_term.derive": "what the formula at net.py:5 lacks",
    "nparam_lint.evidence.containment.find_containment": "which models are parts of others",
    "nparam_lint.gate.fill_in.arguments_to_fill_in": "how to build what needs arguments",
    "nparam_lint.evidence.sizes._Sizes.ways": "a part of what configs and tables say of models",
    "nparam_lint.evidence.file_calls.FileCalls.evidence": "what train.py says of models",
    "nparam_lint.evidence.texts._in_text": "a part of the calls in texts",
    "nparam_lint.evidence.other_names.OtherNames.of": "a part of the names of sizes",
    "nparam_lint.cli.check._keep": "what the cache keeps of this answer",
}


EXPLAINED, *BEFORE, KEPT = BESIDES


@pytest.mark.parametrize("places", [[EXPLAINED], BEFORE, [KEPT]], ids=["end", "before", "kept"])
def test_what_is_said_beside_a_verdict_is_left_out(places, sample, nparam_lint, monkeypatch):
    sample.write({"net.py": NET.format(budget="d * d + d", arguments="d, d + 1")})
    sample.write({"README.md": "```python\nOther(d=1, e=2)\n```\n"})
    sample.write({"train.py": "from net import Other\n\nOther(1, 2)\n"})
    for place in places:
        monkeypatch.setattr(place, fails)
    done = nparam_lint("--format", "json", cwd=sample.path, **sample.environ)
    assert done.returncode == 1
    assert [one["code"] for one in json.loads(done.stdout)["findings"]] == ["NPL001"]
    lines = done.stderr.splitlines(keepends=True)
    told = {line.partition(f": {LINE} in ")[0] for line in lines}
    assert told == {f"nparam-lint: {BESIDES[place]} is left out" for place in places}
    assert len(lines) == len(places)
    assert all(line.endswith(NEXT) for line in lines)


def test_a_page_without_pictures(sample, nparam_lint, monkeypatch):
    monkeypatch.setattr("nparam_lint.report.pictures.PageData.add", fails)
    done = nparam_lint("--format", "html", cwd=sample.path, **sample.environ)
    assert done.returncode == 0
    assert f"<p>the picture is left out: {LINE} in report/html_parts.py:" in done.stdout
    assert "<table" in done.stdout


def test_a_step_without_its_summary(sample, nparam_lint, monkeypatch):
    monkeypatch.setattr("nparam_lint.report.formats.markdown.summary", fails)
    more = sample.environ | {"GITHUB_STEP_SUMMARY": str(sample.path / "summary.md")}
    done = nparam_lint("--format", "github", cwd=sample.path, **more)
    assert done.returncode == 0
    assert done.stderr.startswith(f"nparam-lint: the step summary is left out: {LINE}")


# As formatters write a call that grew: some of the edited lines hold brackets alone.
WRAPPED = NET.format(budget=110, arguments="\n            10,\n            11,\n        ")


def test_edited_lines_of_brackets_alone(sample, nparam_lint):
    sample.committed({"net.py": NET.format(budget=110, arguments="10, 10")})
    sample.write({"net.py": WRAPPED})
    for format in ("concise", "json", "markdown", "html", "sarif", "junit", "text"):
        done = nparam_lint("--declared", "--format", format, cwd=sample.path, **sample.environ)
        assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[1:9] == [
        '     5 |     """nparam: 110"""',
        "       |                ^^^",
        "     9 |         self.l = nn.Linear(",
        "       |         ^^^^^^^^^^^^^^^^^^",
        "    10 |             10,",
        "       |             ^^",
        "    11 |             11,",
        "       |             ^^",
    ]
