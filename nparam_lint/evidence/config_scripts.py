"""Config files that a script of the project reads: `python train.py --cfg configs/b.yaml`.

The script's own parser and its own reader are run, as far as the call of the model needs them, with
that command line.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import defaultdict
from contextlib import suppress
from functools import cached_property, partial
from posixpath import commonprefix
from typing import TYPE_CHECKING

from msgspec import Struct

from nparam_lint.discover.name_resolution import Symbol
from nparam_lint.discover.syntax import dotted_name, origin, tail
from nparam_lint.evidence import CommandRun
from nparam_lint.evidence.commands import Command, likeness_of, telling_words
from nparam_lint.evidence.config_commands import config_commands
from nparam_lint.evidence.config_files import ModelNode
from nparam_lint.evidence.config_libraries import accessed
from nparam_lint.evidence.later_changes import later_changes, note_on_change
from nparam_lint.evidence.object_changes import (
    is_read,
    joined_notes,
    note_on,
    skipped_settings,
)
from nparam_lint.evidence.options import default_text, option_calls, words_of
from nparam_lint.evidence.places import SourceText
from nparam_lint.evidence.slices import Slice
from nparam_lint.evidence.statements import (
    NoWay,
    changed,
    does_work,
    source_of,
    stores,
    targets_of,
    values_given,
)
from nparam_lint.ground.notation import Target
from nparam_lint.ground.orders import Recipe
from nparam_lint.ground.paths import CONFIG_SUFFIXES, ancestors, parent
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import CONFIG_OPTION, MAY_READ_CONFIG, RUN_SETTING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.config_commands import ConfigCommand
    from nparam_lint.evidence.config_files import ConfigFile, ConfigFiles
    from nparam_lint.evidence.places import Place

_HAS_OPTION = late_pattern(
    rb"""add_argument\(\s*(['"]-\w['"],\s*)?['"]-*\w*(cfg|conf|opt|yaml|param)"""
    rb"""|default\s*=\s*['"][^'"\n]*\.(ya?ml|json|toml)['"]"""
)
_FIRST_ARGUMENT = "sys.argv[1]"  # of a script that has no parser
_MODEL = late_pattern(r"(model|net|network|backbone|arch)\w*$|\w+_(model|net)$")  # no class
_PART = late_pattern(r"_(?:en|de)coder$")
_MAKES = late_pattern(r"(?:^|[._])(?:init|instantiate|construct)\w*$")
_EVALUATED = late_pattern(r"eval\(.*\.(\w+)['\"]\)$")
_NAMESPACE = late_pattern(r"(\w+_)?(args?|opts?|options|flags)$", re.IGNORECASE)
_NOT_READ = late_pattern(r"^(torch|np|numpy|pickle|pd|h5py|cv2|Image)\.")
_LOCAL_RANK = late_pattern(rb"""environ\[\s*['"]LOCAL_RANK['"]\s*\]""")
_LARGE = 400_000


class ConfigSlice(Slice):
    """A slice without the settings of a run, but for what the options do not have before. `keys`:
    what the call reads of the config, if that is known."""

    keys: frozenset[str] = frozenset()

    def assignment(
        self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, need: set[str]
    ) -> list[ast.stmt]:
        targets = targets_of(node)
        is_part = any(True for target in targets for _ in changed(target))
        words = re.findall(r"\w+", ast.unparse(targets[0]))
        # What is worked out of one that is left out is one, too, if the call does not read it.
        is_read = not self.keys or words[1:2] == [] or words[1] in self.keys
        used = (item for item in ast.walk(node.value or node) if isinstance(item, ast.Attribute))
        sources = [item.attr for item in used if item.attr in self.text.stored]
        if is_part and any(map(RUN_SETTING.match, [words[-1], *([] if is_read else sources)])):
            is_new = _NAMESPACE.match(words[0]) and words[-1] not in self.text.options
            if not is_new or not isinstance(targets[0], ast.Attribute):
                return []
        return super().assignment(node, need)


class ScriptModel(Struct, frozen=True):
    """What a script builds from a config file: the statements before, and the call. `symbol`: what
    is called, if that is known; `option`: how the file is given; `configs`: the files that it reads
    by default; `note`: see `Way`; `keys`: what the call reads of the config; `others`: the options
    that the model may depend on besides; `rest`: the words for other config files."""

    option: str
    configs: Sequence[str]
    setup: str
    call: str
    symbol: Symbol | None
    note: str
    keys: frozenset[str]
    others: Mapping[str, ast.Call]
    rest: frozenset[str]


def _keys_read(call: ast.Call) -> frozenset[str]:
    """The keys that a call reads of a config: `build(cfg.model.net)`, `build(config["model"])`."""
    keys: set[str] = set()
    parts: list[ast.AST] = [*values_given(call)]
    while parts:
        part = parts.pop()
        called = part.func if isinstance(part, ast.Call) else None  # `np.sqrt` is no key
        parts += (inner for inner in ast.iter_child_nodes(part) if inner is not called)
        name, steps = accessed(part) if isinstance(part, ast.expr) else ("", ())
        named = [str(step) for step in steps if step != ""]
        keys.update(named[name == "self" :][:1])  # `self.cfg.model`
    return frozenset(keys)


def _options_before(place: Place, source: SourceText) -> Iterator[ast.Name]:
    """What a function of the file gives that parses the options: it may read the config, too."""
    for frame in place.frames:
        for node in frame.body[: frame.index]:
            value = node.value if isinstance(node, ast.Assign) else None
            name = dotted_name(value.func) if isinstance(value, ast.Call) else ""
            function = source.definitions.get(name)
            if function and isinstance(node, ast.Assign) and "parse_args(" in ast.unparse(function):
                yield from (ast.Name(name, ast.Load()) for name in sorted(stores(node)))


class ConfigScripts:
    """The scripts of a project that read config files."""

    def __init__(self, files: ConfigFiles) -> None:
        self.files = files

    @cached_property
    def scripts(self) -> dict[str, ScriptModel]:
        models: dict[str, ScriptModel] = {}
        python_with = self.files.query.python_with
        for path in dict.fromkeys([*python_with("add_argument"), *python_with(_FIRST_ARGUMENT)]):
            source = self.files.discovery.tree.source(path)
            has_option = _HAS_OPTION.search(source) or _FIRST_ARGUMENT.encode() in source
            if has_option and len(source) < _LARGE and (model := self._model(path)):
                models[path] = model
        return models

    def _model(self, path: str) -> ScriptModel | None:
        """The first model that a script builds, as far as that depends on its options alone."""
        query = self.files.query
        text, syntax = query.text(path), query.syntax(path)
        options = [*option_calls([syntax])]
        option_list = [
            (name, call)
            for name, call in options
            if any(map(CONFIG_OPTION.match, (name, *words_of(call))))
            or (default_text(call) or "").endswith(CONFIG_SUFFIXES)
        ]
        sets = partial(query.changes.of, path)
        harmless = partial(self._is_harmless, path)
        alters = self.files.calls.file_calls(path).alters
        source = SourceText(text, syntax, harmless, path=path, sets=sets, alters=alters)
        is_reader = option_list or _FIRST_ARGUMENT in text
        modules = self.files.discovery.modules(path)
        for place in source.places(re.compile(r"\b\w+\s*=.*\(")) if is_reader else ():
            is_model, symbol = self._built(path, place)
            # A part of another model is none of its own.
            if not is_model or any(node.name in modules for node in place.classes):
                continue
            target = Target(symbol.where, symbol.name) if symbol else Target(path, "")
            later = later_changes(self.files.calls.file_calls(path), place, target)
            changes = [later.function] if later and not later.is_told else []
            cut = self._statements(source, place, changes) if changes else None
            is_changed = later and not (cut and later.asked_for)
            told = note_on_change(later.at, is_made=bool(cut)) if later and is_changed else ""
            if cut is None:
                changes, cut = [], self._statements(source, place, [])
            if cut is None:
                continue
            statements, unknown = cut
            setup = source_of([*statements, *changes])
            used = [call for name, call in option_list if re.search(rf"\.{name}\b", setup)]
            used = used or [call for _, call in option_list if "(" in setup]
            if used or _FIRST_ARGUMENT in setup:
                flags = [text for call in used[:1] for text in words_of(call) if text[:1] == "-"]
                rest = [call for _, call in option_list if call not in used]
                defaults = [default_text(call) or "" for _, call in option_list if call not in rest]
                call = ast.unparse(place.call)
                text = query.text(symbol.where) if symbol and symbol.kind != "outside" else ""
                others = {
                    name: option
                    for name, option in options
                    if is_read(name, f"{setup}\n{call}\n{text}")
                    and not (RUN_SETTING.match(name) or CONFIG_OPTION.match(name))
                }
                return ScriptModel(
                    flags[-1] if flags else "",
                    [at.removeprefix("./") for at in defaults if at.endswith(CONFIG_SUFFIXES)],
                    setup,
                    later.made_to(call) if later and changes else call,
                    symbol,
                    joined_notes(self._note(unknown, symbol), told),
                    _keys_read(place.call),
                    others,
                    frozenset(word for call in rest for word in words_of(call)),
                )
        return None

    def _statements(
        self, source: SourceText, place: Place, changes: Sequence[ast.FunctionDef]
    ) -> tuple[list[ast.stmt], Mapping[tuple[str, str], str]] | None:
        """Those that a call and the changes of its model need, and what is not known of them; None
        where they are no way.

        Not as `CallCuts` does it, which asks other files for arguments: a config is read by
        the command line of this script alone."""
        query_changes, path = self.files.query.changes, source.path
        variables = query_changes.variables(source.text)
        options = [*_options_before(place, source)]
        imports = query_changes.imports(path)
        for more in ([*variables, *options, *imports], [*variables, *options], options, []):
            part = ConfigSlice(source, keys=_keys_read(place.call))
            with suppress(NoWay, RecursionError):
                return part.of(place, place.call, *changes, *more), part.unknown
        return None

    def _note(self, unknown: Mapping[tuple[str, str], str], symbol: Symbol | None) -> str:
        """What to say of the config's values that the script sets when it has read its data."""
        if symbol is None or symbol.kind == "outside":
            return ""
        return note_on(skipped_settings(unknown, self.files.query.text(symbol.where)))

    def _built(self, path: str, place: Place) -> tuple[bool, Symbol | None]:
        """Whether a call makes a model, by what it is or by its name; and what it is."""
        statement, names = place.statement, self.files.discovery.models.names
        is_value = isinstance(statement, ast.Assign) and origin(statement.value) is place.call
        if not is_value or not (place.call.args or place.call.keywords):
            return False, None
        assert isinstance(statement, ast.Assign)
        name = dotted_name(place.call.func)
        symbol = names.resolve(path, name) if name else self._evaluated(place.call.func)
        if symbol and symbol.kind != "outside" and self.files.makes_model(symbol):
            return True, symbol
        target = tail(dotted_name(statement.targets[0]))
        is_pythons = name.partition(".")[0] in sys.stdlib_module_names  # a path, with "model" in it
        is_function = symbol is not None and symbol.kind == "function"
        is_work = does_work(name) and not (is_function and _MAKES.search(name))
        is_named = bool(_MODEL.match(target)) and not (
            is_pythons or is_work or _PART.search(target)
        )
        return is_named, symbol if is_function else None

    def _evaluated(self, node: ast.expr) -> Symbol | None:
        """The function of the project of which `eval("models." + name + ".get_net")` gives one; the
        first, where several modules have one: what is built says what it is."""
        text = _EVALUATED.match(ast.unparse(node))
        definitions = self.files.discovery.definitions if text else ()
        paths = [d.path for d in definitions if text and d.qualname == text[1]]
        return Symbol("function", min(paths), text[1]) if text and paths else None

    def _is_harmless(self, path: str, call: ast.Call) -> bool:
        name = dotted_name(call.func)
        symbol = self.files.discovery.models.names.resolve(path, name) if name else None
        full = symbol.name if symbol else name
        if name == "eval":  # of Python: what it gives is looked up
            return True
        if _NOT_READ.match(full) and does_work(full):
            return False
        if not does_work(tail(full)) or MAY_READ_CONFIG.search(full):
            return True
        return self.files.calls.file_calls(path).is_plain(name)

    # --- which files they read --------------------------------------------------------------------

    @cached_property
    def read_in(self) -> dict[str, str]:
        """For each config file that a command or a default names, the script that reads it."""
        defaults = ((script, at) for script, model in self.scripts.items() for at in model.configs)
        of_commands = ((command.script, command.config) for command in self._commands)
        scripts: dict[str, str] = {}
        for script, config in (*of_commands, *defaults):
            scripts.setdefault(self.files.query.seen_from(script, config), script)
        return scripts

    @cached_property
    def _commands(self) -> list[ConfigCommand]:
        """Those that name the config of a model."""
        query = self.files.query
        return [
            item
            for script, model in self.scripts.items()
            for item in config_commands(query, script)
            if item.flag not in model.rest
        ]

    def built(self, file: ConfigFile) -> Iterator[tuple[ModelNode, Evidence]]:
        """What the script builds that reads this file, as it is and with what commands change in
        it. Its class is that of the call, or the one that the file
        names."""
        script = self._reader(file) if self.scripts else None
        if script is None:
            return
        model = self.scripts[script]
        symbol, line = self.files.class_in(file)
        called = model.symbol
        is_model = called and Target(called.where, called.name) in self.files.query.targets
        symbol = called if is_model else symbol or called  # what it gives has no name but there
        if symbol is None:
            return
        if Target(symbol.where, symbol.name) not in self.files.query.targets:
            symbol = Symbol("outside", "", symbol.name)  # a registry looks it up: the file's model
        node = ModelNode(file.path, (), line, "script", model.call, symbol)
        places: dict[tuple[str, ...], str] = {(): ""}
        for command in self._commands:
            if command.config == file.path:
                given = Command(command.words, "").by_option(model.others)
                words = [w for name in given if name in model.others for w in given[name]]
                others = (word for word in command.changes if word not in words)
                places.setdefault((*others, *words), command.place)
        of_script = [command for command in self._commands if command.script == script]
        of_script.sort(key=lambda command: command.config != file.path)
        leading = next((command.leading for command in of_script), ())
        option = [model.option] if model.option else []
        for changes, place in places.items():
            words = [script, *leading, *option, file.path, *changes]
            setup = f"import sys; sys.argv = {words!r}\n{self._environment}{model.setup}"
            recipe = Recipe(setup=setup, call=model.call, file=script)
            run = CommandRun(script, Command((*words[1:],), ""))
            yield node, node.evidence(recipe, model.note, place, run)

    def values_read(self, file: ConfigFile) -> tuple[object, ...]:
        """What its script reads of a file, as far as the call of the model says it: `cfg.model`."""
        script = self._reader(file) if self.scripts else None
        keys = self.scripts[script].keys if script else ()
        values = (entry for entry in file.entries if entry.keys[0] in keys)
        parts = tuple((entry.keys, entry.value) for entry in values)
        return (script, *parts) if parts else ()

    def _reader(self, file: ConfigFile) -> str | None:
        """The script of a file; or that of the file with the most similar name, of those beside it
        and in directories beside its own, with which it has keys in common: most of them at the
        root, where files of any kind are. Where none is named at all, the nearest script that
        uses keys of this one."""
        named = self.files.query.commands.configs.values()
        if file.path in self.read_in or any(file.path in configs for configs in named):
            return self.read_in.get(file.path)  # `--train_cfg` names none of a model
        keys, folder = {entry.keys[0] for entry in file.entries}, parent(file.path)
        if not self.read_in:
            fitting = [at for at, m in self.scripts.items() if m.keys and m.keys <= keys]
            above = {*ancestors(folder)}

            def nearness(script: str) -> tuple[int, int]:
                folders = [*ancestors(parent(script))]
                return len(above.intersection(folders)), -len(folders)

            return max(fitting, key=nearness, default=None)
        near = [
            path
            for path in self.read_in
            if path in self.files.paths  # what a text names may be made up: `configs/your.yaml`
            and (parent(path) == folder or (parent(parent(path)) == parent(folder) != ""))
        ]
        reading: dict[str, list[str]] = defaultdict(list)
        for path in near:
            reading[self.read_in[path]].append(path)
        telling = telling_words(reading)

        def likeness(path: str) -> tuple[int, int, int]:
            words = likeness_of(file.path, telling[self.read_in[path]])
            return *words, len(commonprefix([path, file.path]))

        nearest = max(near, key=likeness, default="")
        example = self.files.file(nearest) if nearest else None
        common = keys.intersection(entry.keys[0] for entry in example.entries) if example else ()
        is_alike = len(common) > (0 if folder else len(keys) / 2)
        return self.read_in[nearest] if is_alike else None

    @cached_property
    def _environment(self) -> str:
        """What torchrun says to a process, where scripts do not work without."""
        tree = self.files.discovery.tree
        paths = self.files.query.python_with("LOCAL_RANK")
        if any(_LOCAL_RANK.search(tree.source(path)) for path in paths):
            return "import os; os.environ['LOCAL_RANK'] = '0'\n"
        return ""
