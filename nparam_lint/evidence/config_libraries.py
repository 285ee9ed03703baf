"""Config libraries: what scripts ask them for. A library is run by itself, with its own defaults;
here is only how its use is recognised."""

from __future__ import annotations

import ast
import copy
import re
from functools import lru_cache
from posixpath import normpath
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import decorators, dotted_name, tail
from nparam_lint.ground.paths import parent
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.discover.syntax import Function
    from nparam_lint.ground.config_outline import Keys

# What changes the config that it is given.
CHANGES_GIVEN = late_pattern(r"OmegaConf\.(?:resolve|update|set_struct|set_readonly)$")
# What may be run for the arguments of a model.
HARMLESS = late_pattern(
    r"^(transformers\.HfArgumentParser|tyro\.cli|docopt\.docopt|dacite\.\w+|"
    r"gin\.(parse_config\w*|bind_parameter|REQUIRED)|"
    r"(simple_parsing|draccus|pyrallis|jsonargparse|fiddle|hydra_zen)\.\w+)$"
)
# What builds the object that a config describes, which names its class; and the same in a text.
BUILDS = late_pattern(r"^(fiddle\.build|hydra_zen\.\w+|hydra\.utils\.(instantiate|call))$")
BUILDS_IN_TEXT = (r"\b(?:fdl|fiddle)\.build\(", r"\binstantiate\(")
# What is given a class, parses its arguments and builds it later.
HANDED_ON_IN_TEXT = r"\.add_(?:class|subclass)_arguments\(\s*([\w.]+)"
HANDED_ON = late_pattern(HANDED_ON_IN_TEXT)
# What gives the parameters of functions values that no call shows; what needs it needs `BOUND`.
BINDS = late_pattern(r"(^|\.)gin\.(parse_config\w*|bind_parameter)$")
BINDS_IN_TEXT = "gin.parse_config"
BOUND = "$gin"
_HYDRA_OPTION = late_pattern(r"(?<!\S)-(?:-config-|c)([pnd])(?:ath|ame|ir)?[= ](\S+)")
_RUNS = r"\b(?:typer\.run|defopt\.run)"
_RUNS_TYPED = r"\b(?:CLI|auto_cli|tyro\.cli|Fire)"
# So begins the name of a function that asks a library for them; with `arg` in it, as that of any
# function that parses options.
TAKES = "arguments_of_"
_TAKEN = f"""
def {TAKES}{{0}}():
    import functools, inspect, types
    taken = types.SimpleNamespace()
    @functools.wraps({{0}})
    def take(*args, **options):
        bound = inspect.signature({{0}}).bind(*args, **options)
        bound.apply_defaults()
        vars(taken).update(bound.arguments)
    {{1}}
    if not vars(taken):
        raise StopIteration
    return taken
options = {TAKES}{{0}}()
{{2}}
"""
_COMPOSE = "__import__('hydra').compose"


def takes_options(function: Function, text: str) -> bool:
    """Whether a library hands the options of a command line to a function of a text as arguments:
    `@click.command()`, `typer.run(main)`."""
    if not {"command", "option", "argument"}.isdisjoint(map(tail, decorators(function))):
        return True
    return function.name in _given(_RUNS, text)


@lru_cache(maxsize=8)
def _given(runner: str, text: str) -> set[str]:
    """What a text hands to what runs it: `Fire(main)`."""
    return set(re.findall(rf"{runner}\(\s*(\w+)", text))


def parameter_values(function: Function, path: str) -> list[ast.stmt]:
    """The statements that give the first parameter of a function in the file at `path` its value,
    where a decorator does: `@hydra.main(config_path="conf", config_name="a")`, `@draccus.wrap()`.
    Empty where none does."""
    if not function.args.args:
        return []
    first = function.args.args[0]
    for item in function.decorator_list:
        name = dotted_name(getattr(item, "func", item))
        if tail(name) in ("main", "hydra_main") and "hydra" in name and isinstance(item, ast.Call):
            return _composed(first.arg, item, path)
        library, _, word = name.partition(".")
        if library in ("draccus", "pyrallis") and word == "wrap" and first.annotation:
            config = ast.unparse(first.annotation)
            return ast.parse(f"{first.arg} = {library}.parse({config}, args=[])").body
    return []


@lru_cache(maxsize=64)
def _runs_typed(text: str) -> bool:
    return re.search(rf"{_RUNS_TYPED}\(", text) is not None


def values_by_type(
    function: Function, text: str, tree: ast.Module, names: Sequence[str]
) -> list[ast.stmt]:
    """The statements that give parameters of a function the values that a library reads for them,
    as it calls the function in a text: `tyro.cli(main)`, `fire.Fire({"train": main})`. Empty where
    none does. `tree`: that of the text."""
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    for call in calls if _runs_typed(text) else ():
        if not re.search(f"{_RUNS_TYPED}$", dotted_name(call.func)):
            continue
        given: ast.expr = ast.Name("take", ast.Load())
        match call.args:
            case [ast.Dict(keys, values)] if function.name in map(dotted_name, values):
                at = [*map(dotted_name, values)].index(function.name)
                given = ast.Dict([keys[at]], [given])
            case [] if tail(dotted_name(call.func)) == "Fire" and not call.keywords:
                given = ast.Dict([ast.Constant(function.name)], [given])
            case [first, *_] if dotted_name(first) == function.name:
                pass
            case _:
                continue
        taking = ast.Call(call.func, [given], call.keywords)
        lines = "\n".join(f"{name} = options.{name}" for name in names)
        return ast.parse(_TAKEN.format(function.name, ast.unparse(taking), lines)).body
    return []


def _composed(parameter: str, call: ast.Call, path: str) -> list[ast.stmt]:
    """What Hydra does before it runs the decorated function."""
    words: dict[str, ast.expr] = dict(zip(("config_path", "config_name"), call.args, strict=False))
    words |= {word.arg: word.value for word in call.keywords if word.arg}
    folder = words.get("config_path", ast.Constant(None))
    name = words.get("config_name", ast.Constant("config"))
    if isinstance(folder, ast.Constant) and isinstance(folder.value, str):
        place, config = folder_and_config(path, folder.value)
        name = ast.Constant(config) if config else name
        folder = ast.Constant(place)
    if isinstance(name, ast.Constant) and isinstance(name.value, str):
        name = ast.Constant(name.value.removesuffix(".yaml"))
    start = "initialize(None"
    if ast.unparse(folder) != "None":
        start = f"initialize_config_dir(__import__('os').path.abspath({ast.unparse(folder)})"
    overrides = ["hydra/job_logging=default", "hydra/hydra_logging=default"]
    return ast.parse(
        f"with __import__('hydra').{start}, version_base=None):\n"
        f"    {parameter} = {_COMPOSE}({ast.unparse(name)}, overrides={overrides})"
    ).body


def folder_and_config(script: str, path: str) -> tuple[str, str]:
    """The folder, from the root, that is the `config_path` of a script; before Hydra was 1.0, of
    which that is a file."""
    config = path.rpartition("/")[2] if path.endswith(".yaml") else ""
    return normpath(f"/{parent(script)}/{parent(path) if config else path}").lstrip("/"), config


def hydra_options(words: Sequence[str]) -> dict[str, str]:
    """What a command for Hydra says of its configs: p, n or d, for their path, name or directory,
    and the value."""
    return dict(_HYDRA_OPTION.findall(" ".join(words)))


def accessed(node: ast.expr) -> tuple[str, Keys]:
    """`config` and `("model", "dim")` of `config.model.dim` or `config["model"].dim`; "" for a key
    that is worked out, and for another thing than a name."""
    keys: list[str | int] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        match node:
            case ast.Attribute(attr=key) | ast.Subscript(slice=ast.Constant(str(key) | int(key))):
                keys.insert(0, key)
            case _:
                keys.insert(0, "")
        node = node.value
    return node.id if isinstance(node, ast.Name) else "", tuple(keys)


def overrides(words: Sequence[str]) -> list[str]:
    """Those of a command for Hydra: `model.depth=3`."""
    return [word for word in words if "=" in word and not word.startswith(("-", "hydra"))]


def composes(statements: Iterable[ast.stmt]) -> Iterator[ast.Call]:
    """The calls in statements that compose a config of Hydra."""
    nodes = (node for statement in statements for node in ast.walk(statement))
    return (n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) == _COMPOSE)


def composed_as_said(statements: Sequence[ast.stmt], words: Sequence[str]) -> list[ast.stmt]:
    """The same, with the config and the overrides that the words of a command give."""
    changed = copy.deepcopy([*statements])
    name = hydra_options(words).get("n")
    for call in composes(changed):
        call.args = [ast.Constant(name.removesuffix(".yaml"))] if name else call.args
        call.keywords[0].value.elts[:0] = map(ast.Constant, overrides(words))  # type: ignore[attr-defined]
    return changed
