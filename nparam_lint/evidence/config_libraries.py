"""Config libraries: what scripts ask them for. A library is run by itself, with its own defaults;
here is only how its use is recognised."""

from __future__ import annotations

import ast
import re
from posixpath import normpath
from typing import TYPE_CHECKING

from nparam_lint.discover.syntax import dotted_name, tail, text_of
from nparam_lint.ground.paths import parent

if TYPE_CHECKING:
    from nparam_lint.discover.syntax import Function

# What may be run for the arguments of a model.
HARMLESS = re.compile(
    r"^(transformers\.HfArgumentParser|tyro\.cli|docopt\.docopt|"
    r"gin\.(parse_config\w*|bind_parameter|REQUIRED)|"
    r"(simple_parsing|draccus|pyrallis|jsonargparse|fiddle|hydra_zen)\.\w+)$"
)
# What builds the object that a config describes, which names its class; and the same in a text.
BUILDS = re.compile(r"^(fiddle\.build|hydra_zen\.\w+|hydra\.utils\.(instantiate|call))$")
BUILDS_IN_TEXT = (r"\b(?:fdl|fiddle)\.build\(", r"\binstantiate\(")
# What gives the parameters of functions values that no call shows; what needs it needs `BOUND`.
BINDS = re.compile(r"(^|\.)gin\.(parse_config\w*|bind_parameter)$")
BINDS_IN_TEXT = "gin.parse_config"
BOUND = "$gin"


def parameter_values(function: Function, path: str) -> list[ast.stmt]:
    """The statements that give the first parameter of a function in the file at `path` its value,
    where a decorator does: `@hydra.main(config_path="conf", config_name="a")`, `@draccus.wrap()`.
    Empty where none does, or where it is not written out which config that is."""
    if not function.args.args:
        return []
    first = function.args.args[0]
    for item in function.decorator_list:
        name = dotted_name(getattr(item, "func", item))
        if tail(name) in ("main", "hydra_main") and "hydra" in name and isinstance(item, ast.Call):
            words = {"config_path": "", "config_name": "config"}
            arguments = dict(zip(words, item.args, strict=False))
            arguments |= {word.arg: word.value for word in item.keywords if word.arg in words}
            for word, value in arguments.items():
                if not isinstance(value, ast.Constant):
                    return []
                words[word] = text_of(value) or ""
            folder = normpath(f"/{parent(path)}/{words['config_path']}").lstrip("/")
            start = "initialize(None"
            if words["config_path"]:
                start = f"initialize_config_dir(__import__('os').path.abspath({folder!r})"
            plain = ["hydra/job_logging=default", "hydra/hydra_logging=default"]
            config = words["config_name"].removesuffix(".yaml")
            text = f"with __import__('hydra').{start}, version_base=None):\n"
            text += f"    {first.arg} = __import__('hydra').compose({config!r}, overrides={plain})"
            return ast.parse(text).body
        library, _, word = name.partition(".")
        if library in ("draccus", "pyrallis") and word == "wrap" and first.annotation:
            config = ast.unparse(first.annotation)
            return ast.parse(f"{first.arg} = {library}.parse({config}, args=[])").body
    return []
