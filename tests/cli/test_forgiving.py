"""What is mistyped or cannot be asked, of every command: messages say what may have been meant, and
exit with 2. And the help."""

import json
import shlex

import pytest
from sample_repository import Sample

from nparam_lint.cli.main import COMMANDS
from nparam_lint.ground.rule_catalogue import RULES

MODELS = """\
from torch import nn


class Block(nn.Linear):
    def __init__(self, width):
        super().__init__(width, width)


class GPT(nn.Module):
    def __init__(self, n_layer=2, n_embd=8, d_ff=None):
        super().__init__()
        self.h = nn.ModuleList(Block(n_embd) for _ in range(n_layer))
        self.up = nn.Linear(n_embd, d_ff or 2 * n_embd)

    @classmethod
    def small(cls):
        return cls(1)


def any_width(**more):
    return Block(**more)
"""
GONE = "\n\ndef gone(width):\n    return Block(width)\n"
NET = MODELS[: MODELS.index("class GPT")].replace("Block", "Net")
CONFIG = 'device = "meta"\n[budgets]\n"nets.py::Block(3)[bytes]" = 48\n'
FILES = {
    "nets.py": MODELS + GONE,
    "zoo/new.py": NET,
    "zoo/old.py": NET,
    "nparam-lint.toml": CONFIG,
    "plain.py": "x = 1\n",
}
NOTES = "they stay"
ROWS = {
    "cells.csv": "n_layer\n1,2\n",
    "names.csv": "n_layer,n_layer\n1,2\n",
    "none.csv": "n_layer\n",
    "list.jsonl": '{"n_layer": 8}\n{"n_layer": [8]}\n',
    "open.jsonl": '{"n_layer": 8\n',
    "rows.txt": "",
    "column.csv": "layers\n8\n",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory, environ):
    """A repository of two commits, with a branch that has no commit in common with them."""
    sample = Sample.create(tmp_path_factory.mktemp("project") / "r", environ)
    sample.committed({"nparam-lint.toml": "tim = 3\n"})
    sample.git("tag", "v1")
    sample.committed(FILES)
    sample.git("switch", "--quiet", "--orphan", "other")
    sample.committed({"a.py": ""})
    sample.git("switch", "--quiet", "main")
    hydra = {"runs/0/.hydra/config.yaml": "model:\n  layers: 3\n", "empty/a.txt": ""}
    sample.write({"new.toml": "", "notes.csv": NOTES, "nets.py": MODELS, **ROWS, **hydra})
    return sample.path


ASKED = """
shwo
nest.py
nope/net.py
nets.py::GPT
init nest.py
init nparam-lint.toml
. ..
help shwo
list
explain
version
--format jsn
--depht=2
--device gpu --jobs 0
--tolerance 5
--config nope.toml
--static -o nope/report.txt
show
show nets.py
show nets.py::GPT[x]
show GPT --formt json
show GPT GPT
show GPT --color alway
show GPT --python nope/python
show Gtp
show Net
completion bahs
rule NPL999
claims nest.py
annotate gone.py
annotate .
annotate nparam-lint.toml
annotate nets.py::GPT[h]
annotate Nett
compare
compare none/nets.py::GPT
compare Nope
compare nets.py::GPT --timeout soon
compare nets.py::GPT --python nope/python
compare nets.py::GPT 'nets.py::Block(3)' --within 0.5
compare nets.py::GPT 'nets.py::Block(3)' --within near
compare nets.py::GPT --within 5%
formula nets.py::GPT --vary n_layers
formula nets.py::GPT --vary n-layer
formula 'nets.py::Block(3)[trainabel]'
formula nets.py::GPT[hh]
formula nets.py::GPT --vary d_ff
formula missing.py::GPT
formula nets.py
formula nets.py::GPT --symbols n_layer
formula nets.py::GPT --symbols n_layer=c,e=c
formula nets.py::GPT --symbols c=n_layer
formula nets.py::GPT --symbols n_layer=lambda --format python
formula nets.py::GPT --vary n_layer,d_ff=8 --symbols n_layer=c,d_ff=c
formula nets.py::GPT --vary n_layer,d_ff=8 --symbols n_layer=d_ff
formula nets.py::GPT --vary n_layer --write
formula nets.py::GPT[h.*] --write
formula 'torch.nn::PReLU(2)' --write
formula 'nets.py::nn.PReLU(2)' --write
solve nets.py::GPT
solve nets.py::GPT --budget 10M
solve --budget 10M --vary a
solve nets.py::GPT --budget lots --vary a
solve nets.py::GPT --budget=-5 --vary n_embd
solve nets.py::GPT --budget 0 --vary n_embd
solve nets.py::GPT --budget 1,000,000,0 --vary n_embd
solve nets.py::GPT --budget 1M, --vary a
solve nets.py::GPT --budget 1M --vary n_embd --number 0
solve nets.py::GPT[bytes] nets.py::Block --budget 1MB --vary n_embd
solve nets.py::GPT --budget 1M --vary a-b
solve nets.py::GPT --budget 1M --vary n_embd=8..4
solve nets.py::GPT --budget 1M --vary n_embd --where 4
solve nets.py::GPT --budget 1M --vary n_embd --where 'e > 310'
solve nets.py::GPT --budget 1M --vary n_embd,nlayer
solve nets.py::GPT --budget 1M --vary depth
sweep nets.py::GPT
sweep nets.py::GPT --vary n_layr=1,2
sweep nets.py::GPT --vary xyz=1
sweep nets.py::GPT --vary n_layer
sweep nets.py::GPT --vary n_layer=9..3
sweep nets.py::GPT --vary n_layer=1,n_layer=2
sweep nets.py::GPT --vary n_layer=8 --out rows.txt
sweep nets.py::GPT --vary n_layer=8 --out rows.csv --format jsonl
sweep nets.py::GPT --vary n_layer=8 --map a=b
sweep nets.py::GPT --vary n_layer=8 --from a.csv
sweep nets.py::GPT --vary n_layer=8 --out no/rows.csv
sweep nets.py::GPT --vary n_layer=8 --out notes.csv
sweep nets.py::GPT --from cells.csv
sweep nets.py::GPT --from names.csv
sweep nets.py::GPT --from none.csv
sweep nets.py::GPT --from list.jsonl
sweep nets.py::GPT --from open.jsonl
sweep nets.py::GPT --from rows.txt
sweep nets.py::GPT --from column.csv
sweep nets.py::GPT --hydra none
sweep nets.py::GPT --hydra empty
sweep nets.py::GPT --hydra runs --map n_layer=model.wide
sweep nets.py::GPT --hydra runs --map n_layer
sweep nets.py::GPT --hydra runs --map wide=model.layers
merge
--shard 1/2 --static
--costs x.json
--shard 1/2 --costs x.json
--shard 1/2 --costs plain.py
--shard=0/8
--shard=9/8
--shard=3
--shard=a/b
--shard=1/0
--shard=-1/3
--shard=1/3/4
--shard=
update nets.py::GTP
update nets.py::Block[byte]
update nats.py::Net
update nats.py
update plain.py
update torch::x
update nets.py::GPT[
update nets.py::GPT(
diff
diff nosuch
diff mian
diff HEAD~4
diff main..HEAD
diff main...v1
diff zoo
diff HEAD nope.py
diff HEAD nparam-lint.toml
diff HEAD /
diff HEAD --tolerance much
diff HEAD --format latex
diff HEAD --python nope/python
diff HEAD --staged --config new.toml
diff other...
diff v1
history nets.py::GTP
history 'nets.py::GPT(1, n=2)'
history gone.py::GPT
history 'torch.nn::Linear(2, 3)'
history nets.py::GPT --since nowhere
history nets.py::GPT --config nparam-lint.toml
"""


def test_what_cannot_be_asked(place, nparam_lint, transcript, expected):
    """Whoever reads JSON gets a document that says it, too."""
    for line in ASKED.strip().splitlines():
        if line.startswith("sweep") or "--format" in line or line == ". ..":
            continue  # of a second project nothing is said to programs
        done = nparam_lint(*shlex.split(line), cwd=place, NPARAM_LINT_FORMAT="json")
        document = json.loads(done.stdout)
        assert done.stderr == f"nparam-lint: {document['error']}\n"
        assert not [value for value in document.values() if isinstance(value, list) and value]
    said = transcript(ASKED)
    assert all(name.endswith(" [2]") for name in said)
    assert all(text.startswith("nparam-lint: ") for text in said.values())  # and nothing before
    assert (place / "notes.csv").read_text() == NOTES
    expected(said)


NO_CLASS = "nets.py has no 'GTP'; did you mean GPT?\nnets.py defines Block, GPT, any_width"
TARGETS = {
    "nets.py::GTP": NO_CLASS,
    "nets.py::GPT.smal()": "nets.GPT has no 'smal'; did you mean small?",
    "nets.py::GPT(n_layers=12)": "GPT has no argument n_layers; did you mean n_layer?",
    "nest.py::GTP": "there is no file nest.py; did you mean nets.py?",
    "nest.py::GPT": "there is no file nest.py; did you mean nets.py::GPT?",
}


@pytest.mark.parametrize(
    "command",
    ["show", "annotate", "compare nets.py::GPT", "formula", "solve --budget 1k --vary n_embd"],
)
def test_a_target_that_is_not_there(answered, command):
    for target, said in TARGETS.items():
        done = answered(*command.split(), target, code=2)
        assert (done.stdout, done.stderr) == ("", f"nparam-lint: {said}\n")


def test_what_is_asked_of_a_model_that_is_another_or_gone(answered):
    done = answered("show", "nets.py::any_width(widht=3)", code=1)
    assert "any_width(widht=3) raised TypeError" in done.stdout
    assert "base" in answered("history", "nets.py::gone(width=2)").stdout  # its commit's subject


@pytest.mark.parametrize("command", [[], ["show"]])
def test_help(answered, command):
    assert answered("help", *command).stdout == answered(*command, "--help").stdout


def test_help_is_one_screen(answered):
    lines = answered("--help").stdout.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert all(any(name in line for line in lines) for name in COMMANDS if name != "check")


@pytest.mark.parametrize(("width", "least"), [("80", 70), ("120", 100)])
def test_help_and_lists_are_as_wide_as_the_terminal(answered, width, least):
    asked = [("help", name) for name in COMMANDS]
    asked += [("rule",), *(("rule", code) for code in RULES)]
    widest = [max(map(len, answered(*words, COLUMNS=width).stdout.splitlines())) for words in asked]
    assert max(widest) <= int(width), dict(zip(asked, widest, strict=True))
    assert max(widest) >= least


def test_options_may_stand_before_the_command(answered):
    done = answered("--format", "json", "show", "GPT", "--device", "meta")
    assert '"call": "GPT()"' in done.stdout.replace('":"', '": "')


def test_a_short_name_for_the_file(answered, place):
    said = answered("show", "GPT", "-o", "short.txt").stdout
    assert (said, "GPT()" in (place / "short.txt").read_text()) == ("", True)
    answered("show", "nets.py::GTP", "--format", "json", "-o", "short.json", code=2)
    assert json.loads((place / "short.json").read_text())["error"].startswith(NO_CLASS)
