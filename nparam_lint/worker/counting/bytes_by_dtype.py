"""The memory of a model's tensors, by dtype."""

from __future__ import annotations

FIELDS = ("parameters", "trainable", "tensors", "buffers", "saved")


def bytes_by_dtype(count):
    """Rows as `records.DtypeRow` has them. `count`: a `Count`."""
    found = {}
    for kind, tensors in (("parameters", count.parameters), ("buffers", count.buffers)):
        for key, held in tensors.items():
            row = found.get(held.dtype)
            if row is None:
                name = count.originals.dtype_name(held.dtype)
                row = found[held.dtype] = dict(dict.fromkeys(FIELDS, 0), dtype=name)
            size = held.size * held.width
            row[kind] += size
            if kind == "parameters" and held.trains:
                row["trainable"] += size
                row["tensors"] += 1
            if kind == "parameters" or key in count.saved:
                row["saved"] += size
    return list(found.values())
