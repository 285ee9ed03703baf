"""The command line: reads options, writes what the formatters return, and exits.

Exit codes: 0 clean (warnings may have been printed), 1 findings, 2 the question could not be
answered (usage, config, no interpreter with torch).
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeVar

from nparam_lint import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from nparam_lint.records import Report
    from nparam_lint.report import Options
    from nparam_lint.settings import Settings

T = TypeVar("T")

TABLES = 16  # a model zoo has hundreds; -v prints them all

COMMANDS = ("check", "show", "rule", "doctor")

HELP = """\
Check the parameter counts that a repository claims for its PyTorch models.

  nparam-lint [PATH…]        count the models under PATH (default: here), check their budgets
  nparam-lint show TARGET    the per-module table of one model, budget or none
  nparam-lint rule CODE      what a finding means, by example
  nparam-lint doctor         which interpreter, torch and config are used, and why

A budget is a line in the docstring of a model class or factory, or of its __init__:

    class Net(nn.Module):
        \"\"\"A small classifier.

        nparam: 86.6M                        right to the digit written
        nparam[encoder]: 12_582_912          one part, to the parameter
        nparam(depth=24): <= 354M            with other arguments
        nparam: 12*n_layer*d_model**2 ± 1%   a formula of the constructor's arguments
        \"\"\"

or a key of [tool.nparam-lint.budgets] in pyproject.toml: "nets/vit.py::ViT" = "86.6M".
A TARGET is LOCATION::CALLABLE(ARGUMENTS), such as nets/vit.py::ViT(depth=24) or, for an installed
package, timm::create_model('resnet50').

The models are really built, on PyTorch's meta device, by the project's own interpreter: the
project's code is executed, without network and without writing to your files.
"""

EPILOG = """\
exit codes: 0 clean, 1 findings, 2 the question could not be answered (usage, config, no torch)
the options of each command: nparam-lint check --help, nparam-lint show --help
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    argv = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that does not know ✓ gets a ?
            stream.reconfigure(errors="replace")
    try:
        try:
            return _run(argv, os.environ)
        finally:
            sys.stdout.flush()  # here, where a reader that is gone is no error
    except KeyboardInterrupt:
        print("nparam-lint: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `nparam-lint | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(argv: list[str], environ: Mapping[str, str]) -> int:
    parser = _parser()
    if not any(argument in COMMANDS for argument in argv[:1]) and not (
        argv[:1] and argv[0] in ("-h", "--help", "--version")
    ):
        argv = ["check", *argv]
    try:
        options = parser.parse_args(argv)
        return {"check": _check, "show": _show, "rule": _rule, "doctor": _doctor}[options.command](
            options, environ
        )
    except _UsageError as error:
        print(f"nparam-lint: {error}", file=sys.stderr)
        sys.stdout.write(_failure(argv, environ, str(error)))
        return 2


def _failure(argv: list[str], environ: Mapping[str, str], error: str) -> str:
    """What a program reads instead of a report; nothing in the formats for people."""
    from nparam_lint.records import Report
    from nparam_lint.report import FORMATS, Options

    name = environ.get("NPARAM_LINT_FORMAT", "")
    for at, argument in enumerate(argv):
        if argument == "--format":
            name = "".join(argv[at + 1 : at + 2])
        elif argument.startswith("--format="):
            name = argument.removeprefix("--format=")
    if name not in FORMATS or name == "text":
        return ""
    return FORMATS[name](Report(__version__, None, (), (), error=error), Options())


class _UsageError(Exception):
    """The question cannot be answered as it was put; the message says what to do."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise _UsageError(f"{message}\ntry: nparam-lint --help")


def _parser() -> _Parser:
    parser = _Parser(
        prog="nparam-lint",
        usage="nparam-lint [PATH…] | show TARGET | rule CODE | doctor",
        description=HELP,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help="show this text")
    parser.add_argument(
        "--version", action="version", version=f"nparam-lint {__version__}", help="show the version"
    )
    commands = parser.add_subparsers(dest="command", help=argparse.SUPPRESS)
    common = _common_options()
    check = commands.add_parser(
        "check",
        parents=[common],
        usage="nparam-lint [PATH…] [options]",
        description="Count the models under PATH and check their budgets.",
    )
    check.add_argument("paths", nargs="*", metavar="PATH", help="files or directories (default: .)")
    check.add_argument(
        "--declared", action="store_true", help="only models with a declared budget, as in the hook"
    )
    check.add_argument(
        "--tolerance", help='drift that is allowed where "86.6M" is declared: "0.5%%"'
    )
    check.add_argument("--select", metavar="CODES", help="report only these codes: NPL001,NPL013")
    check.add_argument("--ignore", metavar="CODES", help="do not report these codes")
    show = commands.add_parser(
        "show",
        parents=[common],
        usage="nparam-lint show TARGET [options]",
        description="The per-module table of any model: nets/vit.py::ViT(depth=24), "
        "torchvision.models::resnet50(). -v lists every parameter.",
    )
    show.add_argument("target", metavar="TARGET", help="LOCATION::CALLABLE(ARGUMENTS)")
    rule = commands.add_parser("rule", description="Explain a finding.")
    rule.add_argument("code", nargs="?", metavar="CODE", help="NPL001; without: all, a line each")
    commands.add_parser(
        "doctor",
        parents=[common],
        description="Print which interpreter, torch, devices and config are used, and why.",
    )
    return parser


def _common_options() -> _Parser:
    common = _Parser(add_help=False)
    out = common.add_argument_group("output")
    out.add_argument("--format", help="text (default), concise or json")
    out.add_argument("--output-file", metavar="FILE", help="write the report there instead")
    out.add_argument("--depth", help="how deep the tables go (default: what fits)")
    out.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    out.add_argument(
        "-v", "--verbose", action="count", default=0, help="more: what was skipped, why"
    )
    out.add_argument("-q", "--quiet", action="store_true", help="findings and summary only")
    build = common.add_argument_group("building")
    build.add_argument("--device", help="auto (meta, then cuda where present), meta, cpu, cuda")
    build.add_argument("--python", help="the project's interpreter or environment")
    build.add_argument("--config", metavar="FILE", help="config file (default: pyproject.toml)")
    build.add_argument("--timeout", metavar="SECONDS", help="for one model (default: 60)")
    build.add_argument("--memory", help='for one model: "8GB" (default: half of the machine\'s)')
    build.add_argument("--jobs", metavar="N", help="models built at a time (default: one a core)")
    return common


# --- commands ---------------------------------------------------------------------------------


def _check(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from nparam_lint.core import check

    paths = [Path(p) for p in options.paths]
    for path in paths:
        if not path.exists():
            target = "::" in str(path)
            hint = f"; to see one model: nparam-lint show '{path}'" if target else ""
            raise _UsageError(f"there is no file or directory {path}{hint}")
        if path.is_file() and path.suffix != ".py":
            raise _UsageError(f"{path} is no Python file: models are read from .py files")
    settings = _settings(options, environ, paths[0] if paths else Path.cwd())
    try:
        report = _guarded(
            lambda: check(
                settings,
                [p.absolute() for p in paths],
                environ,
                declared_only=options.declared,
                progress=_progress(),
            )
        )
    except ValueError as error:  # a path outside the project
        raise _UsageError(str(error)) from None
    from nparam_lint.report import FORMATS

    return _finish(report, FORMATS[settings.format](report, _options(options, settings)), options)


def _show(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from nparam_lint.core import show
    from nparam_lint.notation import Target, TextError, parse_target
    from nparam_lint.report import FORMATS
    from nparam_lint.report.show import render_show

    try:
        target = parse_target(options.target)
    except TextError as error:
        raise _UsageError(f"{options.target!r} is no target: {error}") from None
    start = Path.cwd()
    if target.is_path:
        start = Path(target.location)
        if not start.is_file():
            raise _UsageError(f"there is no file {target.location}")
    settings = _settings(options, environ, start)
    if target.is_path:
        inside = os.path.relpath(start.absolute(), settings.root).replace(os.sep, "/")
        target = Target(inside, target.callable, target.arguments)
    report = _guarded(lambda: show(settings, target, environ, _progress()))
    layout = _options(options, settings)
    if settings.format == "text" and report.models and not report.error:
        text = render_show(report.models[0], layout)
    else:
        text = FORMATS[settings.format](report, layout)
    return _finish(report, text, options, failed=_unbuilt(report))


def _rule(options: argparse.Namespace, _: Mapping[str, str]) -> int:
    from nparam_lint.rules import RULES, UnknownRule, explain

    if options.code is None:
        for code, rule in RULES.items():
            print(f"{code}  {rule.name:<28} {rule.summary}")
        return 0
    try:
        print(explain(options.code))
    except UnknownRule as error:
        raise _UsageError(str(error)) from None
    return 0


def _doctor(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    from nparam_lint.core import limits
    from nparam_lint.count.interpreter import find_interpreter
    from nparam_lint.count.run import run_jobs

    settings = _settings(options, environ, Path.cwd())
    found = _guarded(
        lambda: find_interpreter(settings.root, settings.python, settings.python_from, environ)
    )
    answers = run_jobs(found.python, settings.root, [], limits(settings), environ)
    limit = limits(settings)
    rows = [
        ("nparam-lint", f"{__version__} ({sys.executable})"),
        ("project", str(settings.root)),
        ("config", str(settings.config or "none: [tool.nparam-lint] in pyproject.toml would be")),
        ("budgets", f"{len(settings.budgets)} in the config"),
        ("python", f"{found.python}"),
        ("because", found.reason),
        *(("passed over", text) for text in found.passed_over),
        ("python version", answers.python or "?"),
        ("torch", answers.torch or f"cannot be imported: {answers.broken}"),
        ("devices", "meta, cpu" + (", cuda" if answers.cuda else "; no CUDA device")),
        (
            "limits",
            f"{limit.timeout:g} s and {limit.memory >> 20:,} MB a model, {limit.jobs} at a time",
        ),
    ]
    for name, value in rows:
        print(f"{name:<15} {value}")
    if answers.torch is None:
        print("\nnext: install torch there, or name the interpreter that has it with --python PATH")
        return 2
    return 0


# --- shared -----------------------------------------------------------------------------------


def _settings(options: argparse.Namespace, environ: Mapping[str, str], start: Path) -> Settings:
    from nparam_lint.discover import find_root
    from nparam_lint.report import FORMATS
    from nparam_lint.settings import ConfigError, load_settings

    config = Path(options.config).absolute() if options.config else None
    if config is not None and not config.is_file():
        raise _UsageError(f"there is no config file {options.config}")
    names = ("python", "device", "tolerance", "timeout", "memory", "jobs", "format", "depth")
    given = {name: getattr(options, name, None) for name in (*names, "select", "ignore")}
    root = config.parent if config else find_root(start.absolute())
    if given["python"] and os.sep in given["python"]:
        given["python"] = str(Path(given["python"]).expanduser().absolute())
    try:
        settings = load_settings(root, config, environ, given)
    except ConfigError as error:
        raise _UsageError(f"the configuration is wrong\n{error}") from None
    if settings.format not in FORMATS:
        import difflib

        near = difflib.get_close_matches(settings.format, FORMATS, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {', '.join(FORMATS)}"
        raise _UsageError(f"there is no format {settings.format!r}; {hint}")
    return settings


def _guarded(work: Callable[[], T]) -> T:
    """Errors of the user's environment as usage errors."""
    from nparam_lint.count.interpreter import NoInterpreter

    try:
        return work()
    except NoInterpreter as error:
        raise _UsageError(str(error)) from None


def _progress() -> Callable[[int, int, str], None] | None:
    """A line on the terminal that says how far the counting is; nothing elsewhere."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, every: int, label: str) -> None:
        width = shutil.get_terminal_size().columns
        text = "" if done == every else f"counting {done}/{every}  {label}"[: width - 1]
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    return show


def _finish(report: Report, text: str, options: argparse.Namespace, failed: bool = False) -> int:
    """Write the report, and say with the exit code what came out."""
    if text and not text.endswith("\n"):
        text += "\n"
    if options.output_file:
        try:
            Path(options.output_file).write_text(text, encoding="utf-8")
        except OSError as error:
            raise _UsageError(f"cannot write {options.output_file}: {error.strerror}") from None
    else:
        sys.stdout.write(text)
        sys.stdout.flush()
    if report.error:
        print(f"nparam-lint: {report.error}", file=sys.stderr)
        return 2
    return int(failed or any(f.severity == "error" for f in report.findings))


def _unbuilt(report: Report) -> bool:
    from nparam_lint.records import NotMeasured

    return any(isinstance(model.measurement, NotMeasured) for model in report.models)


def _options(options: argparse.Namespace, settings: Settings) -> Options:
    from nparam_lint.report import Options

    return Options(
        width=_width(),
        color=_color(options, os.environ),
        depth=settings.depth,
        verbose=options.verbose,
        quiet=options.quiet,
        tables=TABLES if not options.verbose else sys.maxsize,
        place=" ".join(getattr(options, "paths", ())),
        declared_only=getattr(options, "declared", False),
    )


def _width() -> int:
    """The width of the terminal, also where a hook runner stands between it and us."""
    columns = shutil.get_terminal_size((0, 0)).columns
    if columns == 0:
        try:
            with Path("/dev/tty").open() as terminal:
                columns = os.get_terminal_size(terminal.fileno()).columns
        except OSError:
            pass
    return columns or 100


def _color(options: argparse.Namespace, environ: Mapping[str, str]) -> bool:
    if options.color != "auto":
        return bool(options.color == "always")
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    terminal = not options.output_file and sys.stdout.isatty()
    return terminal and environ.get("TERM") != "dumb"
