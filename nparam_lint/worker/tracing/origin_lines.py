"""Which line of source made each module and parameter of a model, and which lines called it."""

from __future__ import annotations

import sys

from .constructions import own_class
from .project_paths import line_of_frame, line_text, place_of_frame
from .read_tracer import record_callers


class CallSite:
    """A call in a line of a file, that was reached by one chain of calls: each chain has its own.
    `place`: which of the line's calls it is."""

    __slots__ = ("code", "file", "line", "place")

    def __init__(self, frame):
        self.file, self.line = line_of_frame(frame)
        self.code = frame.f_code  # whose id must not be given away
        self.place = id(frame.f_code), frame.f_lasti


class OriginLines:
    """Where the parts of a model were made: for each the calls, as CallSites, the outermost first.
    The same calls are one tuple for all parts that they make."""

    def __init__(self):
        self.sites = {}  # id of a module or parameter -> its calls
        self.inner_sites = {}  # (id of some calls, an instruction) -> them, and the call made there
        self.objects = []  # of which an id is kept, and must not be given away

    def note_parameter(self, module, name, parameter):
        """A hook of torch's: the parameter is registered. What torch's own code registers of one of
        its layers was made where the layer was: this is most of all, and quick."""
        if parameter is None or id(parameter) in self.sites:
            return
        site = None if own_class(type(module)).project_class else self.sites.get(id(module))
        frame = sys._getframe(2)
        if frame.f_code.co_name == "__setattr__":
            frame = frame.f_back
        if not site or place_of_frame(frame) != "other":
            site = self.site_of(frame)
        self.keep(parameter, site)

    def note_module(self, outer, name, module):
        """A hook of torch's: the module is registered. It is of interest where its constructor was
        not seen."""
        if module is not None and id(module) not in self.sites:
            self.keep(module, self.site_of(sys._getframe(1)))

    def note_copy(self, original, copied):
        """A copy was made where its original was: that is the line that says its sizes."""
        parameters = vars(original).get("_parameters") or {}
        pairs = [(original, copied)]
        for name, parameter in (vars(copied).get("_parameters") or {}).items():
            pairs.append((parameters.get(name), parameter))
        for part, copied_part in pairs:
            site = self.sites.get(id(part))
            if site and copied_part is not None and id(copied_part) not in self.sites:
                self.keep(copied_part, site)

    def keep(self, part, site):
        self.objects.append(part)
        self.sites[id(part)] = site

    def site_of(self, frame):
        """The calls of the project at or above `frame`; where there are none, those of installed
        packages other than torch."""
        return self.calls_above(frame, "project") or self.calls_above(frame, "package")

    def calls_above(self, frame, place):
        """Those at or above `frame` whose code belongs to a place (`place_of_frame`); called for
        every module."""
        start, frames = frame, []
        while frame is not None and (frame_place := place_of_frame(frame)) != "call":
            if frame_place == place:
                frames.append(frame)
            frame = frame.f_back
        site = ()
        for frame in reversed(frames):
            key = id(site), id(frame.f_code), frame.f_lasti
            if key not in self.inner_sites:
                record_callers(start)
                self.inner_sites[key] = (*site, CallSite(frame))
            site = self.inner_sites[key]
        return site

    def line(self, part):
        """The innermost call that made a module or parameter, as `path:line`; None where it is
        unknown."""
        return line_of_site(self.sites.get(id(part)))


def line_of_site(site):
    """The innermost of some calls, as `path:line`; None where there are none."""
    return line_text(site[-1].file, site[-1].line) if site else None
