"""Commands in texts and shell scripts, and the ways that they are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from sample_files import write_files
from test_calls import USE, ways

from nparam_lint.evidence.commands import Commands

README = """
    MODEL="--d 2 --h 3"
    python -m tools.fit $MODEL --data PATH
    torchrun --nproc_per_node=8 train.py --d=4 --small '' # as in the paper
    python scripts/old.py $MODEL

and for the large one

    MODEL="--d 8 --h 9"
"""
LOOPS = """
width=5
for d in 1 2; do
for h in 3 4
do
  python train.py \\
    --d $d --h $h --name run_$width
done; done
"""
OPTIONS = (
    "p.add_argument('--d', type=int, default={})\np.add_argument('--h', type=int, default=1)\n"
)
PARSER = "import argparse\np = argparse.ArgumentParser()\n" + OPTIONS.format(6)


def words(script, **texts):
    names = {f"{name}.{'md' if name == 'README' else 'sh'}": text for name, text in texts.items()}
    commands = Commands(list(names), lambda path: names[path].encode())
    return [(" ".join(command.words), command.place) for command in commands.of(script)]


def test_a_variable_has_the_value_that_it_was_given_last():
    assert words("tools/fit.py", README=README) == [
        ("--d 2 --h 3 --data PATH", "README.md:3"),
        ("--d 8 --h 9 --data PATH", "README.md:9"),  # said once, for both
    ]
    assert words("train.py", README=README) == [("--d=4 --small ", "README.md:4")]
    assert words("scripts/old.py", README=README)[-1] == ("--d 8 --h 9", "README.md:9")


def test_flags_that_stand_above_a_command_are_for_that_one():
    text = "F='--d 1'\npython a.py $F\nF='--d 2'\npython b.py $F\n"
    assert words("a.py", README=text) == [("--d 1", "README.md:2")]
    assert words("folder/b.py", README=text) == [("--d 2", "README.md:4")]


def test_a_loop_gives_a_command_for_each_of_its_values():
    told = [text for text, _ in words("train.py", run=LOOPS)]
    assert told == [f"--d {d} --h {h} --name run_5" for d in (1, 2) for h in (3, 4)]


def test_a_loop_over_nothing_gives_nothing():
    text = "for d in  ;do\npython train.py --h 1 --d $d\ndone\n"
    assert words("train.py", run=text) == [("--h 1 --d", "run.sh:2")]


def test_what_a_text_says_comes_first_and_then_the_first_of_each_script():
    text = "python train.py --d 1\npython train.py --d 2\n"
    told = words("train.py", a=text, b=text.replace("--d", "--h"), README="python train.py --x")
    assert [line for line, _ in told] == ["--x", "--d 1", "--h 1", "--d 2", "--h 2"]


def test_lines_may_end_as_on_windows():
    text = "python a.py \\\r\n  --d 2 \\\r\n  --h 3\r\n"
    assert words("a.py", run=text) == [("--d 2 --h 3", "run.sh:1")]


def test_a_shell_script_hands_its_arguments_on():
    runs = 'N=$1\nshift\npython3 -m torch.distributed.launch --nproc_per_node=$N train.py "$@"\n'
    text = "CUDA_VISIBLE_DEVICES=0 ./runs.sh 8 /data \\\n  --d 4\nsh tools/runs.sh 8 --h 2\n"
    assert words("train.py", runs=runs, README=text)[:2] == [
        ("8 /data --d 4", "README.md:1"),
        ("8 --h 2", "README.md:3"),
    ]


def test_a_script_takes_over_the_options_of_another(tmp_path):
    script = f"{USE}{PARSER}a = p.parse_args()\nNet(a.d)\n"
    cluster = "import argparse\nimport fit\np = argparse.ArgumentParser(parents=[fit.p])\n"
    readme = "python cluster.py --d 4\npython other.py --d 5\n"
    assert found(tmp_path, script, readme, others={"cluster.py": cluster}) == [
        ("", ""),
        ("['--d', '4']", "as in README.md:1"),
    ]


def test_options_of_docopt_are_those_that_commands_give(tmp_path):
    script = f'"""Usage: fit.py [--preset=P] [--lr=L]"""\nfrom docopt import docopt\n{USE}'
    script += "a = docopt(__doc__)\nNet(int(a['--preset'] or 1))\n"
    readme = "python fit.py --preset=4 --lr=3\npython fit.py --lr=5\n"
    assert found(tmp_path, script, readme) == [
        ("", ""),
        ("['--preset=4', '--lr=3']", "as in README.md:1"),
    ]


def found(
    root: Path, script: str, readme: str = "", others: Mapping[str, str] | None = None
) -> list[tuple[str, str]]:
    """The words of the command of each way, and its note."""
    (root / "README.md").write_text(readme)
    sources = {"fit.py": script, **(others or {})}
    setups = ((way.recipe.setup or "", way.way.note) for way in ways(root, sources))
    return [(text.partition("argv[1:] = ")[2].partition("\n")[0], note) for text, note in setups]


def test_each_command_that_says_what_the_model_depends_on_is_a_way(tmp_path):
    script = f"{USE}{PARSER}p.add_argument('--lr')\na = p.parse_args()\nNet(a.d, h=a.h)\n"
    readme = "".join(f"python fit.py {line}\n" for line in ("--d 2", "--d 2 --lr 1", "--lr 3"))
    assert found(tmp_path, script, readme) == [
        ("", ""),
        ("['--d', '2']", "as in README.md:1"),  # once, and without what it does not read
    ]


def test_options_that_a_model_gets_as_a_whole_are_those_that_it_has_arguments_for(tmp_path):
    script = f"{USE}{PARSER}p.add_argument('--lr')\na = p.parse_args()\nNet(**vars(a))\n"
    readme = "python fit.py --lr 3\npython fit.py --d 2 --lr 3\npython fit.py --d 2 --lr 4\n"
    assert found(tmp_path, script, readme) == [
        ("", ""),
        ("['--d', '2', '--lr', '3']", "as in README.md:2"),
    ]


def test_what_an_option_offers_is_a_way(tmp_path):
    script = f"{USE}{PARSER}p.add_argument('--k', type=int, default=3, choices=[3, 5])\n"
    script += "p.add_argument('--small', action='store_true')\n"
    script += "p.add_argument('--seed', default=1, choices=[1, 2])\na = p.parse_args()\n"
    script += "Net(a.k + a.seed, h=1 if a.small else 2)\n"
    assert found(tmp_path, script) == [
        ("", ""),
        ("['--k', '5']", "with --k 5"),
        ("['--small']", "with --small"),
    ]


@pytest.mark.parametrize(
    ("looked_up", "default", "other"),
    [
        ("getattr(net, a.m)", "Net", "Big"),
        ("net.__dict__[a.m]", "Net", "Big"),
        ("getattr(net, f'{a.m}')", "Net", "Big"),
        ("importlib.import_module('zoo.' + a.m).Big", "small", "large"),
        ("importlib.import_module(f'zoo.{a.m}').Big", "small", "large"),
    ],
)
def test_an_option_that_names_the_model_gives_each_in_its_way(tmp_path, looked_up, default, other):
    """The other one gets the options of commands that name it, and of no others."""
    zoo = "from torch import nn\nclass Big(nn.Module):\n def __init__(self, d): ...\n"
    write_files(tmp_path, {"zoo/small.py": zoo, "zoo/large.py": zoo})
    script = f"import importlib\nimport net\n{USE}{PARSER}"
    script += f"p.add_argument('--m', default='{default}')\na = p.parse_args()\n"
    script += f"model = {looked_up}(a.d)\n"
    readme = f"python fit.py --m {other}\npython fit.py --m={other} --d 2\npython fit.py --d 4\n"
    assert found(tmp_path, script, readme) == [
        ("", ""),
        ("['--d', '4']", "as in README.md:3"),
        (f"['--m', '{other}']", f"with --m {other}"),
        (f"['--m={other}', '--d', '2']", "as in README.md:2"),
    ]


def test_a_command_for_another_branch_is_none_for_this_one(tmp_path):
    script = f"{USE}{PARSER}p.add_argument('--task', default='dn')\na = p.parse_args()\n"
    script += "if a.task == 'sr':\n    Net(a.d)\nelse:\n    Net(3, h=a.h)\n"
    readme = "python fit.py --task dn --d 2\npython fit.py --task sr --d 4\n"
    told = found(tmp_path, script, readme)
    assert ("['--d', '4']", "as in README.md:2") in told
    assert "['--d', '2']" not in dict(told)


def test_flags_of_absl_take_the_words_of_a_command(tmp_path):
    script = f"from absl import flags\n{USE}F = flags.FLAGS\nflags.DEFINE_integer('d', 3, '')\n"
    script += "Net(F.d)\n"
    (tmp_path / "README.md").write_text("python fit.py --d=7 --other=3\n")
    start = "__import__('absl.flags').flags.FLAGS"
    assert [way.recipe.setup for way in ways(tmp_path, {"fit.py": script})] == [
        f"{start}.mark_as_parsed()",
        f"{start}['d'].parse('7')\n{start}.mark_as_parsed()",
    ]
