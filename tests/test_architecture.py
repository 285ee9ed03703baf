"""What import-linter's contracts do not say of the package as a whole."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import grimp

import nparam_lint

PACKAGE = Path(nparam_lint.__file__).parent


def test_no_module_imports_itself_by_way_of_others():
    graph = grimp.build_graph("nparam_lint", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    # What imports nothing that is left is in no circle.
    while gone := {module for module, imported in imports.items() if not imported & imports.keys()}:
        imports = {module: names for module, names in imports.items() if module not in gone}
    while gone := imports.keys() - set().union(*imports.values()):
        imports = {module: names for module, names in imports.items() if module not in gone}
    assert imports == {}


def test_no_two_classes_have_one_name():
    places = defaultdict(list)
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path.relative_to(PACKAGE).as_posix())
    del places["Budget"]  # pytest shows an item by the name of its class
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
