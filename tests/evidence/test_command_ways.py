"""Commands in texts and shell scripts, and the ways that they are."""

from __future__ import annotations

import pytest
from sample_files import write_files
from test_calls import USE, ways

from nparam_lint.evidence.commands import Commands, is_to_fill_in

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
NOTHING = "for d in  ;do\npython train.py --h 1 --d $d\ndone\n"
FLAGS = "F='--d 1'\npython a.py $F\nF='--d 2'\npython b.py $F\n"
TWICE = "python train.py --d 1\npython train.py --d 2\n"
HANDS_ON = 'N=$1\nshift\npython3 -m torch.distributed.launch --nproc_per_node=$N train.py "$@"\n'
CALLS_IT = "CUDA_VISIBLE_DEVICES=0 ./runs.sh 8 /data \\\n  --d 4\nsh tools/runs.sh 8 --h 2\n"
ARRAYS = """
PY=${PY:-python3}
ARGS=(
  --d 3 --h 4
)
fit() {
  $PY train.py "${ARGS[@]}" "$@"
}
fit --k 5
"""
CASES = """
case $1 in
  a) D=1; H=2 ;;
  b) D=3; H=4 ;;
  *) exit 1 ;;
esac
python train.py --d $D --h $H
"""
MAKEFILE = """
PYTHON ?= python
ARGS := --d 3  # wide
fit:
\t$(PYTHON) train.py $(ARGS) --h 4
"""


@pytest.mark.parametrize(
    ("texts", "script", "expected"),
    [
        # A variable has the value that it was given last; one that is said once is for both.
        (
            {"README.md": README},
            "tools/fit.py",
            ["README.md:3 --d 2 --h 3 --data PATH", "README.md:9 --d 8 --h 9 --data PATH"],
        ),
        ({"README.md": README}, "train.py", ["README.md:4 --d=4 --small "]),
        (
            {"README.md": README},
            "scripts/old.py",
            ["README.md:5 --d 2 --h 3", "README.md:9 --d 8 --h 9"],
        ),
        # The script may stand in a line of its own; a command ends with its line.
        (
            {"README.md": "torchrun -n=2 \\\n  --n 8 \\\ntrain.py --d 4\npython\na.py --d 5\n"},
            "train.py",
            ["README.md:1 --d 4"],
        ),
        # It is run from where its shell script stands.
        (
            {"runs/a/b.sh": "python -W ignore ../../src/fit.py --d 4"},
            "src/fit.py",
            ["runs/a/b.sh:1 --d 4"],
        ),
        ({"README.md": "In python\ntrain.py --d 5\n"}, "train.py", []),
        # In a cell of a table.
        (
            {"README.md": "| big | `python train.py \\`<br>`--d 5 \\`<br>`--h=6` |\n"},
            "train.py",
            ["README.md:1 --d 5 --h=6"],
        ),
        # Flags that stand above a command are for that one; its script may lie in any folder.
        ({"README.md": FLAGS}, "a.py", ["README.md:2 --d 1"]),
        ({"README.md": FLAGS}, "folder/b.py", ["README.md:4 --d 2"]),
        # All of a shell script that the README names, then the first of each other one.
        (
            {
                "a.sh": "python train.py --d 1\npython train.py --d 2\n",
                "runs/b.sh": "python train.py --d 3\npython train.py --d 4\n",
                "README.md": "`bash ./runs/b.sh`\n",
            },
            "train.py",
            ["runs/b.sh:1 --d 3", "runs/b.sh:2 --d 4", "a.sh:1 --d 1", "a.sh:2 --d 2"],
        ),
        # A loop gives a command for each of its values; over nothing, none.
        (
            {"run.sh": LOOPS},
            "train.py",
            [f"run.sh:6 --d {d} --h {h} --name run_5" for d in (1, 2) for h in (3, 4)],
        ),
        ({"run.sh": NOTHING}, "train.py", ["run.sh:2 --h 1 --d"]),
        # Arrays, functions, branches and Makefiles; jobs of a cluster; a script that is called.
        ({"run.sh": ARRAYS}, "train.py", ["run.sh:9 --d 3 --h 4 --k 5"]),
        ({"run.sh": CASES}, "train.py", ["run.sh:7 --d 1 --h 2", "run.sh:7 --d 3 --h 4"]),
        ({"Makefile": MAKEFILE}, "train.py", ["Makefile:5 --d 3 --h 4"]),
        ({"a.sbatch": "srun python -u train.py --d 4\n"}, "train.py", ["a.sbatch:1 --d 4"]),
        ({"R.md": "./train.py --d 4\nsee ./train.py\n"}, "train.py", ["R.md:1 --d 4", "R.md:2 "]),
        (
            {"run.sh": "A=(--d 3  # deep\n --h 4)\nA+=(--k 5)\npython a.py ${A[@]}\n"},
            "a.py",
            ["run.sh:4 --d 3 --h 4 --k 5"],
        ),
        ({"run.sh": 'O="--d 3"\nO="$O --h 4"\npython a.py $O\n'}, "a.py", ["run.sh:3 --d 3 --h 4"]),
        (
            {"Makefile": "D = 3\nA = --d $(D)\nA += --h 4\nbig: D = 5\nbig:\n\tpython a.py $(A)\n"},
            "a.py",
            ["Makefile:6 --d … --h 4"],
        ),
        (
            {"run.sh": "for d in 1 2; do for h in 3 4; do\npython a.py --d $d --h $h\ndone\n"},
            "a.py",
            [f"run.sh:2 --d {d} --h {h}" for d in (1, 2) for h in (3, 4)],
        ),
        # What a variable is where nothing sets it, and where something does.
        (
            {"run.sh": 'd=${d:-1}\nh=4\npython a.py --d $d --h ${h:-2} --k "${k-3}" $more\n'},
            "a.py",
            ["run.sh:3 --d 1 --h 4 --k 3 $more"],
        ),
        # What a text says comes first, and then the first of each script.
        (
            {"a.sh": TWICE, "b.sh": TWICE.replace("--d", "--h"), "R.md": "python train.py --x"},
            "train.py",
            ["R.md:1 --x", "a.sh:1 --d 1", "b.sh:1 --h 1", "a.sh:2 --d 2", "b.sh:2 --h 2"],
        ),
        # Lines may end as on Windows.
        (
            {"run.sh": "python a.py \\\r\n  --d 2 \\\r\n  --h 3\r\n"},
            "a.py",
            ["run.sh:1 --d 2 --h 3"],
        ),
        # What is told of a line is none of it.
        (
            {"R.md": "python a.py \\ # for the paper; or so\n --d 2 \\  # wide\n --h 3 # deep\n"},
            "a.py",
            ["R.md:1 --d 2 --h 3"],
        ),
        # A place to fill in stands for each config file that fits, where these lie together; what
        # ends with nothing known is left as it is.
        (
            {
                "README.md": "python a.py --cfg runs/{NAME}_s.yaml --tag <x>\n"
                "python b.py --cfg <name>.yaml\npython c.py -c $X.yaml\n",
                "runs/a_s.yaml": "",
                "runs/b_s.yaml": "",
                "other/c.yaml": "",
            },
            "a.py",
            [
                "README.md:1 with runs/a_s.yaml --cfg runs/a_s.yaml --tag <x>",
                "README.md:1 with runs/b_s.yaml --cfg runs/b_s.yaml --tag <x>",
            ],
        ),
        (
            {"README.md": "python b.py --cfg=<n>.yaml\n", "runs/a.yaml": "", "runs/b.yaml": ""},
            "b.py",
            ["README.md:1 with a.yaml --cfg=a.yaml", "README.md:1 with b.yaml --cfg=b.yaml"],
        ),
        (
            {"README.md": "python b.py --cfg <n>.yaml\n", "a/a.yaml": "", "b/b.yaml": ""},
            "b.py",
            ["README.md:1 --cfg <n>.yaml"],
        ),
        # A name in capitals may mean each, those that the README names first.
        (
            {
                "README.md": "python b.py CONFIG.yaml\n`configs/b/y.yaml`\n",
                "configs/a/x.yaml": "",
                "configs/b/y.yaml": "",
                "data/z.yaml": "",
            },
            "b.py",
            [
                "README.md:1 with configs/b/y.yaml configs/b/y.yaml",
                "README.md:1 with configs/a/x.yaml configs/a/x.yaml",
            ],
        ),
        (
            {
                "README.md": "python b.py -c CONFIG_FILE -n NAME\n",
                "configs/x.yml": "",
                "configs/y.yml": "",
                "z.yml": "",
            },
            "b.py",
            [
                "README.md:1 with configs/x.yml -c configs/x.yml -n NAME",
                "README.md:1 with configs/y.yml -c configs/y.yml -n NAME",
            ],
        ),
        # That of a file stands for this one; directories apart are not looked into for a part.
        (
            {
                "README.md": "python b.py ./configs/BASE.yaml\npython b.py BASE.yaml\n"
                "python b.py {NAME}.yaml\n",
                "configs/BASE.yaml": "",
                "configs/other/x.yaml": "",
            },
            "b.py",
            [
                "README.md:1 ./configs/BASE.yaml",
                "README.md:2 BASE.yaml",
                "README.md:3 {NAME}.yaml",
            ],
        ),
        (
            {"README.md": "uv run b.py --d 3\npoetry run python b.py --d 4\n"},
            "b.py",
            ["README.md:1 --d 3", "README.md:2 --d 4"],
        ),
        (
            {"README.md": "python -m fit --d 3\npython -m pdb fit/__main__.py --d 4\n"},
            "fit/__main__.py",
            ["README.md:1 --d 3", "README.md:2 --d 4"],
        ),
        # A config in Python stands for those beside it, once.
        (
            {
                "README.md": "python a.py conf/x.py --d 1\npython a.py conf/x.py --d 2\n",
                **dict.fromkeys(("conf/x.py", "conf/y.py", "conf/_z.py", "conf/in/w.py"), ""),
            },
            "a.py",
            [
                "README.md:1 conf/x.py --d 1",
                "README.md:1 with conf/y.py conf/y.py --d 1",
                "README.md:2 conf/x.py --d 2",
            ],
        ),
        # Texts below the directory that commands are run in.
        (
            {
                "one/runs/a.sh": "python tools/fit.py --d 1\n",
                "two/runs/a.sh": "python tools/fit.py --d 2\n",
            },
            "two/tools/fit.py",
            ["two/runs/a.sh:1 --d 2"],
        ),
        # What is hidden is a tool's.
        (
            {
                "README.md": "python fit.py CONFIG_FILE\n",
                ".pre-commit-config.yaml": "",
                "config/a.yml": "",
            },
            "fit.py",
            ["README.md:1 with config/a.yml config/a.yml"],
        ),
        # A config beside the shell script, which is run there.
        (
            {
                "a/run.sh": "C=conf/x.yaml\npython fit.py --config $C --like ./conf/z.yaml\n",
                "a/conf/x.yaml": "",
                "conf/z.yaml": "",
            },
            "fit.py",
            ["a/run.sh:2 --config a/conf/x.yaml --like ./conf/z.yaml"],
        ),
        # Beside the text, or beside the checkout.
        (
            {
                "runs/a.md": "python fit.py --config <name>.yaml\n",
                "b.md": "python fit.py --config net/runs/x.yaml\n",
                "runs/x.yaml": "",
                "other/z.yaml": "",
            },
            "fit.py",
            [
                "runs/a.md:1 with runs/x.yaml --config runs/x.yaml",
                "b.md:1 --config runs/x.yaml",
            ],
        ),
        # A package installs a command; a variable holds one.
        (
            {
                "pyproject.toml": "[project.scripts]\nnet = 'net.cli:main'\nb = 'c.d:e'\n",
                "README.md": "net --d is a flag\n$ net fit --d 3\nnet is a tool\nb --d 4\n",
                "src/net/cli.py": "",
            },
            "src/net/cli.py",
            ["README.md:1 --d is a flag", "README.md:2 fit --d 3"],
        ),
        (
            {"a.sh": 'C="python a.py \\\n --d 1"\nC+=" --h 2"\nC="$C --w 3"\necho $C\neval "$C"\n'},
            "a.py",
            ["a.sh:6 --d 1 --h 2 --w 3"],
        ),
        # A shell script hands its arguments on.
        (
            {"runs.sh": HANDS_ON, "README.md": CALLS_IT},
            "train.py",
            ["README.md:1 8 /data --d 4", "README.md:3 8 --h 2", "runs.sh:3 $@"],
        ),
    ],
)
def test_the_commands_of_a_script(texts, script, expected):
    readme = texts.get("README.md", "").encode()
    modules = {path for path in texts if path.endswith(".py")}
    commands = Commands(list(texts), lambda path: texts.get(path, "").encode(), readme, modules).of(
        script
    )
    assert [f"{command.place} {' '.join(command.words)}" for command in commands] == expected


IMPORTS = f"import argparse, importlib\nimport net\n{USE}p = argparse.ArgumentParser()\n"
OPTIONS = "p.add_argument('--d', type=int, default=6)\np.add_argument('--h', type=int, default=1)\n"
CHOICES = """\
p.add_argument('--k', type=int, default=3, choices=[3, 5])
p.add_argument('--small', action='store_true')
p.add_argument('--seed', default=1, choices=[1, 2])
a = p.parse_args()
Net(a.k + a.seed, h=1 if a.small else 2)
"""
DOCOPT = '"""Usage: fit.py [--preset=P] [--lr=L]"""\nfrom docopt import docopt\n'
DOCOPT += f"{USE}a = docopt(__doc__)\nNet(int(a['--preset'] or 1))\n"
CLUSTER = "import argparse\nimport fit\np = argparse.ArgumentParser(parents=[fit.p])\n"
REQUIRED = "p.add_argument('-w', '--wide', type=int)\np.add_argument('--m', required=True)\n"
TASK = "p.add_argument('--task', default='dn')\na = p.parse_args()\n"
TASK += "if a.task == 'sr':\n    Net(a.d)\n"
ZOO = "from torch import nn\nclass Big(nn.Module):\n def __init__(self, d): ...\n"


@pytest.mark.parametrize(
    ("script", "others", "expected"),
    [
        # Each command that says what the model depends on; once, and without what it does not read.
        (
            f"{IMPORTS}{OPTIONS}p.add_argument('--lr')\na = p.parse_args()\nNet(a.d, h=a.h)\n",
            {"README.md": "python fit.py --d 2\npython fit.py --d 2 --lr 1\npython fit.py --lr 3"},
            {"": "", "['--d', '2']": "as in README.md:1"},
        ),
        # Of options that a model gets as a whole, those that it has arguments for.
        (
            f"{IMPORTS}{OPTIONS}p.add_argument('--lr')\na = p.parse_args()\nNet(**vars(a))\n",
            {
                "README.md": "python fit.py --lr 3\npython fit.py --d 2 --lr 3\n"
                "python fit.py --d 2 --lr 4\n"
            },
            {"": "", "['--d', '2', '--lr', '3']": "as in README.md:2"},
        ),
        # What a reader replaces is left to its default; a file may hold values of other options.
        (
            f"{IMPORTS}{OPTIONS}p.add_argument('--name', default='a')\n"
            "p.add_argument('--config', is_config_file=True)\n"
            "a = p.parse_args()\nNet(a.d, h=len(a.name))\n",
            {"README.md": "python fit.py --d 2 --name your_name\npython fit.py --config a.txt"},
            {
                "": "",
                "['--d', '2']": "as in README.md:1",
                "['--config', 'a.txt']": "as in README.md:2",
            },
        ),
        (
            f"{IMPORTS}{OPTIONS}a = p.parse_args()\nNet(a.d, h=a.h)\n",
            {"README.md": "python fit.py --h WIDTH --d 2"},
            {"": "", "['--d', '2']": "h by default, not as the command says; as in README.md:1"},
        ),
        # A command gives what has no default.
        (
            f"{IMPORTS}{REQUIRED}p.add_argument('--lr')\na = p.parse_args()\nNet(a.wide, h=a.m)\n",
            {"run.sh": "usage: fit.py --m M\nM=7\npython fit.py -w 2 \\\n --m $M --lr 1"},
            {"['-w', '2', '--m', '7']": "as in run.sh:3"},
        ),
        # So does one a config file that has no name; what is no file may be empty.
        (
            f"{IMPORTS}p.add_argument('--cfg', default='')\np.add_argument('--tag', default='')\n"
            "a = p.parse_args()\nNet(a.cfg)\nNet(a.tag)\n",
            {"README.md": "python fit.py --cfg a.yaml"},
            {"['--cfg', 'a.yaml']": "as in README.md:1", "": ""},
        ),
        (f"{IMPORTS}p.add_argument('--cfg', default='')\na = p.parse_args()\nNet(a.cfg)\n", {}, {}),
        # What an option offers, of those that the model is made of.
        (
            f"{IMPORTS}{CHOICES}",
            {},
            {"": "", "['--k', '5']": "with --k 5", "['--small']": "with --small"},
        ),
        # A function that returns the model, and is called with nothing, is told by commands alone.
        (
            f"{IMPORTS}{OPTIONS}\ndef main(argv=None):\n    a = p.parse_args(argv)\n"
            "    return Net(a.d)\n\nif __name__ == '__main__':\n    main()\n",
            {"README.md": "python fit.py --d 4\n"},
            {"": "", "['--d', '4']": "as in README.md:1"},
        ),
        # A script takes over the options of another.
        (
            f"{IMPORTS}{OPTIONS}a = p.parse_args()\nNet(a.d)\n",
            {
                "cluster.py": CLUSTER,
                "README.md": "python cluster.py --d 4\npython other.py --d 5\n",
            },
            {"": "", "['--d', '4']": "as in README.md:1"},
        ),
        # A script that reads its words itself gets them all: each command once for the model.
        *(
            (
                f"import sys\nfrom omegaconf import OmegaConf\nfrom words import get\n{USE}{read}",
                {
                    "words.py": "from omegaconf import OmegaConf\ndef get():\n"
                    "    return OmegaConf.from_cli().d\n",
                    "README.md": "python fit.py d=2\npython fit.py d=2 train.lr=3\n"
                    "python fit.py d=$D\npython fit.py d=4 path/to/data\n",
                },
                {
                    "['d=2']": "as in README.md:1",
                    "['d=4', 'path/to/data']": "as in README.md:4",
                },
            )
            for read in (
                "Net(OmegaConf.from_cli().d)\n",
                "Net(get())\n",
                "d = sys.argv[1]\nNet(d)\n",
            )
        ),
        # So does one whose globals a file changes, which has its defaults, too.
        (
            f"{USE}d = 3\nexec(open('configurator.py').read())\nNet(d)\n",
            {"README.md": "python fit.py --d=2\n"},
            {"['--d=2']": "as in README.md:1", "": ""},
        ),
        # Options of docopt are those that commands give.
        (
            DOCOPT,
            {"README.md": "python fit.py --preset=4 --lr=3\npython fit.py --lr=5\n"},
            {"": "", "['--preset=4', '--lr=3']": "as in README.md:1"},
        ),
        # A command for another branch is none for this one.
        (
            f"{IMPORTS}{OPTIONS}{TASK}",
            {"README.md": "python fit.py --task dn --d 2\npython fit.py --task sr --d 4\n"},
            {"": "", "['--d', '4']": "as in README.md:2"},
        ),
        # An option that names the model gives each in its way: the other one gets the options of
        # commands that name it, and of no others.
        *(
            (
                f"{IMPORTS}{OPTIONS}p.add_argument('--m', default='{default}')\n"
                f"a = p.parse_args()\nmodel = {looked_up}(a.d)\n",
                {
                    "README.md": f"python fit.py --m {other}\npython fit.py --m={other} --d 2\n"
                    "python fit.py --d 4\n",
                    "zoo/small.py": ZOO,
                    "zoo/large.py": ZOO,
                },
                {
                    "": "",
                    "['--d', '4']": "as in README.md:3",
                    f"['--m', '{other}']": f"with --m {other}",
                    f"['--m={other}', '--d', '2']": "as in README.md:2",
                },
            )
            for looked_up, default, other in (
                ("getattr(net, a.m)", "Net", "Big"),
                ("net.__dict__[a.m]", "Net", "Big"),
                ("getattr(net, f'{a.m}')", "Net", "Big"),
                ("importlib.import_module('zoo.' + a.m).Big", "small", "large"),
                ("importlib.import_module(f'zoo.{a.m}').Big", "small", "large"),
                ("importlib.import_module('zoo.{}'.format(a.m)).Big", "small", "large"),
            )
        ),
    ],
)
def test_the_ways_that_commands_are(tmp_path, script, others, expected):
    """The words of each, and its note."""
    write_files(tmp_path, others)
    setups = [(w.recipe.setup or "", w.way.words) for w in ways(tmp_path, {"fit.py": script})]
    found = [(text.partition("argv[1:] = ")[2].partition("\n")[0], note) for text, note in setups]
    assert found == [*expected.items()]


PARSER = """
import argparse
def prepare_parser():
    p = argparse.ArgumentParser()
    p.add_argument("--model", default="small")
    p.add_argument("--d", type=int, default=3)
    return p
"""
BY_MODULE = """
import tools
def run(config):
    model = __import__(config["model"])
    model.Gen(config["d"])
if __name__ == "__main__":
    run(vars(tools.prepare_parser().parse_args()))
"""
COMMANDS = "python fit.py --d 4\npython fit.py --model large --d 5\n"


def test_options_as_a_dictionary_name_the_module_of_a_model(tmp_path):
    net = "from torch import nn\nclass Gen(nn.Linear):\n    def __init__(self, d):\n        pass\n"
    sources = {"tools.py": PARSER, "small.py": net, "large.py": net, "fit.py": BY_MODULE}
    write_files(tmp_path, {"README.md": COMMANDS})
    found = {(way.target.location, way.way.words) for way in ways(tmp_path, sources)}
    assert found == {
        ("small.py", "with --model small"),
        ("small.py", "as in README.md:1"),
        ("large.py", "with --model large"),
        ("large.py", "as in README.md:2"),
    }


RECIPE = """
import yaml
from net import Net
with open("local/conf.yml") as file:
    conf = yaml.safe_load(file)
Net(conf["d"])
"""


def test_a_recipe_is_run_in_its_own_directory(tmp_path):
    texts = {"egs/b/local/conf.yml": "d: 3\n", "egs/a/run.sh": "python fit.py --h 2\n"}
    write_files(tmp_path, texts)
    (way,) = ways(tmp_path, {"egs/b/fit.py": RECIPE, "egs/a/fit.py": ""})
    assert "open('egs/b/local/conf.yml')" in str(way.recipe.setup)
    assert way.way.words == ""


def test_a_function_that_hands_options_on(tmp_path):
    """A command is a way where it gives what the last of the functions reads."""
    readme = "python fit.py --h 3\npython fit.py --d 2\n"
    write_files(tmp_path, {"README.md": readme})
    files = {
        "made.py": "from parts import part\ndef made(args):\n    return part(args)\n",
        "parts.py": "from net import Net\ndef part(args):\n    return Net(args.d)\n",
        "fit.py": f"{IMPORTS}{OPTIONS}from made import made\na = p.parse_args()\nmade(a)\n",
    }
    found = [w.way.words for w in ways(tmp_path, files) if w.way.position.path == "fit.py"]
    assert found == ["", "as in README.md:2"]


def test_the_command_of_a_package_is_that_of_what_its_main_calls(tmp_path):
    script = f"{IMPORTS}{OPTIONS}def main():\n    a = p.parse_args()\n    Net(a.d)\n"
    write_files(tmp_path, {"README.md": "python -m tool --d 2\n"})
    files = {"tool/cli.py": script, "tool/__main__.py": "from .cli import main\nmain()\n"}
    assert "as in README.md:1" in [way.way.words for way in ways(tmp_path, files)]


def test_an_exported_variable_is_one_of_each_command_after_it():
    text = "python a.py\nexport WIDTH=7\nDEPTH=2 python a.py\n"
    every = Commands(["run.sh"], lambda _: text.encode(), b"").of("a.py")
    assert [dict(command.environ) for command in every] == [{}, {"WIDTH": "7", "DEPTH": "2"}]


def test_a_command_does_not_reach_what_the_default_of_an_option_excludes(tmp_path):
    script = (
        f"{IMPORTS}{OPTIONS}p.add_argument('--kind', default='plain')\na = p.parse_args()\n"
        "if a.kind == 'big':\n    Net(a.d, 9)\nelse:\n    Net(a.d, 1)\n"
    )
    write_files(tmp_path, {"README.md": "python fit.py --d 2\npython fit.py --d 3 --kind big\n"})
    found = [(w.recipe.call, w.way.words) for w in ways(tmp_path, {"fit.py": script})]
    assert ("Net(a.d, 9)", "as in README.md:2") in found
    assert ("Net(a.d, 9)", "as in README.md:1") not in found
    assert ("Net(a.d, 1)", "as in README.md:1") in found


@pytest.mark.parametrize(
    ("word", "is_known"),
    [
        ("dims=[1,2]", True),
        ("act=['relu', tanh]", True),
        ("[3, 4]", True),
        ("data=[PATH]", False),
        ("[--small]", False),
        ("--size=<n>", False),
        ("data/{a,b}", False),
    ],
)
def test_a_list_is_no_value_to_fill_in(word, is_known):
    assert is_to_fill_in(word) is not is_known


def test_flags_of_absl_take_the_words_of_a_command(tmp_path):
    script = f"from absl import flags\n{USE}F = flags.FLAGS\nflags.DEFINE_integer('d', 3, '')\n"
    script += "Net(F.d)\n"
    (tmp_path / "README.md").write_text("python fit.py --d=7 --other=3\n")
    start = "__import__('absl.flags').flags.FLAGS"
    assert [way.recipe.setup for way in ways(tmp_path, {"fit.py": script})] == [
        f"{start}.mark_as_parsed()",
        "import sys\nsys.argv[1:] = ['--d=7', '--other=3']\n"
        f"{start}(sys.argv, known_only=True)\n{start}.mark_as_parsed()",
    ]


def test_the_option_that_names_a_model_decides_which_call_is_made(tmp_path):
    script = (
        f"{IMPORTS}{OPTIONS}p.add_argument('--m', default='Net')\na = p.parse_args()\n"
        "if 'ig' in a.m:\n    model = getattr(net, a.m)(a.d + 1)\n"
        "else:\n    model = getattr(net, a.m)(a.d)\n"
    )
    texts = {"fit.py": script, "README.md": "python fit.py --m Big\n"}
    calls = {way.target.callable: way.recipe.call for way in ways(tmp_path, texts)}
    assert calls["Big"] == "getattr(net, a.m)(a.d + 1)"
    assert calls["Net"] == "getattr(net, a.m)(a.d)"
