"""Resolvers that a project registers with OmegaConf, which its configs use: `${mul:${width},2}`."""

from __future__ import annotations

import ast
from functools import cached_property
from posixpath import commonprefix
from typing import TYPE_CHECKING

from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import FUNCTIONS, dotted_name, tail
from nparam_lint.evidence.statements import stores
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from nparam_lint.evidence.config_files import ConfigFiles

_MAIN = late_pattern(r"\bhydra\s*\.\s*main\b|(?<!\w)(initialize|compose)\w*\s*\(")
_USED = late_pattern(r"\$\{\s*(?!oc\.|hydra:|now:)[\w.]+\s*:")
_REGISTERS = late_pattern(r"\bregister_(new_)?resolver\s*\(")
# `register_resolvers()` of the project, too.
_REGISTER = late_pattern(r"(?!clear|has)\w*resolvers?$")


class HydraResolvers:
    """The scripts that register them: at their top, in what they import, or in a function."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files

    @cached_method
    def script(self, folder: str) -> str:
        """The script that registers what the configs in a directory use: the nearest one. Empty
        where they use none, or none is registered."""
        above = f"{folder}/" if folder else ""
        configs = (self.files.file(at) for at in self.files.paths if at.startswith(above))
        if not any(config and _USED.search(config.text) for config in configs):
            return ""
        return max(self._scripts, key=lambda at: len(commonprefix([at, above])), default="")

    @cached_property
    def _scripts(self) -> list[str]:
        """Those that run Hydra and register any, the ones that train first."""
        tree, text = self.files.discovery.tree, self.files.query.text
        return [
            path
            for path in self.files.hydra_scripts
            if _MAIN.search(text(path))
            and any(_REGISTERS.search(text(at)) for at in tree.may_run_with([path]))
        ]

    @cached_method
    def setup(self, script: str) -> str:
        """The lines that do what importing a script does not: what it registers in a function."""
        lines: list[str] = []
        for part in self.files.query.syntax(script).body if script else ():
            if not isinstance(part, (*FUNCTIONS, ast.If)):
                continue
            nodes = [*ast.walk(part)]
            imports = [node for node in nodes if isinstance(node, (ast.Import, ast.ImportFrom))]
            for node in nodes:
                call = node.value if isinstance(node, ast.Expr) else None
                if isinstance(call, ast.Call) and _REGISTER.match(tail(dotted_name(call.func))):
                    used = {name.id for name in ast.walk(call) if isinstance(name, ast.Name)}
                    needed = [*(item for item in imports if stores(item) & used), node]
                    # It may have been done, or need what the function works out before.
                    lines.append("with suppress(NameError, ValueError):")
                    lines += [f"    {ast.unparse(item)}" for item in needed]
        return "\n".join(["from contextlib import suppress", *lines, ""]) if lines else ""
