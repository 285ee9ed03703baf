"""Commands that name a config file, and change what it says: `train.py -c a.yaml net.depth=3`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nparam_lint.discover.syntax import tail
from nparam_lint.ground.paths import CONFIG_SUFFIXES
from nparam_lint.ground.patterns import late_pattern
from nparam_lint.ground.script_words import CONFIG_OPTION, RUN_SETTING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.evidence import EvidenceQuery

# A group of settings that no model has.
_OF_RUN = late_pattern(
    r"(?i)(train\w*|val\w*|test\w*|eval\w*|solver|optim\w*|scheduler|lr\w*|aug\w*|loader|log\w*|tta)\."
)
_CHANGE = late_pattern(r"([A-Za-z_]\w*(?:\.\w+)+)(?:$|(=).)")


def is_of_run(key: str) -> bool:
    """Whether a key sets something of the run, which no model depends on: `trainer.gpus`."""
    return bool(_OF_RUN.match(key) or RUN_SETTING.match(tail(key)))


class ConfigCommand(NamedTuple):
    """A command that names a `config`, relative to the root, behind a `flag`; `words`: its others;
    `place`: where it stands. `leading`: those that have to stand before the config, a subcommand
    with the options before it, where there are any."""

    script: str
    config: str
    flag: str
    words: tuple[str, ...]
    place: str
    leading: tuple[str, ...] = ()

    @property
    def changes(self) -> tuple[str, ...]:
        """The words that set values for the model: `model.depth 164`, `model.depth=164`."""
        changes: list[str] = []
        for word, value in zip(self.words, (*self.words[1:], ""), strict=False):
            match = _CHANGE.match(word)
            if match is None or word.endswith(CONFIG_SUFFIXES):
                continue
            if not is_of_run(match[1]):
                changes += [word] if match[2] else [word, value]
        return tuple(changes)


def config_commands(query: EvidenceQuery, script: str) -> Iterator[ConfigCommand]:
    """Those of a script that has an option for a config file."""
    has_subparsers = "add_subparsers" in query.text(script)
    for command in query.commands.of(script):
        words = command.words
        for at, (before, word) in enumerate(zip(("", *words), words, strict=False)):
            flag, _, config = word.rpartition("=")
            start = at - (not flag and before.startswith("-"))
            flag = flag or (before if start < at else "")
            is_other = flag not in ("", "-c") and not CONFIG_OPTION.match(flag)
            if config.endswith(CONFIG_SUFFIXES) and not is_other:  # as `--data coco.yaml` is
                path = query.seen_from(script, config.removeprefix("./"))
                leading = words[:start] if has_subparsers else ()
                others = words[len(leading) : start] + words[at + 1 :]
                yield ConfigCommand(script, path, flag, others, command.place, leading)
