"""The catalogue of findings: what each code means, shown by example, and what to do about it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nparam_lint.records import Severity


@dataclass(frozen=True, slots=True)
class Rule:
    """`enabled`: reported unless it is ignored; a rule that is off must be selected."""

    code: str
    name: str
    severity: Severity
    summary: str
    explanation: str
    example_bad: str
    example_good: str
    remedy: str
    enabled: bool = True


class UnknownRule(ValueError):
    """No rule has this code or name; the message says which one is near."""


_ALL = (
    Rule(
        "NPL001",
        "count-outside-budget",
        "error",
        "The model's parameter count is outside its declared budget.",
        """\
The model was built and counted, every distinct parameter once (tied weights
count once). The count is not what its budget allows. A plain integer is exact;
a number with a suffix (`86.6M`) is right to the digit written; `± 2%`, `<= 25k`
and `1M..2M` say their own bounds. The finding gives the exact difference and
the modules that are the heaviest.""",
        '''\
class Net(nn.Module):
    """A small classifier.

    nparam: 50_890
    """
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(784, 128)  # 100_480
        self.out = nn.Linear(128, 10)      #   1_290''',
        '''\
class Net(nn.Module):
    """A small classifier.

    nparam: 101_770
    """
    # … the same layers''',
        "If the change is meant, `nparam-lint update` writes today's count; "
        "if not, `nparam-lint diff HEAD` shows which module changed.",
    ),
    Rule(
        "NPL002",
        "malformed-budget",
        "error",
        "A budget cannot be read, or its formula uses an unknown name.",
        """\
A line that starts with `nparam` is always taken for a budget: one that cannot
be read is reported at its line and column and is never skipped. A formula may
use constructor arguments, fields of a config argument, integer attributes of
the built module, and `min max abs ceil floor`. A declared `experts_per_token`
that does not fit the model is reported in the same way.""",
        """\
nparam: about a million
nparam: hidden_sise * 10""",
        """\
nparam: ~1M
nparam: hidden_size * 10""",
        "Write a number (`124_475_904`, `86.6M ± 1%`, `<= 25k`) or a formula over the "
        "constructor's arguments.",
    ),
    Rule(
        "NPL003",
        "cannot-import",
        "error",
        "The file that defines the model cannot be imported.",
        """\
To count a model, its file is imported by the project's own Python interpreter.
That failed: a package is missing there, the file has an error, or another
interpreter than the one you meant was chosen. A declared model that cannot be
counted is an error, never a pass.""",
        "import einops  # not installed in the interpreter that nparam-lint found",
        "$ .venv/bin/pip install einops   # or: nparam-lint --python path/to/python",
        "`nparam-lint doctor` says which interpreter was chosen, and why.",
    ),
    Rule(
        "NPL004",
        "cannot-build",
        "error",
        "The model cannot be built: its constructor failed or needs arguments.",
        """\
The class or factory was called and raised an exception, or it has required
arguments that no budget gives. Say in the budget how it is to be called, or
once for all its budgets in the configuration.""",
        '''\
class Net(nn.Module):
    """nparam: 101_770"""
    def __init__(self, width):  # nobody says how wide''',
        '''\
class Net(nn.Module):
    """nparam(width=128): 101_770"""

# or in pyproject.toml:
[tool.nparam-lint.arguments]
"net.py::Net" = "width=128"''',
        "Give the arguments: `nparam(width=128): …` in the docstring, or under "
        "`[tool.nparam-lint.arguments]`.",
    ),
    Rule(
        "NPL005",
        "worker-died",
        "error",
        "The process that built the model died, or ran out of time or memory.",
        """\
Models are built in a separate process with a time and a memory limit. It ended
without an answer: the code called `exit`, crashed, looped, or needed more than
the limits allow. Only this model is lost; the others were counted.""",
        """\
def __init__(self):
    super().__init__()
    if not torch.cuda.is_available():
        sys.exit("needs a GPU")""",
        """\
def __init__(self):
    super().__init__()
    # … build the layers; look for the GPU where it is used""",
        "If the model is only slow or large, raise `timeout` (seconds) or the memory limit.",
    ),
    Rule(
        "NPL006",
        "devices-disagree",
        "error",
        "The model has different parameters on different devices.",
        """\
The model was built without memory (on the meta device) and again on a real
device. Name, shape or type of some parameter differs, so that the architecture
depends on where it is built: a count of one is no claim about the other.""",
        "width = 256 if torch.cuda.is_available() else 64\nself.fc = nn.Linear(10, width)",
        "def __init__(self, width=256):\n    self.fc = nn.Linear(10, width)",
        "Make the choice an argument, and declare a budget for each of its values.",
    ),
    Rule(
        "NPL007",
        "selector-matches-nothing",
        "error",
        "A budget's selector matches no module of the model.",
        """\
`nparam[encoder]` holds for the submodule `encoder`, `nparam[blocks.*]` for each
module that the pattern matches. Nothing matches, because a module was renamed
or the selector is mistyped, so the budget would check nothing.""",
        "nparam[transformer.layers.*]: 7_087_872  # they are called transformer.h",
        "nparam[transformer.h.*]: 7_087_872",
        "`nparam-lint show TARGET` lists the module paths.",
    ),
    Rule(
        "NPL008",
        "stale-budget",
        "error",
        "A budget is declared for something that no longer exists.",
        """\
The configuration names a file, class or function that is gone. A budget whose
target was renamed or deleted is an error; otherwise it would pass for ever
without checking anything.""",
        '[tool.nparam-lint.budgets]\n"models/net.py::OldNet" = 101_770',
        '[tool.nparam-lint.budgets]\n"models/net.py::Net" = 101_770',
        "Correct the target, or delete the budget.",
    ),
    Rule(
        "NPL009",
        "uninitialised-lazy-parameters",
        "error",
        "The model has lazy parameters, whose shapes are not known until it has run.",
        """\
`nn.LazyLinear` and its like take their input size from the first batch. Until
then the model has no parameter count, and PyTorch reports none for them.""",
        "self.fc = nn.LazyLinear(10)",
        "self.fc = nn.Linear(128, 10)",
        "Give the input size to the layer, or declare an input for the model.",
    ),
    Rule(
        "NPL010",
        "unregistered-parameters",
        "warning",
        "The model keeps parameters where PyTorch does not see them.",
        """\
Modules and parameters in a plain list, tuple or dict are not registered:
`parameters()` leaves them out, so that no optimiser trains them, `.to()` does
not move them, `state_dict()` does not save them, and no count includes them.""",
        "self.blocks = [nn.Linear(64, 64) for _ in range(4)]  # 16_640, unseen",
        "self.blocks = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))",
        "Use `nn.ModuleList`, `nn.ModuleDict`, `nn.ParameterList` or `nn.ParameterDict`.",
    ),
    Rule(
        "NPL011",
        "formula-wrong-elsewhere",
        "error",
        "A formula gives the right count for these arguments, but not for others.",
        """\
A formula claims to hold for every size. The model was built with other values
of its arguments too, and there the formula is wrong: a term is missing, or
stands for a number that only happens to be equal here.""",
        '''\
class Net(nn.Module):
    """nparam: 784*width + width + 1290"""  # right for width=128 alone
    def __init__(self, width=128):
        super().__init__()
        self.hidden = nn.Linear(784, width)
        self.out = nn.Linear(width, 10)''',
        '"""nparam: 784*width + width + 10*width + 10"""',
        "`nparam-lint formula TARGET` derives a form that holds, and verifies it.",
    ),
    Rule(
        "NPL012",
        "no-budget",
        "warning",
        "A model has no budget.",
        """\
Off by default. Select it where every model of a repository is to have a
declared count, so that none can grow unnoticed.""",
        'class Net(nn.Module):\n    """A small classifier."""',
        'class Net(nn.Module):\n    """A small classifier.\n\n    nparam: 101_770\n    """',
        "`nparam-lint init` writes a budget for every model that has none.",
        enabled=False,
    ),
    Rule(
        "NPL013",
        "wrong-claim-in-prose",
        "warning",
        "A parameter count that a docstring mentions is wrong.",
        """\
Sentences like "a ~2K-parameter autoencoder" or "Params: 27M" are claims too.
They are checked when the model can be built, to the digits that they give.""",
        'class Net(nn.Module):\n    """A classifier with ~50K parameters."""  # it has 101_770',
        'class Net(nn.Module):\n    """A classifier with ~102K parameters."""',
        "Correct the sentence, or make it a budget: a line `nparam: …` with the exact count.",
    ),
    Rule(
        "NPL014",
        "unexplained-drift",
        "error",
        "A count changed since the base revision, and no budget says so.",
        """\
Reported by `nparam-lint diff REV --tolerance …` alone. The model has another
count than at the base revision, by more than the tolerance, and none of its
budgets was changed on the way: nobody said that the change is meant. A budget
that was changed and that holds explains the drift.""",
        '''\
class Net(nn.Module):
    """A small classifier."""  # no budget, and one layer more than at main''',
        '''\
class Net(nn.Module):
    """A small classifier.

    nparam: 118_282
    """''',
        "If the change is meant, declare it: `nparam-lint init` or `nparam-lint update` writes "
        "today's count.",
    ),
    Rule(
        "NPL015",
        "unused-suppression",
        "warning",
        "A comment ignores a finding that is not there.",
        """\
`# nparam: ignore[NPL010]` silences that finding on its line. Nothing of that
code was found there: what it was written for has been mended, or the code is
mistyped. Left behind, it would silence the next fault.""",
        "self.fc = nn.Linear(64, 10)  # nparam: ignore[NPL010]",
        "self.fc = nn.Linear(64, 10)",
        "Delete the comment.",
    ),
    Rule(
        "NPL101",
        "plain-container",
        "warning",
        "Submodules or parameters are kept in a plain list, dict, tuple or set.",
        """\
Found in the source, without building anything. PyTorch registers what is
assigned to an attribute and does not look into containers: `parameters()`
leaves the content out, so that no optimiser trains it, `state_dict()` does not
save it, `.to()` does not move it. NPL010 says the same of the built model, with
the count. Silent where something may register the content after all.""",
        "self.blocks = [nn.Linear(64, 64) for _ in range(4)]",
        "self.blocks = nn.ModuleList(nn.Linear(64, 64) for _ in range(4))",
        "Use `nn.ModuleList`, `nn.ModuleDict`, `nn.ParameterList` or `nn.ParameterDict`.",
    ),
    Rule(
        "NPL102",
        "made-in-forward",
        "warning",
        "A layer or parameter is created in `forward` and forgotten.",
        """\
Found in the source, without building anything. What `forward` creates is new at
every call: random weights that no optimiser has seen and that no count
includes. Silent about layers without parameters (`nn.ReLU()`), about what is
kept or registered, and about layers whose weights are set before their use.""",
        """\
def forward(self, x):
    return nn.Linear(64, 10)(x)""",
        """\
def __init__(self):
    super().__init__()
    self.out = nn.Linear(64, 10)

def forward(self, x):
    return self.out(x)""",
        "Create it in `__init__`, or use the function (`F.layer_norm`) where no weights are meant.",
    ),
    Rule(
        "NPL103",
        "super-init",
        "error",
        "`super().__init__()` is missing, or comes too late.",
        """\
Found in the source, without building anything. `nn.Module.__init__` makes the
tables in which modules and parameters are registered. Assigning one before it
raises AttributeError; without it the first call of the model does. Plain values
may be assigned before. Silent where something that is called may call it.""",
        """\
class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(784, 10)
        super().__init__()""",
        """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(784, 10)""",
        "Call `super().__init__()` first.",
    ),
    Rule(
        "NPL104",
        "tensor-for-parameter",
        "warning",
        "A tensor with `requires_grad=True` stands where a parameter is meant.",
        """\
Found in the source, without building anything. Only an `nn.Parameter` is
registered when it is assigned to a module. A plain tensor gets gradients, but
`parameters()` leaves it out, so that it is never updated, moved or saved.
Silent where it is wrapped, registered or given to an optimiser later.""",
        "self.scale = torch.ones(64, requires_grad=True)",
        "self.scale = nn.Parameter(torch.ones(64))",
        "Wrap it in `nn.Parameter`; what must not be trained is a buffer.",
    ),
    Rule(
        "NPL105",
        "unknown-argument",
        "error",
        "A budget gives an argument that the constructor does not have.",
        """\
Found in the source, without building anything. `nparam(depth=24): …` says how
the model is to be built. The constructor, or the config class in the same file,
has no such argument, so that the call fails and the count is never checked.
Silent where it takes `**kwargs` or stands in another file.""",
        '''\
class ViT(nn.Module):
    """nparam(detph=24): 304M"""
    def __init__(self, depth=12):''',
        '''\
class ViT(nn.Module):
    """nparam(depth=24): 304M"""
    def __init__(self, depth=12):''',
        "Correct the name, or delete the budget.",
    ),
    Rule(
        "NPL106",
        "prose-disagrees",
        "warning",
        "A docstring's prose and its budget say different counts.",
        """\
Found in the source, without building anything. The sentence and the budget
speak of the same count, and no number satisfies both: one of them is wrong,
whatever the model has. Rounded counts agree with the exact one.""",
        '''\
class ViT(nn.Module):
    """A vision transformer with 86M params.

    nparam: 43_283_904
    """''',
        '''\
class ViT(nn.Module):
    """A vision transformer with 86M params.

    nparam: 86_567_656
    """''',
        "Correct the sentence, or leave the number to the budget.",
    ),
)

RULES: dict[str, Rule] = {rule.code: rule for rule in _ALL}


def explain(code: str) -> str:
    """The page of one rule, found by its code or name. Raises UnknownRule."""
    rule = _find(code)
    state = rule.severity if rule.enabled else f"{rule.severity}, off by default"
    return "\n".join(
        [
            f"{rule.code}  {rule.name}  ({state})",
            "",
            rule.summary,
            "",
            rule.explanation,
            "",
            "Reported:",
            "",
            indent(rule.example_bad, "    "),
            "",
            "Better:",
            "",
            indent(rule.example_good, "    "),
            "",
            f"What to do: {rule.remedy}",
            "",
        ]
    )


def _find(code: str) -> Rule:
    names = {rule.name: rule for rule in _ALL}
    wanted = code.strip()
    found = RULES.get(wanted.upper()) or names.get(wanted.lower())
    if found is not None:
        return found
    near = difflib.get_close_matches(wanted.upper(), RULES, n=1) or difflib.get_close_matches(
        wanted.lower(), names, n=1
    )
    hint = f"did you mean {near[0]}?" if near else f"there are {_ALL[0].code} to {_ALL[-1].code}"
    raise UnknownRule(f"no rule {wanted!r}; {hint}")
