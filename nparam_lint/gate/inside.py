"""Classes inside the models that are built: which model is meant, and one as a model of its own."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec.structs import replace

from nparam_lint.count.measured import Measured, NotMeasured

if TYPE_CHECKING:
    from nparam_lint.count.measured import InsideRow
    from nparam_lint.discover.source_tree import SourceTree
    from nparam_lint.ground.notation import Target


def resolved(target: Target, tree: SourceTree) -> tuple[Target, list[str]]:
    """A target with the file of its model, where that has a name alone and one file defines it;
    otherwise as it is, with the files that do: at the top, and in none but the target's, if that
    is one of them."""
    host = target.host
    if host is None or host.location:
        return target, []
    first = re.escape(host.callable.split(".")[0]).encode()
    pattern = re.compile(rb"^(?:class|(?:async )?def)\s+%s\b" % first, re.MULTILINE)
    near = target.location
    files = [near] if near in tree.files and pattern.search(tree.source(near)) else []
    files = files or [path for path in sorted(tree.files) if pattern.search(tree.source(path))]
    if len(files) == 1:
        return replace(target, host=replace(host, location=files[0])), []
    return target, files


def part_of(target: Target, host: Measured) -> Measured | NotMeasured:
    """A class inside a model that was built as a model of its own."""
    for row in host.inside:
        if row.target == str(target.bare):
            return first_instance(row, host)
    reason = f"{host.call} contains no {target.callable}"
    return NotMeasured("NPL008", reason, cause="target_missing")


def first_instance(instances: InsideRow, host: Measured) -> Measured:
    """The first of some modules inside a model, as a model of its own."""
    top = instances.paths[0]
    prefix = f"{top}."
    rows = [row for row in host.modules if row.path == top or row.path.startswith(prefix)]
    parameters = [row for row in host.parameters if row.name.startswith(prefix)]
    return replace(
        host,
        call=f"{instances.call} in {host.call}, at {top}",
        modules=tuple(replace(row, path=row.path[len(prefix) :]) for row in rows),
        parameters=tuple(replace(row, name=row.name[len(prefix) :]) for row in parameters),
        devices={},
        hidden=(),
        definitions=(instances.source,) if instances.source else (),
        type="",
        types=(),
        inside=(),
        dtypes=(),
        lines=(),
    )
