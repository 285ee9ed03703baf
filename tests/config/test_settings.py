"""Where settings come from, and which of several places holds. What a file may say is in
`cases/configs.txt`."""

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from nparam_lint.config.load import ConfigError, load_settings


@pytest.fixture
def load(tmp_path):
    """Settings from the text of a config file; `options` are the command line's."""

    def loaded(text="", *, name="nparam-lint.toml", environ=None, **options):
        write(tmp_path / name, text)
        return load_settings(tmp_path, None, environ or {}, options)

    return loaded


@pytest.fixture
def faults(load):
    """The faults of a config file, a line each as the user sees them, in the order of the file."""

    def found(text="", **more):
        with pytest.raises(ConfigError) as caught:
            load(text, **more)
        return str(caught.value).splitlines()[1:]

    return found


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text), encoding="utf-8")


# --- where it is read from ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject.toml", "[tool.nparam-lint]\n".encode("utf-16")),
        ("nparam-lint.toml", b"device = '\xff'\n"),
    ],
)
def test_a_file_that_is_no_utf_8_is_told(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=rf"\n{name}:1:1: cannot be read: 'utf-8' codec"):
        load_settings(tmp_path, None, {}, {})


def test_a_key_that_stands_twice_is_told_at_its_place(faults):
    (fault,) = faults('[budgets]\n"a.py::A" = 1\n"a.py::A" = 2\n')  # which column, parsers disagree
    assert fault.startswith("nparam-lint.toml:3:")
    assert ": is not valid TOML: " in fault


def test_the_config_of_the_command_line_is_read_instead(tmp_path):
    write(tmp_path / "nparam-lint.toml", 'device = "cuda"\n')
    write(tmp_path / "ci" / "strict.toml", 'device = "cpu"\n')
    settings = load_settings(tmp_path, tmp_path / "ci" / "strict.toml", {}, {})
    assert (settings.device, settings.config) == ("cpu", tmp_path / "ci" / "strict.toml")


# --- environment and command line -----------------------------------------------------------


def test_the_environment_outranks_the_file_and_the_command_line_both(load):
    text = "timeout = 5\njobs = 5\ndepth = 5\nmemory = '5GB'\ntolerance = '5%'\n"
    environ = {
        "NPARAM_LINT_TIMEOUT": "8",
        "NPARAM_LINT_JOBS": "8",
        "NPARAM_LINT_DEPTH": "",
        "NPARAM_LINT_TOLERANCE": "8%",
        "NPARAM_LINT_EXCLUDE": "a/**,b/**",
        "NPARAM_LINT_SELECT": "NPL001, NPL013",
        "NPARAM_LINT_FORMAT": "json",
        "TIMEOUT": "99",
    }
    settings = load(text, environ=environ, jobs="11", depth=None, tolerance="11%")
    assert (settings.timeout, settings.jobs, settings.depth) == (8.0, 11, 5)
    assert settings.tolerance is not None
    assert settings.tolerance.text == "11%"
    assert settings.memory == 5_000_000_000
    assert settings.exclude == ("a/**", "b/**")
    assert settings.select == ("NPL001", "NPL013")
    assert settings.format == "json"


def test_who_named_the_interpreter_is_remembered(load):
    text, environ = "python = 'a'\n", {"NPARAM_LINT_PYTHON": "b"}
    settings = load(text)
    assert (settings.python, settings.python_from) == ("a", "config key 'python'")
    settings = load(text, environ=environ)
    assert (settings.python, settings.python_from) == (
        "b",
        "environment variable NPARAM_LINT_PYTHON",
    )
    settings = load(text, environ=environ, python="c")
    assert (settings.python, settings.python_from) == ("c", "option --python")


def test_faults_of_environment_and_command_line_are_told_with_those_of_the_file(faults):
    environ = {"NPARAM_LINT_TIMEOUT": "soon", "NPARAM_LINT_DEVICE": "gpu"}
    environ |= {"NPARAM_LINT_EXTEND": "strict.toml"}
    assert faults("jobs = 0\n", environ=environ, depth="-1") == [
        "environment variable NPARAM_LINT_EXTEND is not read; next: write 'extend' into the config",
        "environment variable NPARAM_LINT_DEVICE is 'gpu', expected one of auto, meta, cpu, "
        "cuda, mps, xpu; "
        "did you mean xpu?",
        "environment variable NPARAM_LINT_TIMEOUT is 'soon', expected a number of seconds above 0",
        "option --depth is '-1', expected a whole number from 0 up",
        "nparam-lint.toml:1:1: config key 'jobs' is 0, expected a whole number from 1 up",
    ]


@pytest.mark.parametrize(
    ("platform", "python"), [("linux", "bin/python"), ("darwin", "mac/python"), ("win32", None)]
)
def test_python_may_differ_for_each_system(load, monkeypatch, platform, python):
    text = "python = { linux = 'bin/python', macos = 'mac/python' }\n"
    monkeypatch.setattr(sys, "platform", platform)
    if python:
        assert load(text).python == python
    else:
        with pytest.raises(ConfigError, match="expected an entry for this system"):
            load(text)


# --- overrides --------------------------------------------------------------------------------


def test_overrides_hold_for_the_files_that_they_name_the_last_on_top(load):
    settings = load(
        """
        tolerance = "1%"
        ignore = ["NPL013"]
        [severity]
        NPL010 = "error"

        [[overrides]]
        files = ["zoo/**", "!zoo/exact.py"]
        tolerance = "5%"
        ignore = ["NPL1"]
        severity = { NPL001 = "warning" }

        [[overrides]]
        files = ["zoo/huge.py"]
        device = "meta"
        """
    )
    assert settings.for_file("nets/a.py") == settings
    assert settings.for_file("zoo/exact.py") == settings
    zoo, huge = settings.for_file("zoo/a.py"), settings.for_file("zoo/huge.py")
    assert (zoo.tolerance.text, zoo.device) == ("5%", "auto")
    assert zoo.ignore == ("NPL013", "NPL1")
    assert zoo.severity == {"NPL010": "error", "NPL001": "warning"}
    assert (huge.tolerance.text, huge.device) == ("5%", "meta")
