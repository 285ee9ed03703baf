"""The command line as a user meets it: exit codes, streams, options. Everything runs for real, as
on the page `streams.md`."""

import json
import os
import re
import subprocess
import sys

import pytest
from sample_files import write_files

from nparam_lint.ground.rule_catalogue import RULES
from nparam_lint.ground.version import __version__


@pytest.fixture(scope="module")
def place(project):
    """A project in which everything is right."""
    return project("right")


@pytest.fixture(scope="module")
def drift(project):
    return project("drift")


@pytest.fixture(scope="module")
def gone(tmp_path_factory):
    """A project with a finding for which no model must be built, and with a name beyond ASCII."""
    config = '[budgets]\n"netze/größe.py::Netz" = 12\n'
    files = {"nparam-lint.toml": config, "plain.py": ""}
    return write_files(tmp_path_factory.mktemp("gone"), files)


def test_what_is_listed(answered):
    assert re.findall(r"^NPL\d+", answered("rule").stdout, re.MULTILINE) == list(RULES)
    assert answered("--version").stdout == f"nparam-lint {__version__}\n"


def test_a_path_in_a_subdirectory_is_named_from_the_project(answered):
    text = answered("block.py", "--format", "json", "--declared", cwd="nets").stdout
    every = json.loads(text)["models"]
    models = {m["target"]: m["because"] for m in every if m["way"] is None}
    because = "depends on nets/block.py"
    assert models == {"nets/block.py::Block(64)": None, "nets/lm.py::TiedLM": because}


def has(part, **expected):
    assert {key: part[key] for key in expected} == expected


def test_json_in_a_file_beside_which_the_log_gets_text(nparam_lint, drift, tmp_path):
    path = tmp_path / "report.json"
    options = ("check", "--format", "json", "--output-file", path, "--device", "meta")
    done = nparam_lint(*options, cwd=drift)
    assert (done.returncode, done.stderr) == (1, "")
    assert "· 4 budgets broken ·" in done.stdout
    report = json.loads(path.read_text())
    places = [("model.py", 5), ("model.py", 17), ("model.py", 24), ("pyproject.toml", 2)]
    found = [(f["code"], f["path"], f["line"]) for f in report["findings"]]
    assert found == [("NPL001", *at) for at in places]
    has(report, version=1, tool={"name": "nparam-lint", "version": __version__})
    environment = report["environment"]
    has(environment, python=sys.executable, devices=["meta"])
    assert re.match(r"\d+\.\d+", environment["torch"])
    assert environment["reason"]
    model = next(m for m in report["models"] if m["target"] == "model.py::ByClass")
    has(model, path="model.py", line=4, call="ByClass()")
    has(model, status="measured", cached=False, reason=None)
    assert model["devices"] == {"meta": {"status": "measured", "total": 121}}
    _, first, second = model["modules"]
    has(first, path="first", type="Linear", own=110, total=110, trainable=110, source="model.py:9")
    has(second, path="second", type="Linear", own=11, total=11, trainable=11, source="model.py:10")
    assert 0 < report["summary"]["seconds"] < 100
    assert str(drift) not in json.dumps(report["models"])


@pytest.mark.thorough
def test_an_absolute_path_from_elsewhere_gives_paths_of_the_project(nparam_lint, drift, tmp_path):
    elsewhere = nparam_lint(drift / "model.py", "--format=concise", cwd=tmp_path)
    here = nparam_lint("model.py", "--format=concise", cwd=drift)
    assert (elsewhere.returncode, elsewhere.stderr) == (1, "")
    assert elsewhere.stdout == here.stdout


# --- the question cannot be answered --------------------------------------------------------


def test_an_interpreter_without_torch_is_told_with_its_reason_and_the_next_step(
    answered, without_torch
):
    done = answered("--python", without_torch, "--format", "json", code=2)
    report = json.loads(done.stdout)
    assert {m["status"] for m in report["models"]} == {"not_measured"}
    assert not any(b["ok"] for m in report["models"] for b in m["budgets"])
    assert report["environment"]["torch"] is None
    assert (report["summary"]["measured"], report["findings"]) == (0, [])
    for part in (str(without_torch), "option --python", "No module named 'torch'", "next: "):
        assert part in done.stderr
        assert part in report["error"]
    text = answered(code=2, NPARAM_LINT_PYTHON=str(without_torch))
    assert "environment variable NPARAM_LINT_PYTHON" in text.stderr
    assert "✓" not in text.stdout
    environment = without_torch.parent.parent
    for command in ("compare", "update", "doctor"):
        target = ["nets/mlp.py::MLP"] * (command == "compare")
        done = answered(command, *target, "--python", environment, code=2)
        assert "No module named 'torch'" in done.stdout + done.stderr
        assert "next: " in done.stdout + done.stderr


def test_doctor_says_what_is_used_and_why(answered, place):
    text = answered("doctor", cwd="nets").stdout
    rows = dict(re.findall(r"^(\S+(?: \S+)?) {2,}(.+)$", text, re.MULTILINE))
    assert rows["project"] == str(place)
    assert rows["config"] == str(place / "pyproject.toml")
    assert rows["python"] == sys.executable
    assert rows["because"]
    assert re.match(r"\d+\.\d+", rows["torch"])
    assert rows["devices"].startswith("meta, cpu")


# --- streams --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "more", "colored"),
    [
        ([], {}, False),
        ([], {"FORCE_COLOR": "1"}, True),
        ([], {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        (["--color", "always"], {"NO_COLOR": "1"}, True),
        (["--color", "never"], {"FORCE_COLOR": "1"}, False),
        (["--color", "always", "--format", "json"], {}, False),
    ],
)
def test_color_is_for_those_who_want_it(nparam_lint, gone, options, more, colored):
    done = nparam_lint(*options, cwd=gone, **more)
    assert done.returncode == 1
    assert ("\x1b[" in done.stdout) is colored


@pytest.mark.first_cases(2)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], 1),
        (["--format", "json"], 1),
        (["rule"], 0),
        (["--help"], 0),
        (["help", "solve"], 0),
        (["completion", "bash"], 0),
        (["shwo"], 2),
    ],
)
def test_a_reader_that_goes_away_is_no_error_to_tell(environ, gone, arguments, code):
    """The exit code is that of the run: whoever sets `pipefail` reads it."""
    reader, writer = os.pipe()
    os.close(reader)  # as `| head` does when it has seen enough
    try:
        done = subprocess.run(
            [sys.executable, "-m", "nparam_lint", *arguments],
            cwd=gone,
            env=environ,
            stdout=writer,
            stderr=writer if code == 2 else subprocess.PIPE,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (code, None if code == 2 else "")


def test_a_closed_output_is_no_error_to_tell(environ, gone):
    command = f"{sys.executable} -m nparam_lint --output-file report.txt >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], cwd=gone, env=environ, check=False).returncode == 1
    assert "NPL008" in (gone / "report.txt").read_text()
    (gone / "report.txt").unlink()


def test_a_terminal_that_knows_only_ascii_is_served(nparam_lint_process, gone):
    done = nparam_lint_process(cwd=gone, PYTHONIOENCODING="ascii", FORCE_COLOR="1")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.isascii()
    assert "NPL008" in done.stdout


@pytest.mark.skipif(os.name != "posix", reason="there are no pseudo-terminals")
def test_an_error_is_wrapped_for_a_terminal_alone(environ, gone):
    import pty

    command = [sys.executable, "-m", "nparam_lint", "--format", "x" * 40]
    answers = []
    for is_terminal in (True, False):
        above, below = pty.openpty() if is_terminal else os.pipe()
        done = subprocess.run(
            command,
            cwd=gone,
            env=environ | {"COLUMNS": "80"},
            stdout=subprocess.DEVNULL,
            stderr=below,
            check=False,
        )
        assert done.returncode == 2
        answers.append(os.read(above, 10_000).decode().replace("\r", "").split("\n"))
        os.close(below)
        os.close(above)
    wrapped, whole = answers
    assert max(map(len, wrapped)) <= 80 < max(map(len, whole))
    assert " ".join(" ".join(wrapped).split()) == " ".join(" ".join(whole).split())


# --- lightness ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["rule", "NPL001"], {"torch", "numpy", "libcst", "pathspec", "tabulate"}),
        (["right"], {"torch", "numpy"}),
    ],
)
def test_the_front_end_imports_neither_torch_nor_what_it_does_not_use(
    environ, place, arguments, unwanted
):
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "nparam_lint", *arguments],
        cwd=place.parent,
        env=environ,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "nparam_lint.cli.main" in imported
    assert unwanted & {name.partition(".")[0] for name in imported} == set()
    assert "nparam_lint.worker.launch" not in imported
