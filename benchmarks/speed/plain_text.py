"""The source of generated files that define no model: what most of a repository is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

_NOUNS = (
    "batch sample record index token image label score path config state metric split shard frame "
    "cache weight step epoch reader writer report filter column table entry window field event"
).split()
_VERBS = (
    "load read write parse merge split collect filter update resolve render encode sort".split()
)

_HEAD = '''\
"""{noun} handling: {verb} and check what the {other} gives."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

DEFAULT_{constant} = {number}

'''

_FUNCTIONS = (
    '''
def {verb}_{noun}(path: Path, limit: int = {number}) -> list[dict]:
    """Read the {noun}s of a file, one a line; lines that cannot be read are told and left out."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            found.append(json.loads(line))
        except ValueError as error:
            log.warning("%s:%d: %s", path, number, error)
        if len(found) >= limit:
            break
    return found

''',
    '''
def {verb}_{noun}(items: list[dict], key: str = "{other}") -> dict[str, list[dict]]:
    """The items by what they have under a key."""
    groups = defaultdict(list)
    for item in items:
        value = item.get(key)
        if value is None:
            raise KeyError(f"an item has no {{key!r}}: {{sorted(item)}}")
        groups[str(value)].append(item)
    return {{name: sorted(group, key=str) for name, group in sorted(groups.items())}}

''',
    '''
@dataclass
class {title}{number}:
    """What is known of one {noun}."""

    name: str
    {other}: int = {number}
    enabled: bool = True

    def describe(self) -> str:
        state = "on" if self.enabled else "off"
        return f"{{self.name}}: {other}={{self.{other}}} ({{state}})"

    def scaled(self, factor: float) -> "{title}{number}":
        return {title}{number}(self.name, round(self.{other} * factor), self.enabled)

''',
    '''
def {verb}_{noun}(values: list[float], window: int = {number}) -> list[float]:
    """The mean of each window of values."""
    if window < 1:
        raise ValueError(f"the window is {{window}}, expected at least 1")
    means, total = [], 0.0
    for position, value in enumerate(values):
        total += value
        if position >= window:
            total -= values[position - window]
        means.append(total / min(position + 1, window))
    return means

''',
)

_TORCH_HEAD = "import torch\nfrom torch.utils.data import DataLoader\n\n"
_TORCH_FUNCTION = '''
@torch.no_grad()
def {verb}_{noun}_scores(model, loader: DataLoader, device: str = "cpu") -> dict[str, float]:
    """The mean loss and accuracy of a model over what a loader gives."""
    model.eval()
    right = seen = 0
    loss = torch.zeros((), device=device)
    for inputs, labels in loader:
        outputs = model(inputs.to(device))
        loss += torch.nn.functional.cross_entropy(outputs, labels.to(device), reduction="sum")
        right += int((outputs.argmax(1).cpu() == labels).sum())
        seen += len(labels)
    return {{"loss": float(loss) / max(seen, 1), "accuracy": right / max(seen, 1)}}

'''


def plain(random: Random) -> str:
    """A module of typical size (half have 40 to 160 lines); every third one uses torch."""
    uses_torch = random.random() < 1 / 3
    count = max(1, min(60, round(random.lognormvariate(1.9, 0.7))))
    parts = [_filled(_HEAD, random), _TORCH_HEAD * uses_torch]
    parts += [_filled(random.choice(_FUNCTIONS), random) for _ in range(count)]
    parts += [_filled(_TORCH_FUNCTION, random)] * uses_torch
    return "".join(parts)


def _filled(text: str, random: Random) -> str:
    noun, other = random.choice(_NOUNS), random.choice(_NOUNS)
    return text.format(
        noun=noun,
        other=other,
        verb=random.choice(_VERBS),
        title=noun.title(),
        constant=other.upper(),
        number=random.randrange(1, 10_000),
    )
