"""The ways that one call of a wanted model is: the statements that it needs, with the options of
each command that gives some."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from nparam_lint.discover.syntax import FUNCTIONS, dotted_name
from nparam_lint.evidence import CommandRun
from nparam_lint.evidence.call_cuts import CallCuts
from nparam_lint.evidence.later_changes import change_by_caller, later_changes, note_on_change
from nparam_lint.evidence.object_changes import joined_notes, note_on
from nparam_lint.evidence.option_ways import OptionWays
from nparam_lint.evidence.options import is_reached
from nparam_lint.evidence.shorten import shortened
from nparam_lint.evidence.slices import LeftOut
from nparam_lint.evidence.statement_slices import ABSENT
from nparam_lint.evidence.statements import (
    BUILTINS,
    NOT_REACHED,
    NotRun,
    NoWay,
    loads,
    values_given,
)
from nparam_lint.ground.notation import Target
from nparam_lint.ground.script_words import SIZE_OF_DATA
from nparam_lint.ground.values import Position

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.evidence import Evidence
    from nparam_lint.evidence.call_cuts import Cut
    from nparam_lint.evidence.file_calls import FileCalls
    from nparam_lint.evidence.named_models import ChosenModel
    from nparam_lint.evidence.option_ways import FilledIn
    from nparam_lint.evidence.places import Place

SCRIPT, FACTORY, TEST, INSIDE = 10, 16, 30, 40  # ranks
_ENTRIES = 3  # of a table that a loop runs over, and callers that a condition chooses by
_TRIED = 12  # of them, with those that do not come to the call


class ModelCall(NamedTuple):
    """A call that gives a model. `part`: what stands behind it to get that; `named`: the option
    that names it; `note`: what is said of arguments that were left out; `as_made`: without what is
    done to the model after that; `is_chosen`: if what is called is this model."""

    place: Place
    target: Target
    part: str = ""
    named: ChosenModel | None = None
    note: str = ""
    as_made: bool = False
    is_chosen: bool = False


class CallWays:
    """The ways that a call in a file is. `later`: what changes the model after that."""

    def __init__(self, calls: FileCalls, model: ModelCall) -> None:
        self.calls, self.search, self.model = calls, calls.search, model
        self.place, self.target, self.call = model.place, model.target, model.place.call
        self.at = Position(calls.path, self.call.lineno, self.call.col_offset + 1)
        self.rank, self.is_inside = calls.placed(self.place)
        self.is_whole = not (self.is_inside or model.part or model.as_made)
        self.later = later_changes(calls, self.place, self.target) if self.is_whole else None
        self.is_bare = self.search.needs_nothing(self.target, self.call) and (
            self.rank >= TEST or not self.later
        )
        self.changing = [self.later.function] if self.later else []

    def evidence(self) -> Iterator[Evidence]:
        given = values_given(self.call)
        is_sketch = any(isinstance(v, ast.Constant) and v.value is Ellipsis for v in given)
        is_default = self.is_bare and not (self.filled or self.calls.prepares(self.target))
        if is_sketch or is_default:
            return
        read = loads(*self.call.args, *self.call.keywords)
        if self.is_inside and not read <= self.calls.text.available | BUILTINS:
            return  # its arguments are those of the model around it
        is_noted = bool(self.model.note or self.model.as_made)
        if self.rank == FACTORY and not is_noted and self.is_told_by_callers:
            at = change_by_caller(self.calls, self.place)
            self.model = self.model._replace(note=note_on_change(at) if at else "")
        # What a test does is no way that the model is published in.
        if self.later and self.rank < TEST and not self.later.asked_for:
            self.note_gap(f"{self.later.at} changes the model")
        if self.later and self.later.is_told:
            yield from self.without_changes(self.later.at)
        else:
            yield from self.followed()

    def without_changes(self, at: str) -> Iterator[Evidence]:
        """The ways of the call alone, of a model that is changed at a place behind it."""
        note = joined_notes(self.model.note, note_on_change(at))
        return CallWays(self.calls, self.model._replace(note=note, as_made=True)).evidence()

    def followed(self) -> Iterator[Evidence]:
        """The ways for each entry of a table, and for each of several callers."""
        named = self.model.named
        reached: Counter[str] = Counter()  # by the file that calls the function around the call
        for entry in range(_TRIED):
            try:
                cut = self.cut(entry)
                if cut is None:
                    return
                unknown = self.unknown_in(cut)
                options = OptionWays(self.calls, cut, self.call, self.target, named)
                filled = self.not_said_elsewhere([*options])
            except LeftOut:
                continue
            except (NoWay, RecursionError) as why:
                if self.model.is_chosen:
                    self.calls.not_followed[self.call] = why
                yield from self.not_followed(why)
                return
            is_commanded = any(way.command.place for way in filled)
            if not (self.is_inside or is_commanded) and (gap := options.not_followed()):
                self.note_gap(gap)
                self.note_place()
            if any(map(self.calls.is_replaced, self.place.classes)):
                self.note_place()
            self.search.followed.add(cut.home.path)
            for way in filled:
                needed, call = shortened(
                    [*way.statements, *self.changing], self.call, loads(*cut.read)
                )
                if needed and self.is_inside:
                    return
                if any(is_reached(node) is False for node in needed):
                    continue
                reached[cut.home.path] += 1
                needed = [node for node in needed if not is_reached(node)]
                yield self.told(way, call, replace(cut, statements=needed), unknown)
            if not cut.loops or reached[cut.home.path] >= _ENTRIES * len(filled):
                return

    def cut(self, entry: int) -> Cut | None:
        """The statements for one entry; None if the call is of another model. Raises NoWay."""
        calls = self.calls
        if self.model.is_chosen and (why := calls.not_followed.get(self.call)):
            raise why
        choice = self.choice()
        chosen = self.model.named.as_default(calls.text.options) if self.model.named else None
        cuts = CallCuts(calls, chosen) if chosen is not None else calls.cuts
        nodes = [*self.parts_to_cut(), *choice, *self.changing]
        cut = cuts.with_globals(self.place, self.target, nodes, entry)
        meant = calls.meant_by(dotted_name(self.call.func), cut) if choice else self.target
        if meant not in (None, self.target):
            if cut.loops:
                raise LeftOut("another entry may be of this model")
            return None
        statements = [*cut.statements, *(choice if meant is None else [])]
        return replace(cut, statements=statements, read=[*cut.read, *self.changing])

    def choice(self) -> list[ast.stmt]:
        """What ends the call where another model is called; nothing where none can be."""
        if not self.model.is_chosen:
            return []
        called = ast.unparse(self.call.func)
        if "partial" in self.calls.text.text:
            called = f"getattr({called}, 'func', {called})"
        test = f"if {called}.__name__ != {self.target.callable!r}: {NOT_REACHED}"
        return ast.parse(test).body

    def parts_to_cut(self) -> list[ast.AST]:
        """The arguments of the call; and what is called, where that has to be worked out."""
        called = self.call.func
        is_method = isinstance(called, ast.Attribute) and self.calls.target_by_builder(self.call)
        name = dotted_name(called)
        parts: list[ast.AST] = [*self.call.args, *self.call.keywords]
        if not (name and self.calls.is_bound(name)) or is_method:
            parts.append(called)
        if isinstance(called, ast.Subscript):  # `nets.__dict__[args.net]()`
            parts.append(called.slice)
        return parts

    def unknown_in(self, cut: Cut) -> str:
        """What a way says of what the statements read and nothing tells."""
        definition = self.calls.text.definitions.get(self.target.callable)
        is_factory = isinstance(definition, FUNCTIONS) and self.target.location == self.calls.path
        reading = [*cut.statements, ast.Expr(self.call)]
        reading += [definition] if definition and is_factory else []
        home = cut.home
        unknown = self.search.note_of(
            self.target, cut.unknown, home.path, home.text.options, reading
        )
        if unknown and self.rank < TEST and {of for of, _ in cut.unknown} != {ABSENT}:
            self.note_gap(unknown)
        filled = {} if home.is_script else self.filled
        if filled:
            self.note_place()
        return joined_notes(unknown, note_on(filled))

    @cached_property
    def filled(self) -> dict[str, str]:
        """What the model reads of config objects that a script fills before it comes to the call;
        and where it does."""
        if self.calls.is_script:
            return {}
        name = self.target.callable.partition(".")[0]
        return self.search.configs.read_by(self.target.location, name)

    def not_said_elsewhere(self, filled: list[FilledIn]) -> list[FilledIn]:
        """Those of the ways that options make of the call which are not told without it, too."""
        if self.is_bare and self.calls.is_whole_when_loaded(self.target):
            filled = [way for way in filled if way.command.place]
        if self.rank == FACTORY and self.is_told_by_callers:
            # What it offers beside, the calls of it say too.
            filled[1:] = [way for way in filled[1:] if way.command.place]
        return filled

    def told(self, way: FilledIn, call: ast.Call, cut: Cut, unknown: str) -> Evidence:
        """The evidence for a way, of whose statements the cut has those that are needed."""
        evidence = self.calls.evidence_of(
            self.target, call, cut, self.at, self.rank, self.model.part
        )
        recipe, later = evidence.recipe, ""
        if self.later:
            recipe = dataclasses.replace(recipe, call=self.later.made_to(str(recipe.call)))
            later = self.later.note(way.command.place, way.note)
        if "by default" in way.note:
            self.note_gap(f"{way.note}; as in {way.command.place}")
        note = joined_notes(unknown, self.model.note, way.note, later)
        command, is_script = way.command.place, self.rank < TEST and cut.home.is_script
        is_run = is_script and self.is_whole and not self.later  # it ends before that changes it
        run = CommandRun(cut.home.path, way.command, way.note) if is_run else None
        chosen_by = (*self.place.chosen_by, *way.command.names, *way.chosen_by)
        told = replace(
            evidence.way, note=note, command=command, name=way.config, chosen_by=chosen_by
        )
        return replace(evidence, way=told, recipe=recipe, run=run)

    def not_followed(self, why: Exception) -> Iterator[Evidence]:
        """The ways of a call that cannot be followed as it stands: without what changes the model
        after that, or without arguments that data would give. Else why it was not is kept."""
        if self.later:
            yield from self.without_changes(self.later.at)
        elif isinstance(why, NotRun) and why.place and not self.is_inside:
            self.note_gap(str(why))
            self.note_place()
            plain, left_out = self.without_data()
            if left_out:
                words = f"{', '.join(left_out)} by default, not as {why.name} ({why.place}) has it"
                note = joined_notes(words, self.model.note)
                model = self.model._replace(place=plain, note=note)
                yield from CallWays(self.calls, model).evidence()
        elif self.rank < TEST and not self.is_inside:
            reason = f"{why}() is not run" if isinstance(why, NotRun) else str(why)
            text = f"{self.at.path}:{self.at.line} builds it, but was not followed: {reason}"
            self.search.query.not_followed.setdefault(str(self.target), text)
            self.note_place()

    def note_gap(self, why: str) -> None:
        self.search.query.gaps.setdefault(str(self.target), why)

    def note_place(self) -> None:
        """That the call was not followed, as it is or as a command says it."""
        self.search.not_followed.setdefault(self.target, self.at)

    def without_data(self) -> tuple[Place, list[str]]:
        """The call without the arguments that only what is not run would give, as far as the
        default is None, or that of a number that data sets have; and their names."""
        parameters = self.search.query.parameters_of(self.target)
        defaults = {item.name: "" if item.required else item.default for item in parameters}
        names = [item.name for item in parameters if item.kind == "positional"]
        left_out: list[str] = []

        def is_left_out(name: str, value: ast.expr | ast.keyword) -> bool:
            default = defaults.get(name)
            if default == "None" or (default != "" and SIZE_OF_DATA.match(name)):
                try:
                    unknown = self.calls.cuts.of(self.place, [value], 0).unknown
                    read = {ast.unparse(n) for n in ast.walk(value) if isinstance(n, ast.Attribute)}
                    is_lost = not read.isdisjoint(map(".".join, unknown))
                except NotRun:
                    is_lost = True
                except (NoWay, RecursionError):
                    is_lost = False
                if is_lost:
                    left_out.append(name)
                return is_lost
            return False

        call = copy.copy(self.call)
        is_plain = not any(isinstance(item, ast.Starred) for item in call.args)
        given = [*zip(names, call.args, strict=False)] if is_plain else []
        kept = [not is_left_out(*item) for item in given]
        first = kept.index(False) if False in kept else len(call.args)
        behind = zip(given[first:], kept[first:], strict=True)  # by their names now
        keywords = [ast.keyword(name, value) for (name, value), is_kept in behind if is_kept]
        call.args = call.args[:first]
        call.keywords = [
            *keywords,
            *(item for item in call.keywords if not (item.arg and is_left_out(item.arg, item))),
        ]
        return replace(self.place, call=call), left_out

    @cached_property
    def is_told_by_callers(self) -> bool:
        """Whether a function around the call needs arguments: `main()` parses its own."""
        factories = (Target(self.calls.path, function.name) for function in self.place.functions)
        return any(map(self.search.query.needs_arguments, factories))
