"""Commands that run scripts of the project, in its texts and shell scripts: they give options their
values."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections import Counter
from contextlib import suppress
from functools import cached_property
from itertools import islice, product, takewhile
from operator import itemgetter
from posixpath import normpath
from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.evidence.directories import Directories
from nparam_lint.evidence.options import is_made_up, takes_rest, values_taken, words_of
from nparam_lint.evidence.shell_arguments import takes_arguments, with_arguments
from nparam_lint.evidence.shell_texts import is_makefile, is_script, plain_text, plain_texts
from nparam_lint.ground.paths import CONFIG_SUFFIXES, ancestors, is_doc, join, parent
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from nparam_lint.evidence import EvidenceQuery

_IN_LINE = r"(?:[^\n\\]|\\(?![ \t]*\n))*?"
_REDIRECTED = r"[12&]?>>?(?:&[12]|[ \t]*[\w./-]+)"
_MORE = r"[ \t]+(?:--?\w|[12&]?>)"  # options, or another redirection
# What a command goes on with: in quotes, in substitutions and behind a redirection, too.
_REST = (
    r"(?:<[^<>\n]+>|(?<=[\s=])(?:\"[^\"\n]*\"|'[^'\n]*')|\$\([^()\n]*\)"
    r"|(?:(?<=[\w=/-])|(?=`(?:basename|date|dirname|hostname|pwd)\b))`[A-Za-z][^`\n]*`(?=\s|\w|$)"
    rf"|{_REDIRECTED}(?={_MORE})"
    r"|[^\n\\;|&>`]|\\[;&|>]|\\[ \t]*(?:#[^\n]*)?\n?)"
)
_COMMAND = late_pattern(
    r"(?:\b(?:python3?|torchrun|launch|deepspeed|srun|composer"
    r"|(?:uv|poetry|pdm|rye|lightning|fabric)[ \t]+run)\b"
    rf"(?:{_IN_LINE}\\[ \t]*\n){{0,24}}?{_IN_LINE}|(?<!\S)(?=\./[\w./-]+\.py\b))"
    r"(?:(?<![\w./-])((?:\$[{(]?\w+[)}]?/)?[\w./-]+\.py)\b|"
    r"[ \t]-m[ \t]+(?!torch\.|deepspeed\.|accelerate\.)(\w+(?:\.\w+)+|\w+(?![^\n]*\.py\b)))"
    rf"({_REST}*)"
)
# What a package installs: `mynet = "mynet.cli:main"`, in the files that declare it.
_ENTRY_POINT = late_pattern(rb"[\"']?([\w-]+)[\"']?[ \t]*=[ \t]*[\"']?([a-zA-Z_][\w.]*):\w+")
_DECLARE_ENTRY_POINTS = ("pyproject.toml", "setup.cfg", "setup.py")
_CONTINUED = late_pattern(r"\\[ \t]*(#[^\n]*)?\n")  # `\ # of the network` of a README
_IN_CELL = late_pattern(r"[ \t]*\\?`[ \t]*<br[ \t]*/?>[ \t]*`")  # one that goes on in a table
# A call of a shell script, and what stands before it in its line.
_SHELL_CALL = late_pattern(
    r"(?:\b(?:bash|sh|zsh|source|sbatch|qsub)[ \t]+(?:-\S+[ \t]+)*|(?<![\w./-])(?=[\w.-]*/))"
    r"([\w./-]+\.(?:sh|bash|sbatch|slurm))(?=[\s`;&|)]|$)()"
    rf"({_REST}*)"
)
_BEFORE_CALL = late_pattern(
    r"(?:.*(?:[`;&|]|(?<!\])\(|\b(?:do|then|else)\b))?[ \t]*(?:[$>%@][ \t]*)?"
    r"(?:(?:\w+=\S*|-\S+|nohup|srun|time|exec|sudo)[ \t]+)*"
)
_SIGNS = (b".py", b" -m ", b".sh", b".bash", b".sbatch", b".slurm")
_ARGUMENT = late_pattern(r"\$\{?[1-9@*]")
_VARIABLE = late_pattern(
    r"(?:^|;|\bdo\b)[ \t]*(?:(?:(?:export|local|readonly)[ \t]+)?(?P<name>\w+)"
    r"(?:(?P<more>\+?)=(?P<value>\"[^\"]*\"|'[^']*'|\([^()]*\)|[^\s;]+)"
    r"|[ \t]*(?P<adds>\+?)(?:[:?]=|(?<=[+ \t])=)[ \t]*(?P<line>[^\n#]*))"  # of a Makefile
    r"|for[ \t]+(?P<item>\w+)[ \t]+in[ \t]+(?P<items>[^\n;]+)"
    r"|(?P<rule>[\w.-]+[ \t]*):[ \t]*(?P<its>\w+)[ \t]*[:?+]?=[^\n]*)",
    re.MULTILINE,
)
_COMMENT = late_pattern(r"(?<!\S)#[^\n]*")
_UNKNOWN = late_pattern(r"[$\[\]<>{}…]|\.\.\.")  # of a value that a reader has to fill in
_WRITTEN = late_pattern(r"(?:[\w-]+=)?([{\[].*[}\]])$")  # `{'depth': 18}`, as Python or as JSON
_LIST = late_pattern(  # of Hydra, `dims=[1,2]`; of fire, `[lin,conv]`
    r"(?:^(?=\[[\d,. -]*\]$|\[['\"a-z0-9_]+,)|=)\[[a-z0-9_,.'\" -]*\]$"
)
_REPLACED = late_pattern(r"^your_|\bpath/to/")  # of one that a reader replaces by another
_TO_FILL_IN = late_pattern(
    r"\$\{?\w+\}?|\{[^{}]*\}|<[^<>]*>|\[[^\[\]]*\]|(?<![\w.-])[A-Z][A-Z_]*(?=\.\w+$)"
    r"|(?<=/)(?:my|your)(?:[-_]\w+)?(?=\.\w+$)"
)
_ANY_CONFIG = late_pattern(
    r"(?:[A-Z]+_)*(?:CONFIG|CFG|YAML)(?:_[A-Z]+)*"
    r"|[<{\[](?:[\w/-]+[-_/])?(?i:config|cfg|yaml)(?:[-_](?:file|path|ya?ml))*(?:\.ya?ml)?[>}\]]"
    r"|(?:\S*\bpath/to/(?:\S*[-_/])?|your[-_])(?:config|cfg)(?:[-_]file)?\.(?:ya?ml|json|toml)"
)
# Behind the last value: `--width=50 [this is per layer]`
_REMARK = late_pattern(
    r"((?<!\S)(?:--?[\w-]+=\S+|[^\s-]\S*))[ \t]+"
    r"(?:\([A-Za-z][^()]*\)|\[[A-Za-z][^\[\]]*\s[^\[\]]*\])\s*$"
)
_GAP_OF_WORDS = late_pattern(r"(?<![^\s=])(?:<[A-Za-z][\w /.,-]*>|\[[A-Za-z][\w /.,-]*\])")
_GAP_IN_BRACKETS = late_pattern(r"((?<!\S)--?[\w-]+)[ \t]+\(([A-Za-z][\w /.,-]*)\)")
_SUBSTITUTION = late_pattern(r"`([^`]*)`|\$\(([^()]*)\)")
_REDIRECTION = late_pattern(rf"(?<=\s){_REDIRECTED}(?={_MORE}|\s*$)")
_USE = late_pattern(r"\$([{(])?(\w+)(?:\[[@*]\])?(?(1)[})])")
_ALL_OF_ARRAY = late_pattern(r"\"(\$\{\w+\[[@*]\]\})\"")
_OPEN_FOLDER = late_pattern(r"^\$(?:[{(]\w+[)}])?")  # of a script
_UNKNOWN_VALUE = late_pattern(r"\$\{?([A-Za-z_]\w*)\}?")
_OR_ELSE = late_pattern(r"\$\{(\w+):?[-=]([^{}]*)\}")
_VALUE = late_pattern(r"[^-]|-\.?\d|$")
_EXPORTED = late_pattern(r"^[ \t]*export[ \t]+(\w+)\b", re.MULTILINE)
_BEFORE = late_pattern(r"(\b\w+=\S+[ \t]+)+$")  # a command: `WIDTH=8 python train.py`
_LAUNCHER = late_pattern(
    r"(?:torchrun|launch|deepspeed|distributed\.run|composer|(?:lightning|fabric)[ \t]+run)\b"
)
_LARGE = 400_000
_LARGE_PLAIN = 20_000  # of what is only text: what is longer is a log
_DEEP = 3  # shell scripts that call each other
_ENTRIES = 32  # of loops around a command
_CONFIGS, _OF_ANY = 64, 8  # files that one name may mean; and `<config>`, if no README names more
_OF_CONFIGS = late_pattern(r"(^|/)(conf|cfg)\w*/")


_NAME = late_pattern(r"[A-Za-z][\w.-]*")


def is_to_fill_in(word: str) -> bool:
    """Whether a word of a command stands for a value that a reader has to fill in."""
    if (written := _WRITTEN.match(word)) and "..." not in word:
        for read in (ast.literal_eval, json.loads):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                read(written[1])
                return False
    return bool(_UNKNOWN.search(_LIST.sub("", word)))


class Command(NamedTuple):
    """`words`: after the script; `place`: where it stands; `environ`: the variables before it;
    `folder`: the directory that it is run in, from the root; `is_launched`: by what tells each of
    several processes which one it is, as torchrun does; `filled`: the config put in for a gap."""

    words: tuple[str, ...]
    place: str
    environ: tuple[tuple[str, str], ...] = ()
    folder: str = ""
    is_launched: bool = False
    filled: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The values that it gives which may be names."""
        values = (word.rpartition("=")[2] for word in self.words)
        return tuple(value for value in values if _NAME.fullmatch(value))

    def leading(self, options: Mapping[str, ast.Call]) -> tuple[tuple[str, ...], int]:
        """The words that it begins with, a subcommand and what belongs to that, with the options
        before them, if all of these are declared; and how many words these are."""
        flags = names_by_flag(options)
        before = 0
        while before < len(self.words) and self.words[before].startswith("-"):
            flag, is_whole, _ = self.words[before].partition("=")
            if flag not in flags:
                return (), 0
            most = 0 if is_whole else values_taken(options[flags[flag]])
            following = self.words[before + 1 : before + 1 + most]
            before += 1 + len([*takewhile(_VALUE.match, following)])
        rest = [*takewhile(lambda word: not word.startswith("-"), self.words[before:])]
        return self.words[: before + len(rest)], before

    def by_option(self, options: Mapping[str, ast.Call]) -> dict[str, tuple[str, ...]]:
        """The words for each of the options that it gives, those that nothing declares among them,
        and the positional arguments; if all is known of them."""
        return self.split(options)[0]

    def split(
        self, options: Mapping[str, ast.Call]
    ) -> tuple[dict[str, tuple[str, ...]], dict[str, tuple[str, ...]]]:
        """The same, and the words for the options whose values a reader has to fill in."""
        flags = names_by_flag(options)
        words_of_option: dict[str, tuple[str, ...]] = {}
        loose: list[str] = []  # words that no flag takes
        name, most = "", 0
        for word in self.words:
            flag, is_whole, _ = word.partition("=")
            if flag.startswith("-") and not _VALUE.match(flag):
                name, is_attached = flags.get(flag, ""), False
                if not name and flag.startswith("--"):  # argparse takes what can mean only one
                    meant = {flags[text] for text in flags if text.startswith(flag)}
                    name = meant.pop() if len(meant) == 1 else ""
                elif not name:
                    name, is_attached = flags.get(flag[:2], ""), flag[:2] in flags  # -k3
                name = name or flag.lstrip("-").replace("-", "_")
                words_of_option[name] = (word,)
                most = 0 if is_whole or is_attached else values_taken(options.get(name))
            elif most and _VALUE.match(word):
                words_of_option[name] += (word,)
                most -= 1
            else:
                loose.append(word)
        arguments = [name for flag, name in flags.items() if not flag.startswith("-")]
        if loose and len(arguments) == 1 and takes_rest(options[arguments[0]]):
            words_of_option[arguments[0]] = tuple(loose)
        elif len(loose) == len(arguments):
            places = zip(arguments, loose, strict=True)
            words_of_option = {name: (word,) for name, word in places} | words_of_option
        complete: dict[str, tuple[str, ...]] = {}
        to_fill_in: dict[str, tuple[str, ...]] = {}
        for name, given in words_of_option.items():
            is_gap = any(is_to_fill_in(word) or _REPLACED.search(word) for word in given)
            is_gap = is_gap or is_made_up(name, options.get(name), given)
            (to_fill_in if is_gap else complete)[name] = given
        return complete, to_fill_in


def names_by_flag(options: Mapping[str, ast.Call]) -> dict[str, str]:
    """The options by their flags, and by their names where they have none."""
    return {flag: name for name, call in options.items() for flag in words_of(call)}


def words_of_path(path: str) -> set[str]:
    return {*filter(None, re.split("[^a-z0-9]+", path.lower()))}


def telling_words(configs: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    """The words in the paths of each script and its `configs` that no other script's have."""
    words = {s: words_of_path(s).union(*map(words_of_path, configs[s])) for s in configs}
    return {
        script: own.difference(*(others for other, others in words.items() if other != script))
        for script, own in words.items()
    }


def likeness_of(path: str, words: Collection[str]) -> tuple[int, int]:
    """How many of the words stand in a path: first of those without digits, which sizes have."""
    common = words_of_path(path).intersection(words)
    return sum(word.isalpha() for word in common), len(common)


class Commands:
    """The commands in the texts and shell scripts of a project."""

    def __init__(self, query: EvidenceQuery) -> None:
        self._texts = dict.fromkeys(query.other_files)  # in their order
        self._readme = query.readme
        self._modules = query.discovery.tree.files  # among which configs may be
        self._read = query.content
        scripts = [path for path in self._texts if is_script(path) and not is_makefile(path)]
        self._directories = Directories({*self._modules, *scripts}, self._texts)
        self._called: set[str] = set()  # shell scripts of which a call with arguments is known
        self._seen: set[str] = set()  # folders of Python configs

    def of(self, script: str) -> Sequence[Command]:
        """The commands that run a script: by its path, or by its name alone, where none of that
        name is nearer to the text; and of texts beside or below the directory that they are run in
        by the path from there."""
        parts = script.split("/")
        names = dict.fromkeys((script, script.removeprefix("src/"), parts[-1]))
        every = [
            (order, command)
            for name in names
            for order, command in self._by_script.get(name, ())
            if self._nearest(name, command.place) in (script, "")
        ]
        for depth in range(1, len(parts) - 1):
            place = "/".join(parts[:depth]) + "/"
            inner = self._by_script.get("/".join(parts[depth:]), ())
            every += [pair for pair in inner if pair[1].place.startswith(place)]
        commands = (command for _, command in sorted(dict.fromkeys(every), key=itemgetter(0)))
        return [c for c in commands if not c.filled or self._reads(script, c.filled)]

    def _reads(self, script: str, config: str) -> bool:
        """Whether a config that is filled into a command of a script may be one of its own: it is
        not named in a command of another script, nor called like those that are."""
        reading = [name for name, configs in self.configs.items() if config in configs]
        if not reading:
            likeness = {s: likeness_of(config, words) for s, words in self._telling.items()}
            most = max(likeness.values(), default=(0, 0))
            reading = [name for name, like in likeness.items() if like == most > (0, 0)]
        return not reading or script in reading or script not in self.configs

    @cached_property
    def _telling(self) -> dict[str, set[str]]:
        return telling_words(self.configs)

    @cached_property
    def configs(self) -> dict[str, set[str]]:
        """The configs that commands name, by their scripts, those with none that is named too."""
        configs: dict[str, set[str]] = {}
        for script, commands in self._by_script.items():
            if script in self._modules:
                words = (w.rpartition("=")[2] for _, c in commands if not c.filled for w in c.words)
                named = {w.removeprefix("./") for w in words if w.endswith(CONFIG_SUFFIXES)}
                if named or any(command.filled for _, command in commands):
                    configs[script] = named
        return configs

    def _nearest(self, name: str, place: str) -> str:
        """The file that is called so from the nearest folder around a text; "" for none."""
        paths = (join(folder, name) for folder in ancestors(parent(place)))
        return next((path for path in paths if path in self._modules), "")

    @cached_property
    def _installed(self) -> dict[str, str]:
        """The commands that the package installs, and the scripts that they run."""
        scripts: dict[str, str] = {}
        for path in _DECLARE_ENTRY_POINTS:
            for name, module in _ENTRY_POINT.findall(self._read(path)):
                script = module.decode().replace(".", "/") + ".py"
                if any(at in self._modules for at in (script, f"src/{script}")):
                    scripts[name.decode()] = script
        return scripts

    @cached_property
    def _plain(self) -> dict[str, str]:
        """The texts that may have commands, as they are read."""
        texts: dict[str, str] = {}
        for path in self._texts:
            is_read = is_doc(path) or path.endswith(".txt") or is_script(path)
            source = self._read(path) if is_read else b""
            most = _LARGE_PLAIN if path.endswith(".txt") else _LARGE
            names = [name for name in self._installed if name.encode() in source]
            is_command = names or any(sign in source for sign in _SIGNS)
            if len(source) > most or not is_command:
                continue
            text = source.decode("utf-8", "replace").replace("\r\n", "\n")
            text = _IN_CELL.sub(" ", text)
            for name in names:  # at the start of a line, with options
                run = rf"^[ \t]*(?:[$>%][ \t]*)?{re.escape(name)}"
                run += r"(?=[ \t]+(?:[^\n]*[ \t])?(?:-|\\\n))"
                text = re.sub(run, f"python {self._installed[name]}", text, flags=re.MULTILINE)
            texts[path] = plain_text(text) if is_script(path) else text
        return texts

    @cached_property
    def _with_arguments(self) -> list[str]:
        """The shell scripts that take arguments."""
        scripts = (path for path in self._plain if is_script(path) and not is_makefile(path))
        return [path for path in scripts if takes_arguments(self._plain[path])]

    @cached_property
    def _by_script(self) -> dict[str, list[tuple[int, Command]]]:
        every: list[tuple[str, str, int, Command]] = []
        for path, text in self._plain.items():
            numbers: Counter[str] = Counter()
            is_named = path.encode() in self._readme
            for script, command in self._commands_of(path, text):
                numbers[script] += 1
                # Those of texts, then of shell scripts that the README has the reader run; then
                # the first of each other shell script before the second of any.
                order = 0 if is_doc(path) else 1 if is_named else 1 + numbers[script]
                every.append((path, script, order, command))
        commands: dict[str, list[tuple[int, Command]]] = {}
        for path, script, order, command in every:
            if path in self._called and any(map(_ARGUMENT.search, command.words)):
                continue
            beside = normpath(join(parent(path), script))
            for name in {script, script if script in self._modules else beside}:
                commands.setdefault(name, []).append((order, command))
                package = f"{name.removesuffix('.py')}/__main__.py"  # of `python -m package`
                commands.setdefault(package, []).append((order, command))
        return commands

    @cached_property
    def _without_arguments(self) -> dict[str, set[tuple[str, tuple[str, ...]]]]:
        """The commands of each shell script that takes arguments, as it says them by itself."""
        return {
            path: {
                (named, command.words)
                for text in plain_texts(self._plain[path])
                for _, named, command in _commands(path, text)
            }
            for path in self._with_arguments
        }

    def _commands_of(
        self, path: str, text: str, callers: tuple[str, ...] = ()
    ) -> Iterator[tuple[str, Command]]:
        """(script, command) of each command in a text, with those of the shell scripts that it
        calls; `callers`: those that call it, with arguments that all commands depend on."""
        known = self._without_arguments[path] if callers else ()
        for plain in plain_texts(text) if is_script(path) else [text]:
            for start, named, command in _commands(path, plain):
                if (named, command.words) in known:
                    continue
                for folder, script in self._directories.of_script(path, plain, start, named):
                    for full in self._for_each_config(command, folder):
                        if is_script(script):
                            yield from self._in_call(script, full, (*callers, path))
                        else:
                            yield script, full

    def _in_call(
        self, name: str, call: Command, callers: tuple[str, ...]
    ) -> Iterator[tuple[str, Command]]:
        """(script, command) of those in a shell script that takes arguments, where it is called."""
        near = (join(at, name) for at in (parent(callers[-1]), ""))
        path = next((at for at in map(normpath, near) if at in self._with_arguments), "")
        if not path:
            ends = f"/{name.rpartition('/')[2]}"
            paths = [at for at in self._with_arguments if f"/{at}".endswith(ends)]
            path = paths[0] if len(paths) == 1 else ""
        if not path or path in callers or len(callers) > _DEEP:
            return
        words = [_UNKNOWN_VALUE.sub(r"<\1>", word) for word in call.words]
        environ = {name: _UNKNOWN_VALUE.sub(r"<\1>", value) for name, value in call.environ}
        known = [pair for pair in call.environ if "$" not in pair[1]]
        kept = {name: value for name, value in known if not _sets(self._plain[path], name)}
        is_open = any(map(_ARGUMENT.search, words))
        text = with_arguments(_with_environ(self._plain[path], environ), words)
        for script, command in self._commands_of(path, text, callers):
            if not is_open and any(map(_ARGUMENT.search, command.words)):
                continue
            self._called.update([path] if words and not is_open else ())
            beside = normpath(join(parent(path), script))
            _, filled, config = command.place.partition(" with ")
            yield (
                script if script in self._modules or beside not in self._modules else beside,
                command._replace(
                    place=f"{call.place}{filled}{config}",
                    environ=tuple((kept | dict(command.environ)).items()),
                    folder=command.folder or call.folder,
                    filled=command.filled or call.filled,
                ),
            )

    def _for_each_config(self, command: Command, folder: str) -> Iterator[Command]:
        """A command for each config file that it may mean, if one of its words may mean several;
        `folder`: the directory that it is run in."""
        words = tuple(self._from_root(word, command.place, folder) for word in command.words)
        command = command._replace(words=words, folder=folder)

        def with_file(at: int, file: str, flag: str = "") -> Command:
            filled = (*words[:at], f"{flag}={file}" if flag else file, *words[at + 1 :])
            place = f"{command.place} with {file}"
            return command._replace(words=filled, place=place, filled=file)

        for at, word in enumerate(words):
            flag, _, path = word.rpartition("=")
            if files := self._meant_by(path.removeprefix("./"), parent(command.place)):
                yield from (with_file(at, file, flag) for file in files)
                return
        yield command
        for at, word in enumerate(words):
            yield from (with_file(at, file) for file in self._beside(word.removeprefix("./")))

    def is_config(self, path: str) -> bool:
        """Whether this is a config file of the project, which may be one in Python."""
        is_python = path in self._modules and bool(_OF_CONFIGS.search(path))
        return is_python or (path in self._texts and path.endswith(CONFIG_SUFFIXES))

    def _from_root(self, word: str, place: str, folder: str) -> str:
        """A word with the path of a config file as it is from the root, where a command is run in
        a folder, in that of its text, or beside the checkout: `net/configs/a.yaml`."""
        flag, sign, path = word.rpartition("=")
        path = path.removeprefix("./")
        there = normpath(join(folder, path)) if folder else path
        if not path.endswith(CONFIG_SUFFIXES) or (path in self._texts and there == path):
            return word
        here = normpath(join(parent(place.rpartition(":")[0]), path))
        places = (there, path, here, path.partition("/")[2])
        return next((f"{flag}{sign}{at}" for at in places if at in self._texts), word)

    def _beside(self, config: str) -> list[str]:
        """The Python configs beside one that a command names; for the first command alone."""
        folder = parent(config)
        if config not in self._modules or not _OF_CONFIGS.search(config) or folder in self._seen:
            return []
        self._seen.add(folder)
        files = (path for path in sorted(self._modules) if parent(path) == folder)
        plain = [path for path in files if not path[len(folder) + 1 :].startswith("_")]
        return [path for path in plain if path != config][:_CONFIGS]

    def _meant_by(self, path: str, folder: str) -> list[str]:
        """The config files that one with a gap may be, `configs/{NAME}.yaml`, if all lie in one
        directory, or beside the text with the command, in `folder`; or `CONFIG.yaml`, if they lie
        below one. Those that the README names first; `<config-file>`, `path/to/config.yaml` and
        `configs/<data>/<name>.yaml` are these, or a few. One that is there is none with a gap."""
        if path in self._texts:
            return []
        if _ANY_CONFIG.fullmatch(path):
            every = (self._meant_by(f"CONFIG{suffix}", folder) for suffix in CONFIG_SUFFIXES)
            files = next(filter(None, every), [])
            if path[:1].isupper():
                return files
            return files[: self._few(files)]
        template = _TO_FILL_IN.split(path)
        if len(template) == 1 or not path.endswith(CONFIG_SUFFIXES):
            return []
        name = re.compile("(?:.*/)?" + r"(?!\.)[^/]+".join(map(re.escape, template)))
        files = [file for file in self._texts if name.fullmatch(file)]
        beside = [file for file in files if folder and parent(file) == folder]
        near = [file for file in files if folder and file.startswith(f"{folder}/")]
        files = beside or near or [file for file in files if _OF_CONFIGS.search(file)] or files
        files.sort(key=lambda file: file.encode() not in self._readme)
        is_any = "/" not in path and path[:1].isupper()
        places = {file.partition("/")[0] if is_any else parent(file) for file in files}
        is_of_folders = template[0].endswith("/") and "/" in "".join(template[1:])
        is_there = any(f"/{file}".endswith(f"/{path}") for file in files)
        if is_there or (len(places) != 1 and not is_of_folders):
            return []
        is_name = not (beside or is_any or "/" in path)
        most = self._few(files) if is_of_folders else _CONFIGS
        return [file.rpartition("/")[2] if is_name else file for file in files[:most]]

    def _few(self, files: Sequence[str]) -> int:
        """How many of config files that may be meant are tried: those that the README names, or a
        few."""
        return max(sum(at.encode() in self._readme for at in files), _OF_ANY)


def _commands(path: str, text: str) -> Iterator[tuple[int, str, Command]]:
    """(offset, script, command) of each command in a text; and of those before whose variables get
    other values, as a text says it that names the flags of each model and the command once."""
    values: dict[str, list[str]] = {}  # several of what a loop runs over
    using: dict[str, re.Match[str]] = {}
    changed: dict[str, int] = {}  # variable → where

    def again() -> Iterator[tuple[int, str, Command]]:
        for line, command in using.items():
            if places := [changed[name] for name in _used(line) if name in changed]:
                for item in _filled(path, text, command, min(places), values):
                    yield command.start(), *item
        changed.clear()

    variables = [*_VARIABLE.finditer(text)]
    for match in reversed(variables):
        values |= {} if match["more"] or match["adds"] else _value(match, {})
    calls = [call for call in _SHELL_CALL.finditer(text) if _is_call(text, call.start())]
    for match in sorted((*variables, *_COMMAND.finditer(text), *calls), key=re.Match.start):
        if match.re.pattern == _VARIABLE.pattern:
            ((name, _),) = (value := _value(match, values)).items()
            if name in changed:
                yield from again()
            values |= value
            changed[name] = match.start()
            continue
        for name in _used(match[3]):
            changed.pop(name, None)  # it is this command that they are for
        yield from again()
        using |= {match[3]: match} if _USE.search(match[3]) else {}
        for item in _filled(path, text, match, match.start(), values):
            yield match.start(), *item
    yield from again()


def _is_call(text: str, start: int) -> bool:
    """Whether a command may begin there."""
    return bool(_BEFORE_CALL.fullmatch(text, text.rfind("\n", 0, start) + 1, start))


def _used(text: str) -> list[str]:
    """The variables that a text uses."""
    return [name for _, name in _USE.findall(text)]


def _value(match: re.Match[str], values: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """The variable that an assignment sets, or a loop to each of some; `values`: those before."""
    if match["item"]:
        words = [word.strip("'\"") for word in match["items"].split()]
        return {match["item"]: words or [""]}
    if match["its"]:
        return {match["its"]: ["…"]}  # for one rule of a Makefile
    name, value = match["name"], (match["value"] or match["line"] or "").strip("'\"")
    if value[:1] == "(":  # an array
        value = " ".join(_COMMENT.sub("", value[1:-1]).split())
    before = (values.get(name) or [""])[0]
    if match["more"] or match["adds"]:
        value = f"{before} {value}".strip()
    elif name in _used(value) and name in values:
        value = _with_values(value, {name: before})
    return {name: [_OR_ELSE.sub(lambda m: m[2] if m[1] == name else m[0], value)]}


def _filled(
    path: str, text: str, match: re.Match[str], start: int, values: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, Command]]:
    """The command of a match, with the values of its variables: in a loop, with each."""
    template = _CONTINUED.sub(" ", match[3])
    template = _REMARK.sub(r"\1", template)
    template = _GAP_IN_BRACKETS.sub(r"\1 <\2>", template)
    template = _GAP_OF_WORDS.sub(lambda gap: gap[0].replace(" ", "-"), template)
    template = _SUBSTITUTION.sub(_as_one_word, _REDIRECTION.sub("", template))
    if template.count(")") > template.count("("):  # `(cd demo; python train.py)`
        template = template.rpartition(")")[0]
    script = match[1] or match[2].replace(".", "/") + ".py"
    before = _BEFORE.search(text, text.rfind("\n", 0, match.start()) + 1, match.start())
    own = before[0] if before else ""
    used = _used(f"{own} {script} {template}")
    used += [name for use in used for value in values.get(use, ()) for name in _used(value)]
    names = [name for name in dict.fromkeys(used) if len(values.get(name, ())) > 1]
    place = f"{path}:{text.count(chr(10), 0, start) + 1}"
    head = text[match.start() : match.start(1 if match[1] else 2)]
    is_launched = _LAUNCHER.search(head) is not None
    exported = [name for name in _EXPORTED.findall(text, 0, match.start()) if name in values]
    for chosen in islice(product(*(values[name] for name in names)), _ENTRIES):
        values_here = {name: each[0] for name, each in values.items()} | dict(
            zip(names, chosen, strict=True)
        )
        line, path_there = template, script
        environ = {name: values_here[name] for name in exported} | _variables(own)
        for _ in range(2):  # a variable may be made of others
            line, path_there = (_with_values(text, values_here) for text in (line, path_there))
            environ = {name: _with_values(value, values_here) for name, value in environ.items()}
        if not is_script(script):
            environ = {name: value for name, value in environ.items() if "$" not in value}
        path_there = _OPEN_FOLDER.sub("", path_there).removeprefix("./")
        command = Command(_words(line), place, tuple(environ.items()), is_launched=is_launched)
        yield path_there, command


def _as_one_word(substitution: re.Match[str]) -> str:
    return f"$({'-'.join((substitution[1] or substitution[2] or '').split())})"


def _words(line: str) -> tuple[str, ...]:
    has_comment = re.search(r"(?<!\S)#", line) is not None  # not `exp#1`
    try:
        return tuple(shlex.split(line, comments=has_comment))
    except ValueError:  # a quote that stands alone
        return tuple(word.strip("'\"") for word in line.split())


def _variables(assignments: str) -> dict[str, str]:
    """`WIDTH=8 DEPTH=2`, before a command."""
    pairs = (word.partition("=") for word in _words(assignments))
    return {name: value for name, _, value in pairs}


def _sets(text: str, name: str) -> bool:
    """Whether a shell script sets a variable to something else than what it was."""
    return bool(re.search(rf"^[ \t]*{name}=(?![\"']?\$\{{?{name}\b)", text, re.MULTILINE))


def _with_environ(text: str, environ: Mapping[str, str]) -> str:
    """A shell script as it is with these variables: `${DEPTH:-3}` and `$DEPTH` are what they say,
    unless it sets them."""
    text = _OR_ELSE.sub(lambda match: environ.get(match[1], match[0]), text)
    return "".join(f"{name}={shlex.quote(value)};" for name, value in environ.items()) + text


def _with_values(line: str, values: Mapping[str, str]) -> str:
    """With what variables are: `${DEPTH:-3}` is 3 where the text sets none."""
    line = _OR_ELSE.sub(lambda match: values.get(match[1], match[2]), line)
    line = _ALL_OF_ARRAY.sub(r"\1", line)
    return _USE.sub(lambda match: values.get(match[2], match[0]), line)
