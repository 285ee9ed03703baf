"""The ways that the options of a script make of one call: by their defaults, by commands, by the
values that they offer."""

from __future__ import annotations

import ast
import re
from contextlib import suppress
from functools import cached_property, lru_cache
from posixpath import basename, normpath, splitext
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.syntax import dotted_name, flat, tail, text_of
from nparam_lint.evidence.commands import Command
from nparam_lint.evidence.config_libraries import TAKES, composed_as_said, composes
from nparam_lint.evidence.options import (
    PARSES,
    NeedsCommand,
    arguments_of_script,
    asked,
    assumed,
    contradicts,
    default_text,
    given_by_options,
    holds_others,
    is_group,
    keyword,
    lacks_value,
    parsed_names,
    takes_rest,
    tested,
    uses,
    value_in,
    variants,
    with_defaults,
    words_assumed,
    words_for,
)
from nparam_lint.evidence.statements import (
    NOT_REACHED,
    NoWay,
    calls_in,
    loads,
    sets_attributes,
    source_of,
    stores,
)
from nparam_lint.ground.paths import CONFIG_SUFFIXES, parent
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import CONFIG_OPTION, READS_WORDS, RUN_SETTING, SEED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nparam_lint.discover.name_resolution import Symbol
    from nparam_lint.evidence.call_cuts import Cut
    from nparam_lint.evidence.file_names import FileNames
    from nparam_lint.evidence.named_models import ChosenModel
    from nparam_lint.evidence.places import SourceText
    from nparam_lint.ground.notation import Target

_FLAGS = "__import__('absl.flags').flags.FLAGS"
_PARSES = late_pattern(r"\.parse(_known)?_args\(")
_SUBCOMMAND = late_pattern(r"add_subparsers\([^()]*\bdest\s*=\s*[\"'](\w+)")
_CHOOSES_MODEL = late_pattern(r"(?:model|arch|net)(?:itecture|work)?(?:_?(?:type|name))?")
_SETS_GLOBALS = late_pattern(r"exec\(open\(|globals\(\)\[")
_LOADS = late_pattern(r"\b(?:json|yaml|toml|tomllib)\.\w*load")
_FLAGS_ARE_PARSED = f"{_FLAGS}.mark_as_parsed()"


@lru_cache(maxsize=4096)  # the models of a project, which have many ways
def _parses_options(owner: ast.ClassDef) -> bool:
    return _PARSES.search(ast.unparse(owner)) is not None


class FilledIn(NamedTuple):
    """The statements before a call, and a note; `command`: the one that says so, which has no place
    where none is written, and `config`: the file that this names; `chosen_by`: the defaults of the
    options that choose the model."""

    statements: list[ast.stmt]
    note: str = ""
    command: Command = Command((), "")
    config: str = ""
    chosen_by: tuple[str, ...] = ()


class OptionWays:
    """What stands before a call, with the options that it uses. `cut`: its statements; `named`: the
    option by which the call says which model it gives. Raises NoWay where one has no value."""

    def __init__(
        self,
        calls: FileNames,
        cut: Cut,
        call: ast.Call,
        target: Target,
        named: ChosenModel | None,
    ) -> None:
        self.search, self.home = calls.search, cut.home
        self.cut, self.call, self.target, self.named = cut, call, target, named
        self.text_of_call = calls.text.text
        self.options_of_call, self.options = calls.text.options, cut.home.text.options
        flags = cut.home.text.flags
        self.flags = set() if flags.isdisjoint(loads(*cut.statements, call)) else flags
        start = ast.parse(_FLAGS_ARE_PARSED).body if self.flags else []
        self.statements = [*start, *cut.statements]
        # With another value than its own, an option that names the model gives another one.
        named_by = ast.walk(call.func) if named else ()
        self.naming = {node.attr for node in named_by if isinstance(node, ast.Attribute)}
        self.chosen: dict[str, tuple[str, ...]] = {}
        if named:
            self.naming.add(named.option)
            words = named.words_in(self.every_option)
            self.chosen = {named.option: words} if words else {}
        # `dest` of subparsers: what a condition around the call says stands first in the command.
        self.has_subparsers = "add_subparsers" in cut.home.text.text
        self.reads_files = "fromfile_prefix_chars" in cut.home.text.text
        dest = _SUBCOMMAND.search(cut.home.text.text) if self.has_subparsers else None
        subcommand = dict(assumed(cut.statements)).get(dest[1]) if dest else None
        if isinstance(subcommand, str) and subcommand:
            self.chosen = {"": (subcommand,), **self.chosen}
        used_by: list[ast.AST] = [*self.statements, call, *cut.read]
        parsers = [node for _, node in self.called if _PARSES.search(ast.unparse(node))]
        names = {getattr(node, "name", "") for node in parsers}
        parsed = parsed_names(self.statements) | self.flags
        for node in self.statements:
            value = node.value if isinstance(node, ast.Assign) else None
            if isinstance(value, ast.Call) and tail(dotted_name(value.func)) in names:
                parsed |= stores(node)
                used_by.remove(node)
        self.names, self.is_whole = uses(used_by, parsed)
        self.names |= given_by_options(self.statements)
        for function in parsers:
            self.names |= self.read_in(function)
        if any(map(sets_attributes, self.statements)):  # of `self`: all options
            own = {name.removeprefix("self.") for name in loads(*self.statements, call)}
            self.names |= own & self.options.keys()

    def read_in(self, parser: ast.stmt) -> set[str]:
        """The options by which a function that parses them sets others that the model depends on,
        `opt.classes` by `opt.dataset`; and those that change a whole config."""
        body = getattr(parser, "body", ())
        setting = (
            node
            for node in body
            if any(
                isinstance(n, ast.Attribute)
                and isinstance(n.ctx, ast.Store)
                and self.is_read(n.attr)
                for n in ast.walk(node)
            )
        )
        parsed, options = parsed_names(flat(body)), self.options_elsewhere
        names = uses(body, parsed)[0]
        configs = {
            name for name in names if CONFIG_OPTION.match(name) or takes_rest(options.get(name))
        }
        return uses(setting, parsed)[0] | configs

    def __iter__(self) -> Iterator[FilledIn]:
        reader = self.reader_of_words()
        commands = self.search.whole_commands_of(self.home.path)
        if reader is not None:
            for command, note in [*((command, "") for command in commands), *self.beside()]:
                command_line = arguments_of_script(command.words)
                statements = [*command_line, *reader, *self.filled()]
                yield FilledIn(statements, note, command, self.config_of(command))
            if commands and not reader:
                return
        if compose := next(composes(self.statements), None):
            for command in commands:
                composed = composed_as_said(self.filled(), command.words)
                statements = [*asked(composed, self.every_option)]
                yield FilledIn(statements, "", command, self.config_of(command))
            if ast.unparse(compose.args[0]) == "None":
                if not commands:
                    raise NoWay("a command names the config")
                return
        yield from self.by_options()

    def by_options(self) -> Iterator[FilledIn]:
        """With the defaults, as each command says what the model depends on, and with each other
        value that an option offers. Where an option has no default, and no command gives it a
        value, the first value that it is compared with."""
        lacking: NeedsCommand | None = None
        commanded = [*self.of_commands()]
        try:
            chosen = [word for words in self.chosen.values() for word in words]
            chosen += words_assumed(self.statements, self.every_option)
            needs_command = commanded and any(map(lacks_value, self.options_elsewhere.values()))
            if not needs_command:
                statements = self.filled()
                defaults = [default_text(option) or "" for option in self.every_option.values()]
                is_configured = any(text.endswith(CONFIG_SUFFIXES) for text in defaults)
                if is_configured or next(composes(statements), None):
                    statements = [*asked(statements, self.every_option)]
                note = " ".join(["with", *chosen]) if chosen else ""
                usual = tuple(default for default, _ in self.choices.values() if default)
                yield FilledIn(statements, note, Command((*chosen,), ""), chosen_by=usual)
        except NeedsCommand as why:
            lacking = why
        yield from commanded
        if lacking is None:
            yield from self.offered()
        elif not commanded:
            if (value := next(tested(lacking.option, self.statements), None)) is None:
                raise lacking
            words = words_for(self.options[lacking.option], value)
            note = f"with {' '.join(words)}"
            yield FilledIn(self.filled({lacking.option: words}), note, Command(words, ""))
        for command, note in self.beside():
            with suppress(NoWay):
                given = command.by_option(self.every_option)
                yield FilledIn(self.filled(given), note, command, self.config_of(command))

    def not_followed(self) -> str:
        """The first option of a command that nothing is known of, where it stands."""
        options = self.every_option
        for command in self.search.commands_of(self.home.path):
            names = command.by_option(options).keys() - options.keys() - self.names
            if name := next((n for n in sorted(names) if not RUN_SETTING.match(n)), ""):
                return f"--{name} of a command is not followed ({command.place})"
        return ""

    def filled(self, command: Mapping[str, Sequence[str]] | None = None) -> list[ast.stmt]:
        text, given = self.home.text, command or {}
        words = {**self.chosen, **given}
        if "" in words:  # a subcommand, and what is before the options
            words = {"": words[""], **words}
        used_by = [self.call, *self.cut.read]
        unknown = self.cut.unknown
        return with_defaults(self.statements, used_by, self.options, unknown, text.stored, words)

    def of_commands(self) -> Iterator[FilledIn]:
        """As each command says it that gives another model than those before."""
        tried: set[object] = set()
        variables = self.search.query.changes.variables_read
        needed = {name for name, call in self.options_elsewhere.items() if lacks_value(call)}
        needed |= holds_others(self.options)
        # No `add_argument` says which options there are.
        functions = (node for node in self.statements if isinstance(node, ast.FunctionDef))
        is_taken = any(node.name.startswith(TAKES) for node in functions)
        is_open = is_taken or any(map(is_group, self.options.values()))
        options = self.every_option
        for command in self.search.commands_of(self.home.path):
            by_option, to_fill_in = command.split(options)
            for name in filter(RUN_SETTING.match, to_fill_in):
                if name in options and lacks_value(options[name]):
                    by_option[name] = to_fill_in[name]  # any directory will do
            if self.has_subparsers or self.reads_files or is_taken:
                first, before = command.leading(options)
                if before:  # of the parser around the subcommands
                    rest = command._replace(words=command.words[len(first) :])
                    by_option, to_fill_in = rest.split(options)
                subcommand = first[before : before + 1]
                if subcommand != self.chosen.get("", subcommand):
                    continue
                by_option = {"": first, **by_option}
            names_other = any(
                self.value(name, by_option) != self.value(name, self.chosen) for name in self.naming
            )
            if names_other or contradicts(by_option, self.statements, options):
                continue
            read = {
                name
                for name in by_option
                if self.is_read(name) or name in needed or (is_open and not RUN_SETTING.match(name))
            }
            if is_taken and not by_option[""]:
                read.discard("")
            if self.reads_files and any(word.startswith("@") for word in by_option[""]):
                read.add("")  # `@big.args`
            if self.is_whole:  # `load_config(args)`
                configs = {name for name in by_option if CONFIG_OPTION.match(name)}
                read |= configs | {name for name in by_option if takes_rest(options.get(name))}
            environ = [
                (name, value)
                for name, value in command.environ
                if name in variables and not RUN_SETTING.match(name)
            ]
            telling = (name for name in read - self.naming if not SEED.fullmatch(name))
            key = frozenset((name, by_option[name]) for name in telling)
            if (key or environ) and (key, *environ) not in tried:
                # What stands first is set before the project is imported (`Recipe.environ`).
                values = ", ".join(f"{name}={value!r}" for name, value in environ)
                update = f"import os\nos.environ.update({values})"
                start = ast.parse(update).body if values else []
                with suppress(NoWay):
                    statements = self.as_command_says(by_option) if key else self.filled()
                    unknown = [n for n in sorted(to_fill_in) if self.is_read(n)]
                    lacking = ", ".join(n for n in unknown if not RUN_SETTING.match(n))
                    note = f"{lacking} by default, not as the command says" if lacking else ""
                    statements = [*start, *asked(statements, options)]
                    yield FilledIn(statements, note, command, self.config_of(command))
                    tried.add((key, *environ))

    def config_of(self, command: Command) -> str:
        """The config file that a command gives by an option for one, `--data coco.yaml` is none; or
        where there are no options; or the only one in a folder that it gives."""
        by_option = command.by_option(self.every_option)
        given = [w for name, words in by_option.items() if CONFIG_OPTION.match(name) for w in words]
        given = given if self.every_option else [*command.words]
        paths = (word.rpartition("=")[2].removeprefix("./") for word in given)
        named = next(filter(self.search.query.commands.is_config, paths), "")
        read = (w for name, words in by_option.items() if self.is_read(name) for w in words)
        folders = (normpath(word.rpartition("=")[2]) for word in read)
        inside = (self.search.query.configs.get(folder, ()) for folder in folders)
        return named or next((files[0] for files in inside if len(files) == 1), "")

    def as_command_says(self, by_option: Mapping[str, Sequence[str]]) -> list[ast.stmt]:
        if not self.flags:
            return self.filled(by_option)
        words = [word for name in by_option for word in by_option[name]]
        parsed = ast.parse(f"{_FLAGS}(sys.argv, known_only=True)").body
        return [*arguments_of_script(words), *parsed, *self.filled()]

    def offered(self) -> Iterator[FilledIn]:
        """With each value that an option offers beside its default."""
        for name, (_, others) in self.choices.items():
            about = [node for node in self.statements if name in dict(assumed([node]))]
            for words in others:
                if contradicts({name: words}, about, self.every_option):
                    continue
                with suppress(NoWay):
                    given = tuple(w for each in {**self.chosen, name: words}.values() for w in each)
                    note = f"with {' '.join(words)}"
                    yield FilledIn(self.filled({name: words}), note, Command(given, ""))

    @cached_property
    def choices(self) -> dict[str, tuple[str, list[tuple[str, ...]]]]:
        """The options that the model depends on which offer several values: the default of each,
        and the words for its others."""
        choices: dict[str, tuple[str, list[tuple[str, ...]]]] = {}
        is_alone = self.named is not None and not self.search.query.needs_arguments(self.target)
        for name, option in {} if is_alone else self.every_option.items():
            if self.is_whole:
                is_read = self.search.decides(self.target, name)
            else:
                is_read = name in self.names - self.naming
            others = [*self.compared_with(name, option), *self.reaching(name, option)]
            if is_read:
                offered = () if RUN_SETTING.match(name) else self.values_beside(name, option)
                keys = [*self.keys_for(name, option), *self.keys_in_files(name, option)]
                others = [*offered, *keys, *others]
            if others:
                choices[name] = default_text(option) or "", [*dict.fromkeys(others)]
        return choices

    def values_beside(self, name: str, option: ast.Call) -> Iterator[tuple[str, ...]]:
        """The words for each value that an option offers beside its default, or that its default is
        one of where it is compared: `elif params.encoder == "resnet50"`."""
        yield from variants(option)
        texts, default = self.search.texts_compared(self.target, name), default_text(option)
        if default in texts:
            yield from (words_for(option, text) for text in texts if text != default)

    def compared_with(self, name: str, option: ast.Call) -> Iterator[tuple[str, ...]]:
        """The words for each value that a condition before the call compares an option with, and
        that no command gives it: `if args.data == "cifar100": classes = 100`."""
        if name in self.naming or RUN_SETTING.match(name) or _CHOOSES_MODEL.fullmatch(name):
            return
        given = {self.value(name, by_option) for by_option in self.options_of_commands}
        for text in tested(name, self.followed):
            if text not in (default_text(option), *given):
                yield words_for(option, text)

    def reaching(self, name: str, option: ast.Call) -> Iterator[tuple[str, ...]]:
        """The words by which the call is reached that stands where an option has not its default,
        `else: net = Small()`, and no command gives it another value: what is called there is what
        the value is called, most likely."""
        default, value = default_text(option), tail(dotted_name(self.call.func))
        if not self.asked or default is None or keyword(option, "choices"):
            return
        unreached = {*tested(name, self.asked)}
        given = {self.value(name, by_option) for by_option in self.options_of_commands}
        if default in unreached and value not in unreached and given <= unreached:
            yield words_for(option, value)

    @cached_property
    def asked(self) -> list[ast.stmt]:
        """The statements with no conditions but those under which the call is not reached; none
        where nothing asks for that."""
        others = [node for node in self.statements if not isinstance(node, ast.If)]
        conditions = (node for node in self.statements if isinstance(node, ast.If))
        asking = [node for node in conditions if ast.unparse(node.body[0]) == NOT_REACHED]
        return [*others, *asking] if asking else []

    @cached_property
    def followed(self) -> list[ast.stmt]:
        """The statements without those that end where a condition holds."""
        raising = (any(isinstance(n, ast.Raise) for n in ast.walk(s)) for s in self.statements)
        return [node for node, ends in zip(self.statements, raising, strict=True) if not ends]

    @cached_property
    def options_of_commands(self) -> list[dict[str, tuple[str, ...]]]:
        options = self.every_option
        return [c.by_option(options) for c in self.search.commands_of(self.home.path)]

    def beside(self) -> Iterator[tuple[Command, str]]:
        """The first command that names a config by its stem, by a name without its folder, or by
        the folder that it lies in, with each other one of its kind, and a note that says so:
        `--config small` of `open(f"configs/{args.config}.yaml")`, `--dir runs/small`."""
        commands = self.search.commands_of(self.home.path)
        said = {normpath(word) for command in commands for word in command.words}
        for command in commands:
            for at, flag in enumerate(command.words[:-1], 1):
                others = self.others_than(command.words[at], flag)
                for word in (word for word in others if normpath(word) not in said):
                    words = (*command.words[:at], word, *command.words[at + 1 :])
                    yield command._replace(words=words, place=""), f"with {flag} {word}"
                if others:
                    return

    def others_than(self, word: str, flag: str) -> Sequence[str]:
        """The names of the configs beside the one that a word means, which stands behind a flag."""
        query = self.search.query
        configs = query.configs
        if CONFIG_OPTION.match(flag) and not query.commands.is_config(word):
            is_whole = word.endswith(CONFIG_SUFFIXES)
            for_folder = (
                [basename(path) if is_whole else splitext(basename(path))[0] for path in paths]
                for paths in configs.values()
            )
            having = [names for names in for_folder if word in names]
            if len(having) == 1:
                return having[0]
        folder, option = normpath(word), flag.lstrip("-").replace("-", "_")
        inside = {*map(basename, configs.get(folder, ()))}
        if not inside or not self.is_read(option):
            return ()
        beside = (
            path
            for path, files in configs.items()
            if parent(path) == parent(folder) and not inside.isdisjoint(map(basename, files))
        )
        return [word.rstrip("/").removesuffix(basename(folder)) + basename(path) for path in beside]

    def keys_for(self, name: str, option: ast.Call) -> Iterator[tuple[str, ...]]:
        """The words for the other keys of a table that an option is one of, and for the other names
        of sizes: `SIZES[args.size]`, `sizes_of(args.size)`, `Net(variant=args.size)`."""
        size_names, default = self.search.query.size_names, default_text(option)
        parts = [(self.home, part) for part in (*self.statements, self.call)]
        parts += [(self.search.file_calls(text.path), function) for text, function in self.called]
        for calls, node in ((calls, node) for calls, part in parts for node in ast.walk(part)):
            keys: Sequence[str] = ()
            match node:
                case ast.Subscript(ast.Name(table), ast.Attribute(attr=attribute)):
                    _, entries = size_names.global_table(calls.path, table) or ("", ())
                    keys = [entry.name for entry in entries] if attribute == name else ()
                case ast.Call():
                    keys = self.sizes_given(calls, node, name)
            if default in keys:
                yield from (words_for(option, key) for key in keys if key != default)

    def sizes_given(self, calls: FileNames, call: ast.Call, option: str) -> Sequence[str]:
        """The names of sizes that what is called has for the parameter that is given the value of
        an option, with its default."""
        values = [*enumerate(call.args), *((item.arg, item.value) for item in call.keywords)]
        places = [
            at for at, value in values if isinstance(value, ast.Attribute) and value.attr == option
        ]
        dotted = dotted_name(call.func)
        symbol = calls.resolve(dotted) if places and calls.is_bound(dotted) else None
        if symbol is None or symbol.kind == "outside":
            return ()
        size_names = self.search.query.size_names
        qualname = f"{symbol.name}.__init__" if symbol.kind == "class" else symbol.name
        sizes = size_names.of(symbol.where, qualname)
        if sizes is None:
            return ()
        function = size_names.file(symbol.where).functions[qualname]
        names = {
            *places,
            *(item.arg for at, item in enumerate(function.positional) if at in places),
        }
        usual = text_of(function.defaults.get(sizes.parameter))
        known = [entry.name for entry in sizes.entries]
        return [*known, *filter(None, [usual])] if sizes.parameter in names else ()

    def keys_in_files(self, name: str, option: ast.Call) -> Iterator[tuple[str, ...]]:
        """The same for the keys at the top of a config file that the script reads, in whatever case
        it has them: `yaml.safe_load(file)[args.data]`."""
        default = default_text(option)
        if not (default and self.keys_read):
            return
        nodes = [node for statement in self.statements for node in ast.walk(statement)]
        holding = [n for n in nodes if isinstance(n, ast.Assign) and f".{name}" in ast.unparse(n)]
        names = {name, *(stored for node in holding for stored in stores(node))}
        if not names.isdisjoint(self.keys_read):
            others = self.search.query.keys_beside(default)
            yield from (words_for(option, key) for key in others)

    @cached_property
    def keys_read(self) -> set[str]:
        """The names by which items are looked up, where a config file is loaded; else none."""
        if not _LOADS.search(source_of(self.statements)):
            return set()
        nodes = (node for part in (*self.statements, self.call) for node in ast.walk(part))
        return {tail(dotted_name(n.slice)) for n in nodes if isinstance(n, ast.Subscript)}

    def is_read(self, name: str) -> bool:
        """Whether the model may depend on an option."""
        of = name.partition(".")[0]  # `--config.width=3`
        return {name, of} & self.names != set() or (
            self.is_whole and self.search.reads(self.target, name)
        )

    def value(self, option: str, chosen: Mapping[str, Sequence[str]]) -> str | None:
        """The one that an option has: by these words, or its default."""
        if option in chosen:
            return value_in(chosen[option])
        options = self.every_option | self.options_of_call
        return default_text(options[option]) if option in options else None

    def reader_of_words(self) -> list[ast.stmt] | None:
        """What has to run before in a script that reads the words of its command itself: nothing;
        or what sets its globals, which have defaults. None: it does not read them."""
        for node in self.home.tree.body if _SETS_GLOBALS.search(self.home.text.text) else ():
            code = ast.unparse(node) if isinstance(node, (ast.Expr, ast.For)) else ""
            if code.startswith("exec(open(") or ("sys.argv" in code and "globals()" in code):
                return [node]  # as nanoGPT does it
        for text, function in self.called:
            if READS_WORDS.search(text.text) and READS_WORDS.search(ast.unparse(function)):
                return []
            if not text.options and _PARSES.search(ast.unparse(function)):  # optparse
                return []
        if any(map(_parses_options, self.classes_called())):
            return []
        if not any(READS_WORDS.search(text) for text in (self.home.text.text, self.text_of_call)):
            return None
        nodes = [*self.statements, ast.Expr(self.call)]
        called = (tail(dotted_name(call.func)) for node in nodes for call in calls_in(node))
        if any(name in PARSES for name in called):  # `parser.parse_args(sys.argv[1:])`
            return None
        return [] if READS_WORDS.search(source_of(nodes)) else None

    @cached_property
    def called(self) -> list[tuple[SourceText, ast.stmt]]:
        """The functions of the project that the statements call, each with the text of its file."""
        called: list[tuple[SourceText, ast.stmt]] = []
        for symbol in self.symbols(*self.statements, self.call):
            function = self.search.definition(symbol) if symbol.kind == "function" else None
            if function:
                called.append((self.search.file_calls(symbol.where).text, function))
        return called

    def classes_called(self) -> Iterator[ast.ClassDef]:
        """The classes of which the statements make objects, and their bases:
        `TrainOptions().parse()`."""
        for symbol in self.symbols(*self.statements):
            owner = self.search.definition(symbol) if symbol.kind == "class" else None
            if isinstance(owner, ast.ClassDef):
                yield owner
                file = self.search.file_calls(symbol.where)
                yield from (base for _, base in file.bases(owner))

    def symbols(self, *nodes: ast.AST) -> Iterator[Symbol]:
        """What of the project these call."""
        calls = (inner for node in nodes for inner in calls_in(node))
        for name in dict.fromkeys(dotted_name(call.func) for call in calls):
            symbol = self.home.resolve(name) if name and self.home.is_bound(name) else None
            if symbol:
                yield symbol

    @cached_property
    def every_option(self) -> dict[str, ast.Call]:
        """Those of the file, and those that other files have for it."""
        return self.options_elsewhere | self.options

    @cached_property
    def options_elsewhere(self) -> dict[str, ast.Call]:
        """The options that functions of other files parse, or make a parser of, and those of their
        parsers."""
        texts = [text for text, _ in self.called if text.path != self.home.path]
        for call in (call for node in self.statements for call in calls_in(node)):
            name, _, method = dotted_name(call.func).rpartition(".")
            if method in PARSES:
                where, _ = self.search.query.size_names.home(self.home.path, name)
                if where not in ("", self.home.path):
                    texts.append(self.search.file_calls(where).text)
        parsing = (t.options for t in texts if re.search(r"parse_args\(|ArgumentParser\(", t.text))
        return {name: call for options in parsing for name, call in options.items()}
