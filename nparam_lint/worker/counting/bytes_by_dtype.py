"""The memory of a model's tensors, by dtype."""

from __future__ import annotations

FIELDS = ("parameters", "trainable", "tensors", "buffers", "saved")


def bytes_by_dtype(count):
    """Rows as `measured.DtypeRow` has them. `count`: a `Count`."""
    rows = {}
    for kind, tensors in (("parameters", count.parameters), ("buffers", count.buffers)):
        for key, entry in tensors.items():
            name = count.originals.dtype_name(entry.dtype)
            row = rows.setdefault(name, dict(dict.fromkeys(FIELDS, 0), dtype=name))
            size = entry.size * entry.width
            row[kind] += size
            if kind == "parameters" and entry.trains:
                row["trainable"] += size
                row["tensors"] += 1
            if kind == "parameters" or key in count.saved:
                row["saved"] += size
    return list(rows.values())
