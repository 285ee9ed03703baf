"""What is changed while a script's part is run: older functions, and what is written."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from types import ModuleType

import pytest

from nparam_lint.worker.building.script_effects import plain_entrypoint, without_effects
from nparam_lint.worker.state import STATE


def test_a_function_for_an_older_timm_gets_what_it_takes(monkeypatch):
    monkeypatch.setattr(STATE, "refusals", [])

    def small(width=3, pretrained=False):
        return width + pretrained

    build = plain_entrypoint({"small": small}.get, "small")
    assert build(width=5, pretrained=False, pretrained_cfg=None, bn_tf=False) == 5
    assert STATE.refusals == ["small does not take the pretrained_cfg of this timm: called without"]
    with pytest.raises(TypeError):  # what was asked for is not left out
        build(pretrained_cfg="tag")
    with pytest.raises(TypeError):
        build(depth=5)


def test_yaml_needs_no_loader_as_before_its_version_6(tmp_path):
    torch, yaml = pytest.importorskip("torch"), pytest.importorskip("yaml")
    (tmp_path / "a.yaml").write_text("width: 3\n")
    with without_effects(torch, [], ""), (tmp_path / "a.yaml").open() as file:
        assert yaml.load(file) == {"width": 3}
        file.seek(0)
        assert [*yaml.load_all(file)] == [*yaml.safe_load_all("width: 3")] == [{"width": 3}]
    with pytest.raises(TypeError):
        yaml.load("width: 3")


def test_a_parser_has_no_options_of_a_trainer_of_lightning_2(monkeypatch):
    """Version 1 added them: what the project adds is there all the same."""
    torch, lightning = pytest.importorskip("torch"), ModuleType("pytorch_lightning")
    lightning.Trainer = type("Trainer", (), {})
    monkeypatch.setitem(sys.modules, lightning.__name__, lightning)
    parser = ArgumentParser()
    with without_effects(torch, [], ""):
        assert lightning.Trainer.add_argparse_args(parser, max_epochs=3) is parser
    lightning.Trainer.add_argparse_args = theirs = print
    with without_effects(torch, [], ""):
        assert lightning.Trainer.add_argparse_args is theirs


def test_what_is_written_goes_nowhere_and_what_is_read_is_what_is_there(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    own = tmp_path / "temporary"
    own.mkdir()
    monkeypatch.setattr(STATE, "temporary", str(own))
    monkeypatch.setattr(tempfile, "tempdir", str(own))
    there, absent = tmp_path / "there", tmp_path / "absent"
    there.write_text("as it was")
    with without_effects(torch, [], ""):
        for mode in ("w", "wb", "w+", "x", "a"):
            with absent.open(mode) as file:
                file.write(b"" if "b" in mode else "")
        there.open("w").write("new")
        with there.open("r+") as file:
            assert file.read() == "as it was"
        (absent / "of results").mkdir(parents=True)
        assert os.listdir(absent) == []  # noqa: PTH208
        assert there.name in os.listdir(tmp_path)  # noqa: PTH208
        with tempfile.TemporaryDirectory() as directory:  # as mmcv reads a config
            with tempfile.NamedTemporaryFile(dir=directory, suffix=".py") as file:
                name = Path(file.name).name
            inner = Path(directory, "a", "b")
            inner.mkdir(parents=True)
            copied = Path(shutil.copyfile(there, inner / name))
            assert copied.read_text() == "as it was"
    assert not absent.exists()
    assert there.read_text() == "as it was"


def test_weights_are_not_fetched_whoever_fetches_them(tmp_path, monkeypatch):
    """Nor read where they are not, however the file is given; other files are fetched."""
    torch = pytest.importorskip("torch")
    fetched = []

    def download(url, **_):
        fetched.append(url)

    def load_file(filename):
        return {"a": filename}

    wget, safetensors, user = (ModuleType(name) for name in ("wget", "safetensors.torch", "user"))
    wget.download = user.download = download
    safetensors.load_file = user.load_file = load_file
    for module in (wget, safetensors, user):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    stored = tmp_path / "a.safetensors"
    stored.touch()
    addresses = []
    with without_effects(torch, addresses, ""):
        path = user.download("https://example.com/b.pth", out=str(tmp_path / "b.pth"))
        user.download("https://example.com/words.txt")
        absent = user.load_file(filename=str(tmp_path / "c.safetensors"))
        present = user.load_file(filename=str(stored))
        torch.nn.Linear(1, 1).load_state_dict({name: absent[name] for name in ("a", "b")})
    assert (path, fetched) == (str(tmp_path / "b.pth"), ["https://example.com/words.txt"])
    assert addresses == ["https://example.com/b.pth", str(tmp_path / "c.safetensors")]
    assert present == {"a": str(stored)}
    assert (user.download, user.load_file) == (download, load_file)
