"""A budget is about the class or function in whose docstring it stands: Python must use that."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

from nparam_lint.config.session import open_session
from nparam_lint.gate import check

PARTS = """
import functools

from torch import nn


class Wide(nn.Linear):
    def __init__(self, more=0):
        super().__init__(10, 20 + more)


class Narrow(nn.Linear):
    def __init__(self):
        super().__init__(10, 10)


class Net(Narrow):
    pass


def wrapped(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)

    return call


def bare(function):
    def call(*args):
        return function(*args)

    return call


def heir(cls):
    class Heir(cls):
        pass

    return Heir


def twin(cls):
    return type(cls)(cls.__name__, cls.__bases__, dict(vars(cls)))


def named(name):
    return lambda made: made


class Registry:
    known = {}

    def __init__(self, made):
        self.made = made

    def __call__(self, *args):
        return self.made(*args)


def first(cls):
    return Registry.known.setdefault(cls.__qualname__, cls)


def make(width):
    class Net(nn.Linear):
        def __init__(self):
            super().__init__(10, width)

    return Net


def patch(module):
    module.Net = Narrow
"""
HEAD = """import functools, sys, typing
import torch
from torch import nn
import parts
from parts import Narrow, Wide
"""
# The source of each file after HEAD: "# used" stands behind what Python uses for a definition with
# "# stale", whose budget is not held against that. Without one, all budgets hold.
CASES = {
    "if_else_dead_is_the_only_one": """
        if sys.version_info > (3,):
            class Net(Wide):  # used
                pass
        else:
            class Net(Narrow):  # stale
                "nparam: 220"
    """,
    "elif": """
        if sys.version_info < (3,):
            def net():  # stale
                "nparam: 110"
                return Narrow()
        elif sys.version_info < (4,):
            def net():  # used
                "nparam: 220"
                return Wide()
        else:
            def net():  # stale
                "nparam: 220"
                return Wide()
    """,
    "except_import_error": """
        try:
            import not_there
            class Net(Narrow):  # stale
                "nparam: 110"
        except ImportError:
            class Net(Wide):  # used
                "nparam: 220"
    """,
    "except_around_an_import": """
        try:
            from parts import Net  # used: parts.py:17
        except ImportError:
            class Net(Wide):  # stale
                "nparam: 110"
    """,
    "else_of_try": """
        try:
            import functools
        except ImportError:
            class Net(Wide):  # stale
                "nparam: 220"
        else:
            class Net(Wide):  # used
                "nparam: 220"
    """,
    "rebound_to_an_heir": """
        class Net(Narrow):  # stale
            "nparam: 110"
        class Big(Net):  # used
            more = nn.Linear
        Net = Big
    """,
    "rebound_to_a_lambda": """
        def net():  # stale
            "nparam: 110"
            return Wide()
        net = lambda: Narrow()  # used
    """,
    "rebound_to_torch": """
        class Net(Wide):  # stale
            "nparam: 0"
        Net = nn.Identity  # used: torch
    """,
    "defined_again": """
        class Net(Narrow):  # stale
            "nparam: 110"
        class Net(Wide):  # used
            "nparam: 220"
    """,
    "defined_again_as_an_heir": """
        class Net(Narrow):  # stale
            "nparam: 110"
        class Net(Net):  # used
            pass
    """,
    "in_the_constructor": """
        class Net(Narrow):  # stale
            def __init__(self):
                "nparam: 220"
                super().__init__()
        class Net(Wide):  # used
            def __init__(self):
                "nparam: 220"
                super().__init__()
    """,
    "inside_of_a_class": """
        class Outer:
            if sys.version_info > (3,):
                class Net(Wide):  # used
                    "nparam: 220"
            else:
                class Net(Wide):  # stale
                    "nparam: 220"
    """,
    "decorated_and_defined_again": """
        @parts.named("net")
        class Net(Narrow):  # stale
            "nparam: 220"
        @parts.named("net")
        class Net(Wide):  # used
            "nparam: 220"
    """,
    "decorated_and_rebound": """
        @parts.heir
        class Net(Wide):  # stale
            "nparam: 110"
        Net = Narrow  # used: parts.py:12
    """,
    "the_registry_keeps_the_first": """
        @parts.first
        class Net(Wide):  # used
            "nparam: 220"
        @parts.first
        class Net(Narrow):  # stale
            "nparam: 220"
    """,
    "with_arguments": """
        class Net(Wide):  # stale
            "nparam(more=10): 330"
        class Net(Wide):  # used
            "nparam(more=10): 330"
    """,
    "read_in_part": """
        class Net(Narrow):  # stale
            "nparam: 220"
        class Net(Wide):  # used
            "nparam: 220"
        if False:
            torch.save(Net(), "net.pt")
        Net().eval()
    """,
}
# What takes the name of a class whose budget is stale then.
TAKES_THE_NAME = {
    "rebound": 'class Small(Narrow):  # used\n    "nparam: 110"\nNet = Small',
    "rebound_through_globals": 'globals()["Net"] = Narrow  # used: parts.py:12',
    "rebound_from_elsewhere": "parts.patch(sys.modules[__name__])  # used: parts.py:12",
    "rebound_in_a_script": """
        setattr(sys.modules[__name__], "Net", Narrow)  # used: parts.py:12
        def train(): pass
        train()
    """,
    "rebound_to_what_a_function_makes": "Net = parts.make(10)  # used: parts.py:66",
    "overwritten_by_a_star": "from parts import *  # used: parts.py:17",
    "a_function_for_a_class": 'def Net():  # used\n    "nparam: 110"\n    return Narrow()',
}
CASES |= {
    name: f'class Net(Wide):  # stale\n    "nparam: 110"\n{dedent(source)}'
    for name, source in TAKES_THE_NAME.items()
}
CLASS = 'class Net(Wide):\n    "nparam: 220"\n'
FUNCTION = 'def net():\n    "nparam: 220"\n    return Wide()\n'
# Definitions of a name that means nothing in the end: the finding about each.
GONE = {
    "deleted": CLASS + "del Net",
    "for_type_checkers_alone": """
        if typing.TYPE_CHECKING:
            class Net(Wide):
                "nparam: 220"
    """,
    "in_a_branch_alone": """
        if sys.version_info < (3,):
            def net():
                "nparam: 220"
                return Wide()
    """,
}
# What a script does to the name is not run, and nothing else tells what it is then.
UNKNOWN = {
    "defined_again_by_a_text": """
        class Net(Narrow):
            "nparam: 110"
        exec("class Net(Wide): pass")
    """,
    "given_to_another_file": """
        class Net(Narrow):
            "nparam: 110"
        parts.heir(Net)
        def train(): pass
        train()
    """,
}
# Definitions that Python uses, by way of something else.
CASES |= {
    "wraps": "@parts.wrapped\n" + FUNCTION,
    "without_wraps": "@parts.bare\n" + FUNCTION,
    "decorators_on_decorators": (
        '@parts.bare\n@functools.lru_cache(maxsize=None)\n@parts.named("net")\n' + FUNCTION
    ),
    "an_heir_by_decorator": "@parts.heir\n" + CLASS,
    "a_twin_by_decorator": "@parts.twin\n" + CLASS,
    "an_instance_by_decorator": "@parts.Registry\n" + CLASS,
    "wrapped_later": """
        def net(more):
            "nparam: 330"
            return Wide(more)
        net = functools.partial(net, 10)
    """,
    "a_class_wrapped_later": CLASS + 'Net = parts.named("net")(parts.heir(Net))',
    "an_instance_later": CLASS + "Net = parts.Registry(Net)",
    "by_default": FUNCTION + "net = lambda made=net: made()",
    "no_grad": f"@torch.no_grad()\n{CLASS}@torch.no_grad()\n{FUNCTION}",
    "dataclass": """
        from dataclasses import dataclass
        @dataclass(eq=False)
        class Net(nn.Module):
            "nparam: 220"
            width: int = 20
            def __post_init__(self):
                super().__init__()
                self.fc = nn.Linear(10, self.width)
    """,
    "again_in_a_loop": """
        for width in (10, 20):
            class Net(nn.Linear):
                "nparam: 220"
                def __init__(self, width=width):
                    super().__init__(10, width)
    """,
    "overloaded": """
        @typing.overload
        def net() -> Wide: ...
        @typing.overload
        def net(more: int) -> Wide: ...
        def net(more=0) -> Wide:
            "nparam: 220"
            return Wide(more)
    """,
    "dispatched": """
        @functools.singledispatch
        def net(more=0) -> Wide:
            "nparam(1): 231"
            return Wide(more)
        @net.register
        def _(more: str) -> Wide:
            return Wide(int(more))
    """,
    "read_in_part_and_decorated": f"@parts.heir\n{CLASS}Net().eval()\n",
}


def text_of(source):
    return HEAD + dedent(source)


@pytest.fixture(scope="module")
def report(environ, tmp_path_factory):
    root = tmp_path_factory.mktemp("definitions")
    (root / "parts.py").write_text(PARTS)
    for name, source in {**CASES, **GONE, **UNKNOWN}.items():
        (root / f"{name}.py").write_text(text_of(source))
    (root / "link.py").symlink_to("read_in_part_and_decorated.py")
    subprocess.run(["git", "init", "--quiet", root], check=True)
    options = {"device": "meta", "python": sys.executable}
    return check(open_session(root, environ, options=options, remembers=False), [])


@pytest.mark.parametrize("name", [*CASES, "link"])
def test_a_budget_is_held_against_what_python_uses_or_it_is_stale(report, name):
    lines = text_of(CASES.get(name, "")).split("\n")
    used = [(n, line) for n, line in enumerate(lines, 1) if "# used" in line]
    stale = [n for n, line in enumerate(lines, 1) if line.endswith("# stale")]
    found = [item for item in report.findings if item.position.path == f"{name}.py"]
    assert [item.code for item in found] == ["NPL008"] * len(stale), found
    for line, item in zip(stale, found, strict=True):
        ((number, text),) = used
        place = text.partition("# used: ")[2] or f"{name}.py:{number}"
        assert f"defined at {name}.py:{line}:" in item.message
        assert f"is the one at {place}" in item.message
        assert 0 < item.position.line - line < 3  # the budget's own
    models = [m for m in report.models if m.target.startswith(f"{name}.py::")]
    assert models
    assert stale or all(result.ok for m in models for result in m.budgets)


@pytest.mark.parametrize("name", [*GONE, *UNKNOWN])
def test_what_nothing_is_known_of_is_not_measured(report, name):
    (found,) = [item for item in report.findings if item.position.path == f"{name}.py"]
    if name in GONE:
        lines = text_of(GONE[name]).split("\n")
        assert (found.code, "nparam" in lines[found.position.line - 1]) == ("NPL008", True)
    else:
        assert found.code == "NPL003"
        assert "by work that nparam-lint does not run" in found.message


def test_the_model_stands_where_the_definition_does_that_is_used(report):
    (model,) = [m for m in report.models if m.target == "if_else_dead_is_the_only_one.py::Net"]
    assert model.position.line == 8
