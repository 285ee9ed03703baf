"""`nparam-lint annotate FILE|TARGET`: the source, with what each line makes in the margin."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from nparam_lint.cli import common
from nparam_lint.cli.targets import locate, show_named
from nparam_lint.count.measured import NotMeasured
from nparam_lint.gate import models_of_file
from nparam_lint.ground.errors import UsageError
from nparam_lint.ground.paths import place_of
from nparam_lint.report.annotate_document import annotate_document

USAGE = "nparam-lint annotate FILE|TARGET [options]"
DESCRIPTION = (
    "The source, with what each line makes of a model in the margin: how many parameters, how "
    "often, and their share. A line counts what it calls in other files and packages, so that the "
    "lines of a file add up. For a FILE, its models, as far as each has lines of its own."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("what", metavar="FILE|TARGET", help="nets/vit.py, nets/vit.py::ViT, ViT")
    common.add_output(
        parser,
        "",
        verbose="whole files, and all models of a FILE",
        quiet="only the annotated source",
        depth="",
    )
    common.add_building(parser)


def run(options: Namespace) -> int:
    text, file = options.what, None
    if "::" not in text and (text.endswith(".py") or Path(text).exists()):
        (path,) = common.checked_paths([text])
        if path.is_dir():
            step = f"next: nparam-lint {text} lists its models"
            raise UsageError(f"{text} is a directory, expected a file or a target\n{step}")
        session = common.session_for(options, path)
        file = place_of(path, session.root)
        with common.showing_progress(session) as session:
            report = models_of_file(session, path)
    else:
        session, target, _ = locate(options, text)
        with common.showing_progress(session) as session:
            report = show_named(session, [target])
    document = annotate_document(report, session.root, text, file)
    failed = all(isinstance(model.measurement, NotMeasured) for model in report.models)
    return common.deliver(document, options, session, failed=failed)
