"""What each line of source made of a model, and how often."""

from ..tracing.project_paths import is_project, relative


def line_rows(count):
    """What `measured.LineRow` has, for the lines of a counted model, file by file; nothing where no
    lines were noted."""
    if not count.origins.sites:
        return []
    sizes = {}  # site -> parameters
    products = {}  # call -> what it made each time
    pairs = set()  # (owner, site)
    tops = outermost_modules(count)
    for entry in count.parameters.values():
        owner = entry.owners[0]
        site = count.site(entry)
        sizes[site] = sizes.get(site, 0) + entry.size
        if (owner, id(site)) not in pairs:
            pairs.add((owner, id(site)))
            calls, around = tops[owner]
            for depth, call in enumerate(site):
                is_same = depth < len(calls) and calls[depth] is call
                products.setdefault(call, set()).add(around[depth] if is_same else (owner, ""))
    return [
        {
            "path": relative(file),
            "line": line,
            "count": row.count,
            "own": row.own,
            "through": row.through,
            "times": max(map(len, row.products.values())),
            "file": "" if is_project(file) else file,
        }
        for (file, line), row in sorted(rows_of(sizes, products).items())
    ]


class LineCounts:
    """A line: its counts, and for each instruction of it what this made."""

    def __init__(self):
        self.count = self.own = self.through = 0
        self.products = {}


def rows_of(sizes, products):
    """(file, line) -> LineCounts. What a line that calls itself again made counts once."""
    rows = {}
    for site, size in sizes.items():
        innermost = {call.file: call.line for call in site}
        for call in {(call.file, call.line): call for call in site}.values():
            row = rows.setdefault((call.file, call.line), LineCounts())
            row.products.setdefault(call.place, set()).update(products[call])
            if innermost[call.file] != call.line:
                row.through += size
                continue
            row.count += size
            row.own += size if call.file == site[-1].file else 0
    return rows


def outermost_modules(count):
    """Path of a module -> the calls that made it, and for each of these the outermost module around
    it that the same call made."""
    modules, sites, nothing = {}, count.origins.sites, ((), ())
    for path, module in count.modules.items():  # what is around a module comes before it
        calls = sites.get(id(module), ())
        outer, tops = modules.get(path.rpartition(".")[0], nothing) if path else nothing
        if calls is not outer:
            same = sum(call is above for call, above in zip(calls, outer))
            tops = (*tops[:same], *[path] * (len(calls) - same))
        modules[path] = calls, tops
    return modules
