"""What it costs to find the ways in which a repository builds its models."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from speed.measure import Invalid, Result, Target, compare
from speed.scan import copied

if TYPE_CHECKING:
    from speed.measure import Bench

# CPU seconds of this process and of those that it starts.
_FIND = """\
import json, resource
from pathlib import Path
from nparam_lint.discover import discover
from nparam_lint.discover.files import list_configs, list_files, list_texts, reader
from nparam_lint.discover.scan import scan_source
from nparam_lint.evidence import EvidenceQuery
from nparam_lint.evidence.sources import find_evidence
from nparam_lint.gate.rules.lint import scan_and_lint
from nparam_lint.ground.notation import Target

def used():
    who = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, who))

root, taken = Path.cwd(), [used()]
files = list_files(root)
for scan in (scan_and_lint, scan_source):
    found = discover(root, files, scan=scan)
    taken.append(used())
others = [*list_configs(root, (), None, None), *list_texts(root, (), None)]
wanted = {Target(item.path, item.qualname) for item in found.definitions}
ways = sum(1 for _ in find_evidence(EvidenceQuery(found, wanted, others, reader(root))))
taken.append(used())
print(json.dumps([ways, len(wanted), *(b - a for a, b in zip(taken, taken[1:]))]))
"""


def ways(bench: Bench) -> Result:
    """CPU seconds of all processes, on the source tree of transformers as in `scan`.

    Ours: finding every way to build each of its models (calls in scripts and texts, named sizes,
    config files). Theirs: nparam-lint's own discovery, which reads all files and finds the models;
    alone, and with the rules that need the source, as in a run. Both in one process without a
    cache, one after the other. A run that is answered from the cache does neither.
    """
    bench.needs("transformers")
    root = bench.folder("ways")
    files = copied(bench, root)
    answers = [
        json.loads(bench.run([bench.own, "-c", _FIND], root).out)
        for _ in range(min(3, bench.repetitions))
    ]
    numbers, models, with_rules, alone, found = zip(*answers, strict=True)
    if not numbers[0] or len(set(numbers)) > 1:
        raise Invalid(f"found {numbers} ways")
    return Result(
        [
            compare("finding ways / discovery", found, alone, Target(0.3)),
            compare("finding ways / discovery with rules", found, with_rules),
        ],
        [f"{numbers[0]:,} ways to build {models[0]:,} models in {files:,} files"],
    )
