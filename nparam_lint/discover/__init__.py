"""Finds model classes and factories in source, and says how their files can be imported.

Reads only: nothing of the user's is imported here, and neither is torch.
"""

from nparam_lint.discover.files import find_root, list_files, list_importable, list_project
from nparam_lint.discover.models import Discovery, discover
from nparam_lint.discover.scan import scan_source

__all__ = [
    "Discovery",
    "discover",
    "find_root",
    "list_files",
    "list_importable",
    "list_project",
    "scan_source",
]
