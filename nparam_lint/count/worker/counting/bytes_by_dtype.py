"""The memory of a model's tensors, by dtype."""

from __future__ import annotations

FIELDS = ("parameters", "trainable", "tensors", "buffers", "saved")


def bytes_by_dtype(count):
    """Rows as `records.DtypeRow` has them. `count`: a `Count`."""
    torch, found = count.originals, {}
    for kind, tensors in (("parameters", count.parameters), ("buffers", count.buffers)):
        for key, held in tensors.items():
            dtype = torch.dtype(held.tensor)
            row = found.get(dtype)
            if row is None:
                name = torch.dtype_name(held.tensor)
                row = found[dtype] = dict(dict.fromkeys(FIELDS, 0), dtype=name)
            size = held.size * torch.element_size(held.tensor)
            row[kind] += size
            if kind == "parameters" and torch.requires_grad(held.tensor):
                row["trainable"] += size
                row["tensors"] += 1
            if kind == "parameters" or key in count.saved:
                row["saved"] += size
    return list(found.values())
