"""What the scripts of a project do that run Hydra: which config they have composed, what they
change in it before they build a model, `cfg.model.dim = cfg.dim * 2`, and the resolvers that they
register with OmegaConf, which configs use: `${mul:${width},2}`."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from posixpath import commonprefix, relpath
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.source_tree import cached_method
from nparam_lint.discover.syntax import FUNCTIONS, decorators, dotted_name, flat, tail, text_of
from nparam_lint.evidence.config_libraries import accessed, folder_and_config, hydra_options
from nparam_lint.evidence.later_changes import later_changes
from nparam_lint.evidence.options import keyword
from nparam_lint.evidence.statements import calls_in, loads, stores, targets_of
from nparam_lint.ground.notation import Target
from nparam_lint.ground.paths import ancestors, join, parent
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.evidence.commands import Command
    from nparam_lint.evidence.config_files import ConfigFiles
    from nparam_lint.ground.config_outline import Keys

_RUNS = late_pattern(r"\bhydra\s*\.\s*main\b|(?<!\w)(initialize|compose)\w*\s*\(")
_COMPUTED = late_pattern(r"""[^,\n]*["']([\w./-]+)["']""")  # ROOT / "configs"
# A statement, and no `with`: it stays so from when the file is imported.
_INITIALISES = late_pattern(
    r"^[ \t]*(hydra\s*\.\s*)?initialize(_config_module|_config_dir)?\s*\(", re.MULTILINE
)
_INSTANTIATES = late_pattern(r"\binstantiate\s*\(")
_USED = late_pattern(r"\$\{\s*(?!oc\.|hydra:|now:)[\w.]+\s*:")
_REGISTERS = late_pattern(r"\bregister_(new_)?resolver\s*\(")
# `register_resolvers()` of the project, too.
_REGISTER = late_pattern(r"(?!clear|has)\w*resolvers?$")


class HydraMain(NamedTuple):
    """What a script says of its configs: their directory, and the file that is composed first."""

    root: str
    name: str


class HydraRuns(NamedTuple):
    """The scripts that compose a config first, and the commands that run them."""

    scripts: list[str]
    commands: list[Command]


class ConfigEdit(NamedTuple):
    """A statement that assigns to the keys of a config. `line`: the same of what is called
    `config`, "" where it needs more than that."""

    keys: Keys
    at: str
    line: str

    def is_about(self, keys: Keys) -> bool:
        """Whether it changes what stands at these keys, or around or below them."""
        shorter = min(len(keys), len(self.keys))
        return self.keys[:shorter] == keys[:shorter]


class HydraScripts:
    """The scripts that run Hydra, those that train first."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files

    @cached_property
    def paths(self) -> list[str]:
        """The Python files that name it."""
        paths = self.files.query.python_with("hydra")
        return sorted(paths, key=lambda path: ("train" not in path, path))

    # --- what they have composed ------------------------------------------------------------------

    @cached_property
    def mains(self) -> dict[HydraMain, HydraRuns]:
        """What the scripts of the project say, those that train first, or the commands that run
        them; each with these."""
        mains: dict[HydraMain, HydraRuns] = {}
        for path in self.paths:
            commands = self.files.query.commands.of(path)
            for call in calls_in(self.files.query.syntax(path)):
                called = dotted_name(call.func)
                if not (called.endswith("hydra.main") or tail(called) == "initialize"):
                    continue
                place, named = keyword(call, "config_path"), keyword(call, "config_name")
                for command in (None, *commands):
                    given = hydra_options(command.words if command else ())
                    folder = given.get("p") or text_of(place)
                    name = given.get("n") or text_of(named) or "config"
                    folder = self._folder(path, place, name) if folder is None else folder
                    if folder is not None and "d" not in given:
                        root, config = folder_and_config(path, folder)
                        name = (config or name).split(".yaml")[0]
                        runs = mains.setdefault(HydraMain(root, name), HydraRuns([], []))
                        runs.scripts.append(path)
                        runs.commands.extend([command] if command else ())
        return mains

    def _folder(self, script: str, place: ast.expr | None, name: str) -> str | None:
        """A directory of configs that is worked out, `str(ROOT / "configs")`, as it is from the
        script: the nearest one of that name with the config."""
        match = _COMPUTED.match(ast.unparse(place)) if place else None
        folders = (join(above, match[1]) for above in ancestors(parent(script)) if match)
        has_config = (at for at in folders if f"{at}/{name}.yaml" in self.files.paths)
        folder = next(has_config, None)
        return folder and relpath(f"/{folder}", f"/{parent(script)}")

    def main_of(self, path: str) -> HydraMain | None:
        """The one of a file: in the directory nearest to it."""
        above = [*ancestors(parent(path))]
        mains = (main for main in self.mains if main.root in above)
        return max(mains, key=lambda main: len(main.root), default=None)

    def is_flat(self, path: str, keys: Keys) -> bool:
        """Whether the script of a config builds what stands at some keys without what is below."""
        main = self.main_of(path)
        key = re.escape(str(keys[-1])) if keys else r"\w+"
        call = rf"instantiate\(\s*[\w.]*\.{key}\b[^()]*_recursive_\s*=\s*False"
        texts = map(self.files.query.text, self.mains[main].scripts if main else ())
        return any(re.search(call, text) for text in texts)

    @cached_property
    def is_initialised(self) -> bool:
        """Whether the project itself initialises Hydra, which refuses to be asked once more."""
        texts = map(self.files.query.text, self.paths)
        return any(map(_INITIALISES.search, texts))

    # --- what they change in it -------------------------------------------------------------------

    @cached_method
    def edits(self, script: str) -> list[ConfigEdit]:
        """Those of the functions that Hydra gives a config, up to where they build of it."""
        edits: list[ConfigEdit] = []
        for function in self.files.query.syntax(script).body:
            if not (isinstance(function, FUNCTIONS) and function.args.args):
                continue
            if not any(name.endswith("main") for name in decorators(function)):
                continue
            config = function.args.args[0].arg
            always = {id(node) for node in _always(function.body)}
            for node in flat(function.body):
                if any(dotted_name(call.func).endswith("instantiate") for call in _calls(node)):
                    break
                places = targets_of(node) if isinstance(node, (ast.Assign, ast.AugAssign)) else ()
                for place in places:
                    name, keys = accessed(place)
                    if keys and name == config:
                        is_whole = id(node) in always and loads(node) <= {config}
                        is_whole = is_whole and not _calls(node)
                        line = f"{config} = config; {ast.unparse(node)}" if is_whole else ""
                        edits.append(ConfigEdit(keys, f"{script}:{node.lineno}", line))
        return edits

    def later(self, script: str, keys: Keys) -> Iterator[str]:
        """Where a script changes the model that it has of these keys."""
        access = "." + ".".join(map(str, keys))
        calls = self.files.calls.file_calls(script)
        for place in calls.text.places(_INSTANTIATES) if keys else ():
            config = ast.unparse(place.call.args[0]) if place.call.args else ""
            is_about = config.endswith(access)
            if is_about and (later := later_changes(calls, place, Target(script, ""))):
                yield later.at

    # --- which resolvers they register ------------------------------------------------------------

    @cached_method
    def registering(self, folder: str) -> str:
        """The script that registers what the configs in a directory use: the nearest one. Empty
        where they use none, or none is registered."""
        above = f"{folder}/" if folder else ""
        configs = (self.files.file(at) for at in self.files.paths if at.startswith(above))
        if not any(config and _USED.search(config.text) for config in configs):
            return ""
        return max(self._registering, key=lambda at: len(commonprefix([at, above])), default="")

    @cached_property
    def _registering(self) -> list[str]:
        """Those that run Hydra and register any, the ones that train first."""
        tree, text = self.files.discovery.tree, self.files.query.text
        return [
            path
            for path in self.paths
            if _RUNS.search(text(path))
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


def _calls(node: ast.stmt) -> list[ast.Call]:
    return [] if hasattr(node, "body") else [*calls_in(node)]


def _always(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that no condition holds back."""
    for node in body:
        yield from _always(node.body) if isinstance(node, ast.With) else [node]
