"""`nparam-lint merge REPORT.json…`: judge a run that was divided among machines, as a whole."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from nparam_lint.cli import common
from nparam_lint.gate.union import united
from nparam_lint.ground.errors import UsageError
from nparam_lint.report.check_document import check_document
from nparam_lint.report.shard_data import read_shard

USAGE = "nparam-lint merge REPORT.json… [options]"
DESCRIPTION = (
    "Put together what all shards of a run found (nparam-lint --shard 1/3 --format json "
    "--output-file 1.json), print it as the check of the whole would, and exit as it would. "
    "Nothing is built, and no source is read."
)
_NEXT = "next: write it with nparam-lint --shard 1/3 --format json --output-file FILE"


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("reports", nargs="*", metavar="REPORT.json", help="one of each shard")
    common.add_output(parser, "findings")
    parser.set_defaults(config=None, no_cache=True)


def run(options: Namespace) -> int:
    if not options.reports:
        raise UsageError("which reports?\nnext: nparam-lint merge shard-*.json")
    session = common.session_for(options, Path.cwd())
    reports = {}
    for name in options.reports:
        try:
            data: Any = json.loads(Path(name).read_bytes())
        except OSError as error:
            raise UsageError(f"cannot read {name}: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{name} is not JSON, or was cut off: {error}") from None
        is_ours = isinstance(data, dict) and isinstance(data.get("tool"), dict)
        if not is_ours or data["tool"].get("name") != "nparam-lint" or "models" not in data:
            step = "next: write one with nparam-lint --format json --output-file FILE"
            raise UsageError(f"{name} is not the JSON report of a check by nparam-lint\n{step}")
        if "shard" not in data:
            if data.get("error"):
                raise UsageError(f"{name} says that its run failed: {data['error']}")
            raise UsageError(f"{name} is no report of a shard: it is about a whole run\n{_NEXT}")
        try:
            reports[name] = read_shard(data["shard"])
        except ValueError as error:
            message = f"{name} is damaged, its shard cannot be read: {error}\n{_NEXT}"
            raise UsageError(message) from None
    report, notes = united(reports)
    for note in notes:
        common.tell(note)
    return common.deliver(check_document(report), options, session)
