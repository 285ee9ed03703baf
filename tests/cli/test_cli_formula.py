"""`nparam-lint formula` as a user meets it: real models, real builds."""

from __future__ import annotations

import json
from functools import partial

import pytest

PAGE = "formula"


@pytest.fixture
def formula(answered):
    return partial(answered, "formula")


def document(done):
    return json.loads(done.stdout)


def test_fields_of_the_default_config_are_varied_in_every_format(formula):
    gpt = document(formula("nets.py::GPT", "--format", "json"))
    base, *others = gpt["cases"]
    assert base["formula"] == "n_embd*(n_layer*(3*n_embd + 5) + block_size + vocab_size)"
    assert base["expanded"] == (
        "3*n_layer*n_embd**2 + block_size*n_embd + vocab_size*n_embd + 5*n_layer*n_embd"
    )
    assert base["value"] == 32 * (3 * (96 + 5) + 164)
    assert base["rules"] == ["n_embd % n_head == 0"]
    assert base["no_effect"] == ["n_head", "dropout"]
    assert {json.dumps(case["case"]): case["formula"] for case in others} == {
        '{"bias": false}': "n_embd*(n_layer*(3*n_embd + 2) + block_size + vocab_size)"
    }
    assert gpt["call"] == "GPT(GPTConfig())"
    (qkv,) = (row for row in base["parameters"] if row["name"] == "h.*.qkv.weight")
    assert (qkv["shape"], qkv["number"]) == (["3*n_embd", "n_embd"], "n_layer")
    assert (qkv["source"], qkv["value"]) == ("nets.py:23", 3 * 96 * 32)
    names: dict[str, object] = {}
    exec(formula("nets.py::GPT", "--format", "python").stdout, names)
    count = names["parameter_count"]
    assert count() == 14_944
    assert count(n_layer=5, n_embd=8) == 8 * (5 * (24 + 5) + 164)
    assert count(bias=False) == 32 * (3 * 98 + 164)


@pytest.mark.thorough
def test_choices_that_are_left_out_are_named(formula):
    done = formula("nets.py::Many")
    assert "\n  matter too  f: --vary f shows how\n" in done.stdout
    assert done.stdout.count("\nwhere ") == 4


# --- --write ----------------------------------------------------------------------------------

WRITTEN = '''\
import torch.nn as nn


class Net(nn.Module):
    """A net."""

    def __init__(self, width=16, bias=True):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width, bias=bias)])
'''


@pytest.fixture
def written(tmp_path, nparam_lint):
    (tmp_path / "net.py").write_text(WRITTEN)
    (tmp_path / "nparam-lint.toml").write_text('device = "meta"\n')

    def run(*arguments, code=0):
        done = nparam_lint(*arguments, cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        return done, (tmp_path / "net.py").read_text()

    return run


def test_the_formula_becomes_a_budget_that_holds_and_is_written_once(written):
    done, text = written("formula", "net.py::Net", "--write")
    line = "nparam: (width**2) if not bias else (width*(width + 1))"
    assert line in done.stderr
    assert text == WRITTEN.replace('"""A net."""', f'"""A net.\n\n    {line}\n    """')
    done, _ = written()
    assert "1 budget holds" in done.stdout
    done, again = written("formula", "net.py::Net", "--write")
    assert text == again
    assert "net.py::Net already has it" in done.stderr


CALLED = """
from dataclasses import dataclass

import torch.nn as nn


@dataclass
class Config:
    d: int = 4
    act: str = "glu"


class Net(nn.Module):
    def __init__(self, config: Config, *widths):
        super().__init__()
        wide = 2 if config.act == "glu" else 1
        self.gate = nn.Linear(config.d, wide * config.d)
        self.rows = nn.ModuleList(nn.Linear(config.d, width) for width in widths)
"""


def test_the_formula_of_a_call_becomes_the_budget_of_that_call(written, tmp_path):
    (tmp_path / "net.py").write_text(CALLED)
    calls = {
        "": "2*d*(d + 1)",
        "(Config())": "2*d*(d + 1)",
        "(Config(act='relu'))": "d*(d + 1)",
        "(Config(), 5, 6)": "d*(2*d + 13) + 11",
    }
    for call, form in calls.items():
        done, _ = written("formula", f"net.py::Net{call}", "--write")
        assert f": nparam{call}: {form}\n" in done.stderr
        done, _ = written("formula", f"net.py::Net{call}", "--write")
        assert f"net.py::Net{call} already has it" in done.stderr
    done, _ = written()
    assert "4 budgets hold" in done.stdout


DEFINED_TWICE = """
import torch.nn as nn

try:
    import not_there

    class Net(nn.Module):
        \"\"\"Not used.

        nparam: width*depth
        \"\"\"

        def __init__(self, width, depth):
            super().__init__()
except ImportError:
    class Net(nn.Module):
        \"\"\"Used.\"\"\"

        def __init__(self, width=3):
            super().__init__()
            self.a = nn.Linear(width, width, bias=False)
"""


def test_the_definition_in_use_gets_the_formula(written, tmp_path):
    (tmp_path / "net.py").write_text(DEFINED_TWICE)
    done, text = written("formula", "net.py::Net", "--write")
    used = '"""Used.\n\n        nparam: width**2\n        """'
    assert text == DEFINED_TWICE.replace('"""Used."""', used)
    assert f"net.py:{text[: text.index(used)].count(chr(10)) + 3}: nparam: " in done.stderr
    # One that is not used gets none.

    source = WRITTEN + "\n\nclass Other(Net):\n    pass\n\n\nNet = Other\n"
    (tmp_path / "net.py").write_text(source)
    done, text = written("formula", "net.py::Net", "--write", code=2)
    assert "net.py does not define Net itself; it is what net.py:12 defines" in done.stderr
    assert text == source
