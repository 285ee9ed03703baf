"""Scripts that the worker runs as a command says, up to the model, where no other evidence says
what that command builds. What other evidence says is compared with runs, see `Evidence.as_run`."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.evidence import CommandRun, Evidence
from nparam_lint.evidence.call_search import HELP
from nparam_lint.evidence.commands import Command, is_to_fill_in, names_by_flag
from nparam_lint.evidence.containment import find_containment
from nparam_lint.evidence.options import lacks_value
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import (
    CONFIG_OPTION,
    DATA_FILE,
    LATER_SCRIPT,
    RUN_SETTING,
    SEED,
    TEST_FILE,
)
from nparam_lint.ground.values import Position, Way

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping, Sequence

    from nparam_lint.evidence.file_calls import CalledFiles
    from nparam_lint.ground.notation import Target

_RANK = 12
_MOST = 48  # runs
_NAMED = 3  # models of a script that it names and does not call
_LOOKED_UP = 12  # of one that imports them, or looks them up by their names
_LOOKS_UP = late_pattern(r"import_module\(|getattr\(|globals\(\)|\beval\(|__import__\(")
_IMPORTS = late_pattern(r"import_module\(|__import__\(|\bregister\w*\(")
_MODULE = late_pattern(r"[A-Za-z_]\w*(?:\.\w+)+")
_SEED = late_pattern(rf"(?<!\S)--?{SEED.pattern}[= ]\S+ ?")


class ScriptRuns:
    """The runs of the scripts of a project. `told`: the evidence that there is without them."""

    def __init__(self, files: CalledFiles, told: Sequence[Evidence]) -> None:
        self.files = files
        self.built = {evidence.target for evidence in told}
        self.by_script: dict[str, list[Evidence]] = defaultdict(list)
        for evidence in told:
            if evidence.run:
                self.by_script[evidence.run.script].append(evidence)
        self.called = files.not_followed

    def __iter__(self) -> Iterator[Evidence]:
        """First one run of each script, those of commands that the README shows before others, and
        last of scripts that want a checkpoint. One run tells of all its models."""
        scripts = sorted(self.files.discovery.tree.files)
        scripts.sort(key=lambda script: LATER_SCRIPT.search(script) is not None)
        runs = grouped(
            (
                (number, not self.files.query.is_named_command(evidence.way.command), evidence)
                for script in scripts
                if not (DATA_FILE.search(script) or TEST_FILE.search(script))
                for number, evidence in self._of_script(script)
            ),
            lambda run: (run[2].file, run[0]),
        )
        for run in sorted(runs.values(), key=lambda run: run[0][:2])[:_MOST]:
            yield from (evidence for *_, evidence in run)

    def _of_script(self, script: str) -> Iterator[tuple[int, Evidence]]:
        """The runs of a script, with the number of the command."""
        ways = [*islice(self._ways(script), _MOST)]
        if not ways:
            return
        targets = self._targets(script, {way.command: way.name for way, _ in ways if way.command})
        told = {(e.target, e.way.command or e.way.name) for e in self.by_script[script]}
        for number, (way, run) in enumerate(ways):
            for target, at in targets.items():
                is_default = not (way.command or way.name)
                if (target, way.command or way.name) in told or (
                    is_default and target in self.built
                ):
                    continue
                here = at or Position(script, 1, 1)
                way_there = way if way.kind == "config" else replace(way, position=here)
                key = target, script, run.command.words
                recipe, is_guess = run.recipe(target), at is None
                found = Evidence(target, way_there, script, recipe, _RANK, key, is_guess=is_guess)
                yield number, found

    def _ways(self, script: str) -> Iterator[tuple[Way, CommandRun]]:
        """What says how a script is run: its commands, and the config files that it reads; if none
        does, but a model is called there, that it is run without options."""
        at = Position(script, 1, 1)
        different: dict[object, Command] = {}  # of those that differ in their seeds the first
        notes: dict[str, str] = {}  # by places
        options = self.files.file_calls(script).text.options
        needed = {
            flag for flag, name in names_by_flag(options).items() if lacks_value(options[name])
        }
        for written in self.files.query.commands.of(script):
            command, gaps = _without_gaps(written)
            if gaps is None or not needed.isdisjoint(gaps):
                continue
            words = _SEED.sub("", " ".join(command.words))
            if different.setdefault((words, command.environ), command) is command and gaps:
                names = ", ".join(gap.lstrip("-") for gap in gaps)
                notes[command.place] = f"{names} by default, not as the command says"
        for command in sorted(different.values(), key=lambda command: command.place in notes):
            given = (word.rpartition("=")[2].removeprefix("./") for word in command.words)
            config = next(filter(self.files.query.commands.is_config, given), "")
            note = notes.get(command.place, "")
            way = Way("call", at, config, note, command.place, command.names)
            yield way, CommandRun(script, command, note)
        for evidence in self.by_script[script]:
            if evidence.way.kind == "config" and evidence.run and not evidence.way.command:
                yield replace(evidence.way, note=""), evidence.run
        is_called = any(place.path == script for place in self.called.values())
        if not different and is_called and self.files.file_calls(script).is_script:
            yield Way("call", at), CommandRun(script, Command((), ""))

    def _targets(self, script: str, commands: Mapping[str, str]) -> dict[Target, Position | None]:
        """The models that a script may make, each with where it is called: those of which a way
        there is known; those of which a call was not followed; else those that it, a command or its
        config names; and, with no place, those that nothing says how to build. `commands`: their
        configs by places."""
        known = {
            evidence.target: evidence.way.position
            for evidence in self.by_script[script]
            if evidence.way.kind == "call"
        }
        files = [script, *self._modules_named(script)]
        reached = {*self.files.discovery.tree.may_run_with(files)}
        called = {target: at for target, at in self.called.items() if at.path in reached}
        here = {target: at for target, at in called.items() if at.path == script}
        every = known | here or dict(islice(called.items(), _NAMED))
        wholes = {target: at for target, at in every.items() if str(target) not in self.parts}
        targets: dict[Target, Position | None] = {**(wholes or every)}
        if known or script in self.files.followed or not commands:
            return targets
        names = self.files.file_calls(script).text.module_names & self.files.by_name.keys()
        symbols = (self.files.names.resolve(script, name) for name in sorted(names))
        named = [*filter(None, map(self.files.target_of, symbols))]
        for config in dict.fromkeys(filter(None, commands.values())):
            words = re.findall(r"\w+", self.files.query.content(config).decode("utf-8", "replace"))
            for name in sorted(self.files.by_name.keys() & words):
                named += self.files.by_name[name]
        looks_up = bool(_LOOKS_UP.search(self.files.query.text(script)))
        all_commands = self.files.query.commands.of(script)
        said = [word for command in all_commands for word in command.words]
        said_words = {part for word in said for part in re.findall(r"\w+", word)}
        likely = [t for t in self.unknown if t.location in reached or t.callable in said_words]
        said_or_named = {*named, *(target for target in likely if target.callable in said_words)}
        groups = [(named, _NAMED), (likely, _LOOKED_UP)]
        if looks_up or not self.importing.isdisjoint(reached - {script}):
            groups.append((self.unknown, _NAMED))
        groups += [(self.wholes, _LOOKED_UP)] if looks_up else []
        few = (group for group, most in groups if len(group) <= most)
        at = Position(script, 1, 1)
        return {t: at if t in said_or_named else None for t in chain(*few)} | targets

    def _modules_named(self, script: str) -> Iterator[str]:
        """The files that commands of a script name as modules: `--config-module configs.large`."""
        for command in self.files.query.commands.of(script):
            for word in command.words:
                name = word.rpartition("=")[2]
                if _MODULE.fullmatch(name):
                    file = self.files.discovery.tree.module_file(name.replace(".", "/"))
                    yield from [file] if file else []

    @cached_property
    def importing(self) -> set[str]:
        """The files that import modules by their names, or register what they define."""
        paths = self.files.discovery.tree.files
        return {path for path in paths if _IMPORTS.search(self.files.query.text(path))}

    @cached_property
    def parts(self) -> Container[str]:
        """The models that are parts of others."""
        return find_containment(self.files.discovery).users

    @cached_property
    def wholes(self) -> list[Target]:
        """The models that nothing tells how they are built, and that are no part of another."""
        targets = self.files.query.targets
        return [t for t in targets if t not in self.built and str(t) not in self.parts]

    @cached_property
    def unknown(self) -> list[Target]:
        """Those of them that need arguments."""
        return [*filter(self.files.query.needs_arguments, self.wholes)]


def _without_gaps(command: Command) -> tuple[Command, list[str] | None]:
    """A command without the options whose values a reader has to fill in, and these; of what a
    model does not depend on, such as the directory of the data, a gap is as good as a value. None:
    it shows the help, or an argument has to be filled in."""
    if not HELP.isdisjoint(command.words):
        return command, None
    words: list[str] = []
    gaps: list[str] = []
    flag = ""
    for word in command.words:
        is_flag = word.startswith("-") or "=" in word
        flag = word.partition("=")[0] if is_flag else flag
        is_of_run = RUN_SETTING.match(flag.lstrip("-")) and not CONFIG_OPTION.match(flag)
        if not is_to_fill_in(word) or is_of_run:
            words.append(word)
            continue
        if not (is_flag or words[-1:] == [flag]):
            return command, None
        words = words if is_flag else words[:-1]
        gaps.append(flag)
    return command._replace(words=(*words,)), gaps
