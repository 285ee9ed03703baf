"""The command line: reads options, hands over to a command, and exits.

Exit codes: 0 no findings (there may be warnings), 1 findings, 2 the check could not run (usage,
config, no interpreter with torch).
"""

from __future__ import annotations

import argparse
import codecs
import io
import os
import signal
import sys
import textwrap
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

from nparam_lint.cli import common
from nparam_lint.ground import version
from nparam_lint.ground.errors import UsageError, defect
from nparam_lint.ground.nearest import did_you_mean
from nparam_lint.ground.temporary import remove_all

# Each is a module of `nparam_lint.cli`, with `_` for `-`.
COMMANDS = tuple(
    "check claims merge show annotate compare formula solve sweep diff history update init "
    "install-hook rule doctor lsp clean completion schema".split()
)

# Where an encoding lacks these (ASCII, Windows' cp1252). Bars and ticks take the place of one
# character, so that columns stay straight.
_ALIKE = {
    **dict.fromkeys("▏▎▍", "-"),
    **dict.fromkeys("▌▋▊▉", "="),
    "█": "#",
    **dict.fromkeys("─–—−", "-"),
    "✓": "+",
    "✗": "x",
    "×": "x",
    "Δ": "*",
    "·": "-",
    "…": "~",
    "≈": "~",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "±": "+/-",
}
_LOOK_ALIKES = "nparam-lint"  # the handler of characters that an encoding lacks

# What others call it, and what to type here.
_ELSEWHERE = {
    "list": "nparam-lint lists the models, nparam-lint claims what is stated of them",
    "explain": "nparam-lint rule CODE",
    "version": "nparam-lint --version",
    "fix": "nparam-lint update",
    "install": "nparam-lint install-hook",
    "count": "nparam-lint PATH, or nparam-lint show TARGET",
}

# With the line of a prompt below it, it fills a terminal of 24 lines.
HELP = """\
Check the parameter counts that a repository claims for its PyTorch models.

every day   [PATH…]          count the models below PATH, judge their budgets
            show TARGET      the per-module table of nets/vit.py::ViT(depth=24)
            claims [PATH…]   every count that the repository states
            diff REV         what changed since a revision
            update           write current counts into budgets that do not hold
to begin    init             write a budget for every model that has none
            install-hook     check what is staged, at every commit
to explore  compare TARGET…  several models side by side
            annotate FILE    the source, with what each line makes in the margin
            formula TARGET   the closed form of the count, derived and verified
            history TARGET   the count of one model at each commit
to size     solve TARGET…    arguments that come nearest to a budget
            sweep TARGET     the count of each of many configurations
to repair   rule CODE        what a finding means, by example
            doctor           which interpreter, torch and config are used, why
machinery   clean, merge, lsp, completion, schema, --version
"""

EPILOG = """\
exit codes: 0 no errors (perhaps warnings), 1 errors, 2 the check could not run
a budget is a line in a docstring, `nparam: 86.6M`, or a key of the config
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # the shell closed it: `>&-`
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 (for as long as we run)
    codecs.register_error(_LOOK_ALIKES, _look_alikes)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that does not know ✓ gets a +
            stream.reconfigure(errors=_LOOK_ALIKES)
    # A hook runner gives up, or a terminal is closed: temporary files must still be removed.
    for name in ("SIGTERM", "SIGHUP"):
        with suppress(AttributeError, ValueError):  # not on Windows; not in the main thread
            if signal.getsignal(getattr(signal, name)) == signal.SIG_DFL:  # else nohup
                signal.signal(getattr(signal, name), signal.default_int_handler)
    code = 2
    try:
        try:
            code = _run(argv, os.environ, argv if arguments is None else None)
        except SystemExit:  # argparse has printed what was asked for
            code = 0
            raise
        finally:
            try:
                sys.stdout.flush()  # here, where a reader that is gone is no error
            finally:
                process = sys.modules.get("nparam_lint.count.worker_process")
                if process:  # it may have been started early, for nothing
                    process.wait_for_end()
        return code
    except KeyboardInterrupt:
        with suppress(KeyboardInterrupt):
            remove_all()
        print("nparam-lint: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `nparam-lint 2>&1 | head`
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return code
    except OSError as error:  # standard output has no room
        print(f"nparam-lint: cannot write: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    except Exception as error:  # and no document could say so
        print(f"nparam-lint: {defect(error)}", file=sys.stderr)
        return 2


def _look_alikes(error: UnicodeError) -> tuple[str, int]:
    """What stands for the characters that an encoding lacks, and where to go on; a handler of
    errors as `codecs.register_error` takes it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_ALIKE.get(character, "?") for character in wrong), error.end


def _run(argv: list[str], environ: Mapping[str, str], words: list[str] | None) -> int:
    """Run a command, and report what ended it. `words`: those of the shell, where they are."""
    first = argv[0] if argv else ""
    command = options = None
    try:
        if first == "help":
            name = argv[1] if argv[1:] else None
            if name not in (None, *COMMANDS):
                hint = did_you_mean(str(name), COMMANDS, f"there are: {', '.join(COMMANDS)}")
                raise UsageError(f"there is no command {name}{hint}")
            parser = parser_of(name)[1] if name else general_parser()
            parser.print_help()
            return 0
        if first in ("-h", "--help", "--version"):
            general_parser().parse_args(argv)  # prints and exits
        name, rest = _command_in(argv)
        # Only the command that is asked for: the others import what this one has no use for.
        command, parser = parser_of(name)
        parser.set_defaults(words=words, environ=environ)
        options = parser.read(rest)
        return int(command.run(options))
    except BrokenPipeError:
        raise
    except Exception as error:
        message = str(error) if isinstance(error, UsageError) else defect(error)
        if isinstance(error, PermissionError):  # wherever it is: the user can tell what it is for
            message = f"cannot read or write {error.filename}: {error.strerror}\n"
            message += "next: give yourself access to it, or name other paths"
        elif isinstance(error, FileNotFoundError) and error.filename is None:  # of `os.getcwd`
            message = "the current directory is no more\nnext: cd to another one"
        return common.deliver_failure(message, argv, environ, command, options)


def _command_in(argv: list[str]) -> tuple[str, list[str]]:
    """The command, and its words: it may stand behind options. Raises UsageError for a word that
    another tool has for one."""
    first = argv[0] if argv else ""
    if first in COMMANDS:
        return first, argv[1:]
    if first in _ELSEWHERE and not os.path.exists(first):  # noqa: PTH110
        raise UsageError(f"there is no command {first}; next: {_ELSEWHERE[first]}")
    if first.startswith("-") and not set(COMMANDS).isdisjoint(argv):
        options, _ = parser_of("check")[1].parse_known_args(argv)
        word = next(iter(options.paths), "")
        if word in COMMANDS and not os.path.exists(word):  # noqa: PTH110
            at = argv.index(word)
            return word, [*argv[:at], *argv[at + 1 :]]
    return "check", argv


def parser_of(name: str) -> tuple[Any, Parser]:
    """The module of a command, and what reads its options."""
    command = import_module(f"nparam_lint.cli.{name.replace('-', '_')}")
    prog = f"nparam-lint {name}"
    texts = {"usage": command.USAGE, "description": command.DESCRIPTION}
    parser = Parser(prog=prog, **texts, formatter_class=_Paragraphs)
    parser.set_defaults(command=name)
    command.add_arguments(parser)
    return command, parser


class _Paragraphs(argparse.HelpFormatter):
    """As wide as the terminal; what is indented stays as it is laid out."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        parts = text.strip().split("\n\n")
        return "\n\n".join(p if p[0] == " " else fill(p, width, indent) for p in parts)

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


_NEAR = 0.7  # how much an option must be like another to be meant for it


class Parser(ArgumentParser):
    """Raises UsageError, which says what may have been meant."""

    def read(self, words: Sequence[str]) -> Namespace:
        options, unread = self.parse_known_intermixed_args(words)
        for word in unread:
            if word.startswith("-"):
                name, options_here = word.partition("=")[0], self._option_string_actions
                hint = did_you_mean(name, options_here, cutoff=_NEAR)
                self.error(f"{self.prog} has no option {word}{hint}")
        if unread:
            self.error(f"found {unread[0]!r}, expected nothing more")
        return options

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}\ntry: {self.prog} --help")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            hint = did_you_mean(value, action.choices, f"expected {', '.join(action.choices)}")
            raise argparse.ArgumentError(action, f"found {value!r}{hint}")


def general_parser() -> Parser:
    """Of what can be asked without a command."""
    parser = Parser(
        prog="nparam-lint",
        usage="nparam-lint [PATH…] | COMMAND … | help COMMAND",
        description=HELP,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help=argparse.SUPPRESS)
    parser.add_argument(
        "--version",
        action="version",
        version=f"nparam-lint {version.__version__}",
        help=argparse.SUPPRESS,
    )
    return parser
