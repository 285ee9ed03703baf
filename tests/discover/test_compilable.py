"""What Python parses and cannot compile is found, whatever stands around it."""

from __future__ import annotations

import ast
import re
from importlib import util
from itertools import product
from pathlib import Path
from textwrap import dedent, indent

import pytest

from nparam_lint.discover.compilable import doubtful_part

# Of escapes that are none, of numbers before words.
pytestmark = pytest.mark.filterwarnings("ignore")

# Of each kind of statement and expression that has a syntax tree and is refused, and some that are
# like them and are right.
PIECES = """
return
return 1
yield
await x
break
continue
x = *a
x: int = *a
x += *a
*a
return *a
*a, *b = c
(a, [*b, *c]) = d
for *a in b: pass
for x in *a: pass
for a, *b, *c in d: pass
with a as *b: pass
with a as (*b, *c): pass
with a, b, c, d: pass
[x for *a in b]
[x for a, *b, *c in d]
f(a=1, b=2, a=3)
f(a=1, b=g(c=2), a=3)
f(g(a=1), a=2)
f(a=1,  # one|    a=2)
f(a=1, \\|    a=2)
f(  # none|    a=1,|    a  # two|    =2)
x = f(|    # none|    a=1, a=2)
[x for a,  # one|    *b, *c in d]
if f(a=1, a=2): pass
while f(a=1, a=2): pass
class Q(a=1, a=2): pass
class Q(*a, **b): pass
@f(a=1, a=2)|def g(): pass
def g(a=f(b=1, b=2)): pass
try: pass|except f(a=1, a=2): pass
try: pass|except: pass|except A: pass
try: pass|except A: break
try: pass|finally: return
nonlocal q
global x
x = 1; global x
x: int; global x
if x: global x
def g(x): global x
def g(a, a): pass
def g(*a, **a): pass
def g():|    def h(): nonlocal zz
def g(x: (yield)): pass
def g(x=(yield)): pass
@(yield)|def g(): pass
class Q: return
class Q:|    x = 1|    global x
class Q:|    [x := 1 for y in z]
class Q:|    @f(a=1, a=2)|    def g(self): pass
class Q(metaclass=(yield)): pass
async def g(): return [x async for x in y]
async def g():|    yield|    return 1
async with a: pass
[(yield x) for x in y]
[x := 1 for x in y]
lambda a, a: 1
from x import *
from x import (a, b)
from __future__ import annotations
from __future__ import nonsense
x.__debug__ = 1
__debug__ = 1
f(__debug__=1)
import a as __debug__
match x:|    case a: pass|    case b: pass
match x:|    case [*a, *b]: pass
while x:|    def g(): break
for a in b:|    class Q: break
del x, y
assert x, y
f(*a, *b)
"""
AROUND = [
    "{}",
    "class A:\n    {}",
    "def f(self, *a, k=1):\n    {}",
    "class A:\n    def f(self):\n        '''lambda a=1, a=2'''\n        {}\n    def g(self): pass",
    "x = 1\nif x:\n    def f():\n        return\nelif y:\n    {}\n",
    "def f():\n    try:\n        x = 1\n    except A:\n        {}\n    return x",
    "def f():\n    for i in range(3):\n        with a as b:\n            {}\n",
    "'''a'''\nfrom __future__ import annotations\nx: int = 1\n{}\nx = 2",
]


def outcome(check):
    try:
        check()
    except SyntaxError as error:
        return error.msg, error.lineno, error.offset
    return None


def assert_as_compile(text):
    """True if the text has a syntax tree, and cannot be compiled."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    before = ast.dump(tree)
    expected = outcome(lambda: compile(tree, "<source>", "exec", dont_inherit=True))
    part = doubtful_part(tree, text, text.split("\n"))
    found = outcome(lambda: compile(part, "<source>", "exec", dont_inherit=True))
    assert found == expected, text
    assert ast.dump(tree) == before
    return expected is not None


@pytest.mark.parametrize("around", AROUND)
def test_as_compile_says(around):
    pieces = PIECES.strip().split("\n")
    refused = 0
    for piece in pieces:
        inner = piece.replace("|", "\n")
        pad = re.search(r"( *)\{\}", around)[1]
        refused += assert_as_compile(around.replace("{}", indent(inner, pad).lstrip(" ")))
    assert refused > 30


@pytest.mark.parametrize("count", [5, 9, 30])
@pytest.mark.parametrize("block", ["for a in b:", "while a:", "with a, b, c:", "try:"])
def test_blocks_in_blocks(count, block):
    lines = [" " * depth + block for depth in range(count)] + [" " * count + "pass"]
    if block == "try:":
        lines += [" " * depth + "finally: pass" for depth in reversed(range(count))]
    for around in ("{}", "def f():\n {}"):
        assert_as_compile(around.replace("{}", indent("\n".join(lines), " ").lstrip()))


@pytest.mark.parametrize("name", ["syntax", "named_expressions", "patma", "unpack_ex", "scope"])
def test_what_python_tests_itself(name):
    """Texts in Python's own tests, where they are installed, and the doctests in them."""
    found = util.find_spec("test")
    path = Path(found.origin).with_name(f"test_{name}.py") if found and found.origin else None
    if path is None or not path.is_file():
        pytest.skip("Python came without its tests")
    texts = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(dedent(node.value))
            blocks = re.findall(r"^>>> .*\n(?:^\.\.\.(?: .*)?\n)*", texts[-1], re.MULTILINE)
            texts += [re.sub(r"^(>>>|\.\.\.) ?", "", block, flags=re.M) for block in blocks]
    around = ("{}\n", "def f():\n    {}\n")
    refused = 0
    for text, outer in product(texts, around):
        inner = indent(text, "    ").lstrip() if outer != around[0] else text
        refused += assert_as_compile(outer.replace("{}", inner.replace("\r", "")))
    assert refused or name != "syntax"
