"""Config files that a library of the project, or a file of it, builds a model from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nparam_lint.claims import CONFIG_SUFFIXES
from nparam_lint.discover.ways import FoundWay
from nparam_lint.discover.ways.config_files import ConfigFiles
from nparam_lint.discover.ways.config_recipes import ConfigRecipes
from nparam_lint.records import Position, Way

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nparam_lint.discover.ways import WaySource

_INNER = 5  # added to the rank of a model that is a part of another one in its file


def find_configs(source: WaySource) -> Iterator[FoundWay]:
    """The ways of this kind."""
    paths = [path for path in source.others if path.endswith(CONFIG_SUFFIXES)]
    files = ConfigFiles(source.found, paths, source.read)
    recipes = ConfigRecipes(files)
    for file in files:
        for node in files.nodes(file):
            if node.target.callable and node.target not in source.wanted:
                continue
            if node.is_inner and not node.target.callable:
                continue
            recipe = recipes.recipe(node)
            if recipe is None or recipe.file is None:
                continue
            way = Way("config", Position(node.path, node.line), node.path)
            rank = _INNER if node.is_inner else 0
            yield FoundWay(node.target, way, recipe.file, recipe, rank)
