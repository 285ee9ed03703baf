from __future__ import annotations

from typing import Optional

from torch import nn


class Settings:
    def __init__(self, width=5):
        self.width = width


class Postponed(nn.Module):
    """nparam: width * width + width"""

    def __init__(self, settings: Settings):
        super().__init__()
        self.layer = nn.Linear(settings.width, settings.width)


class Maybe(nn.Module):
    """nparam: 30"""

    def __init__(self, settings: Optional[Settings]):
        super().__init__()
        self.layer = nn.Linear(settings.width, settings.width)


class Union(nn.Module):
    """nparam: 30"""

    def __init__(self, settings: Settings | None):
        super().__init__()
        self.layer = nn.Linear(settings.width, settings.width)
