"""Named sizes, built by the worker."""

from __future__ import annotations

import json

SOURCE = """from torch import nn

SIZES = {
    "s": dict(dim=2),
    "m": dict(dim=3),
    "odd": dict(dim=2, depth=1),
    "l": dict(dim=4),
}


class Net(nn.Module):
    def __init__(self, dim, out):
        super().__init__()
        self.layer = nn.Linear(dim, out)

    @classmethod
    def from_name(cls, name):
        return cls(**SIZES[name], out=1)

    @classmethod
    def from_pretrained(cls, name, out=2):
        import nowhere

        names = {"s": 2, "pretrained": 5}
        dim = names[name]
        model = cls(dim, out)
        model.load_state_dict(nowhere.load_file(name))
        return model
"""


def test_each_size_is_a_way(tmp_path, nparam_lint):
    (tmp_path / "m.py").write_text(SOURCE)
    done = nparam_lint("--format", "json", "--all-ways", cwd=tmp_path)
    report = json.loads(done.stdout)
    found = [
        (model["way"]["name"], model["way"]["line"], model["counts"]["total"], model["call"])
        for model in report["models"]
    ]
    assert found == [
        ("s", 4, 3, 'Net.from_name("s")'),
        ("m", 5, 4, 'Net.from_name("m")'),
        ("l", 7, 5, 'Net.from_name("l")'),
        ("pretrained", 24, 12, "Net(dim, out)"),
    ]
    (failed,) = report["failed_ways"]
    assert (failed["way"]["name"], failed["way"]["line"]) == ("odd", 6)
    assert "depth" in failed["reason"]
    assert done.returncode == 0, done.stderr


def test_what_is_left_out_is_counted(tmp_path, nparam_lint):
    (tmp_path / "m.py").write_text(SOURCE)
    (tmp_path / "nparam-lint.toml").write_text("ways = 2\n")
    report = json.loads(nparam_lint("--format", "json", cwd=tmp_path).stdout)
    assert [model["way"]["name"] for model in report["models"]] == ["s", "m"]
    assert report["ways_left"] == {"m.py::Net": 3}


METHODS = """from torch import nn


class Codec(nn.Module):
    def __init__(self, width, bands):
        super().__init__()
        self.layer = nn.Linear(width, bands)

    @staticmethod
    def _of(width):
        return Codec(width, 1)

    @staticmethod
    def small(pretrained: bool = True):
        model = Codec._of(2)
        if pretrained:
            model.load_state_dict(None)
        return model

    @classmethod
    def large(cls):
        return cls(8, 1)

    @classmethod
    def wide(cls, bands):
        return cls(8, bands)

    @staticmethod
    def bands_of(width=3):
        return width // 3

    @classmethod
    def download(cls):
        return cls(1, 1)
"""


def test_a_method_that_makes_its_class_is_a_size(tmp_path, nparam_lint):
    """Those that need something, give something else or load something are none."""
    (tmp_path / "m.py").write_text(METHODS)
    report = json.loads(nparam_lint("--format", "json", "--all-ways", cwd=tmp_path).stdout)
    assert [(m["way"]["name"], m["call"], m["counts"]["total"]) for m in report["models"]] == [
        ("small", "Codec.small(pretrained=False)", 3),
        ("large", "Codec.large()", 9),
    ]
    assert report["failed_ways"] == []
