"""The memory of a model's tensors, by dtype."""

from __future__ import annotations

import collections

FIELDS = ("parameters", "trainable", "tensors", "buffers", "saved")


def bytes_by_dtype(count):
    """Rows as `measured.DtypeRow` has them. `count`: a `Count`."""
    rows = collections.defaultdict(lambda: dict.fromkeys(FIELDS, 0))
    for kind, tensors in (("parameters", count.parameters), ("buffers", count.buffers)):
        for key, entry in tensors.items():
            row, size = rows[entry.dtype], entry.size * entry.width
            row[kind] += size
            if kind == "parameters" and entry.trains:
                row["trainable"] += size
                row["tensors"] += 1
            if kind == "parameters" or key in count.saved:
                row["saved"] += size
    return [dict(row, dtype=count.originals.dtype_name(dtype)) for dtype, row in rows.items()]
