"""Where settings come from, and which of several places holds. What a file may say is in
`cases/configs.txt`."""

import sys
from pathlib import Path

import pytest

from nparam_lint.config.load import ConfigError, load_settings


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


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


def test_a_key_that_stands_twice_is_told_at_its_place(tmp_path):
    write(tmp_path / "nparam-lint.toml", '[budgets]\n"a.py::A" = 1\n"a.py::A" = 2\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path, None, {}, {})
    _, fault = str(caught.value).splitlines()
    assert fault.startswith("nparam-lint.toml:3:")  # which column, parsers disagree
    assert ": is not valid TOML: " in fault


def test_the_config_of_the_command_line_is_read_instead(tmp_path):
    write(tmp_path / "nparam-lint.toml", 'device = "cuda"\n')
    write(tmp_path / "ci" / "strict.toml", 'device = "cpu"\n')
    settings = load_settings(tmp_path, tmp_path / "ci" / "strict.toml", {}, {})
    assert (settings.device, settings.config) == ("cpu", tmp_path / "ci" / "strict.toml")


@pytest.mark.parametrize(
    ("platform", "python"), [("linux", "bin/python"), ("darwin", "mac/python"), ("win32", None)]
)
def test_python_may_differ_for_each_system(tmp_path, monkeypatch, platform, python):
    text = "python = { linux = 'bin/python', macos = 'mac/python' }\n"
    write(tmp_path / "nparam-lint.toml", text)
    monkeypatch.setattr(sys, "platform", platform)
    if python:
        assert load_settings(tmp_path, None, {}, {}).python == python
    else:
        with pytest.raises(ConfigError, match="expected an entry for this system"):
            load_settings(tmp_path, None, {}, {})
