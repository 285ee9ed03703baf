"""Regular expressions that are compiled when they are first used. A commit of one model uses a
third of those that its rooms define, and to compile all took a sixth of it."""

from __future__ import annotations

import re
from typing import AnyStr, Generic, cast


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, and what is wrong with the pattern is raised at its first use."""
    return cast("re.Pattern[AnyStr]", _LatePattern(pattern, flags))


class _LatePattern(Generic[AnyStr]):
    """Has the methods of the compiled pattern from the first call of one."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(self.pattern, self._flags)
        for method in "search match fullmatch split findall finditer sub subn".split():
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)
