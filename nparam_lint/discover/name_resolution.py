"""Resolves names in the repository's files through imports, aliases and re-exports, and knows by
dotted name which classes and functions of installed packages are models."""

from __future__ import annotations

import re
import sys
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

from nparam_lint.discover.claims.docstring_budgets import mentions
from nparam_lint.discover.source_tree import cached_method
from nparam_lint.ground.paths import join
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.discover.scan import ClassFacts, FunctionFacts, Import
    from nparam_lint.discover.source_tree import SourceTree

_Facts = TypeVar("_Facts", "ClassFacts", "FunctionFacts")


class Symbol(NamedTuple):
    """What a name means. `where` is a path, a module's prefix, or "" outside the repository."""

    kind: Literal["class", "function", "module", "method", "outside"]
    where: str
    name: str


class Names:
    """Follows names through imports, aliases and bases. A cycle counts as "unknown"."""

    def __init__(self, tree: SourceTree) -> None:
        self.tree = tree
        self._symbols: dict[tuple[str, str], Symbol | None] = {}
        self._active: set[tuple[str, str]] = set()

    # --- names --------------------------------------------------------------------------------

    def resolve(
        self, path: str, dotted: str, scope: str = "", local: Sequence[Import] = ()
    ) -> Symbol | None:
        """What `dotted` means in the file; inside the class `scope`, or in a function with the
        imports `local`, where these are given."""
        head, *rest = dotted.split(".")
        symbol = None
        if scope and f"{scope}.{head}" in self.classes(path):
            symbol = Symbol("class", path, f"{scope}.{head}")
        for item in local:
            if item.bound == head:
                symbol = symbol or self._imported(path, item)
        symbol = symbol or self.lookup(path, head) or Symbol("outside", "", head)
        return self._inside(symbol, rest)

    def follow(self, path: str, item: Import, rest: Sequence[str] = ()) -> Symbol | None:
        """What an import means that stands beside the file, in a text; then attributes of it."""
        return self._inside(self._imported(path, item), rest)

    def _inside(self, symbol: Symbol | None, attributes: Sequence[str]) -> Symbol | None:
        for attribute in attributes:
            symbol = symbol and self._attribute(symbol, attribute)
        return symbol

    def lookup(self, path: str, name: str) -> Symbol | None:
        """What a name of the file's top level means."""
        key = (path, name)
        if key in self._symbols or key in self._active:
            return self._symbols.get(key)
        self._active.add(key)
        try:
            symbol = self._lookup(path, name)
        finally:
            self._active.discard(key)
        # Inside a cycle "unknown" may only mean "asked too early".
        if symbol is not None or not self._active:
            self._symbols[key] = symbol
        return symbol

    def _lookup(self, path: str, name: str) -> Symbol | None:
        bindings = self._bindings(path).get(name, ())
        if choices := [symbol for b in bindings if (symbol := self._meaning(path, b))]:
            # `try: from fast import Norm` / `except ImportError: class Norm(nn.Module)`: the one
            # whose source is at hand says more, then one of torch.
            return min(
                choices, key=lambda it: (it.kind == "outside", not it.name.startswith("torch."))
            )
        if "*" not in self._bindings(path):
            return None
        # Those of the stars that may bring the name: an `__init__.py` may have hundreds of them.
        folders = (f"{folder}/" for folder in self.tree.holders.get(name, ()))
        index, stars = self._star_index(path), self._stars(path)
        numbers = {number for key in (name, *folders) for number in index.get(key, ())}
        symbols = (self._starred(stars[number], name) for number in sorted(numbers))
        return next(filter(None, symbols), None)

    @cached_method
    def _stars(self, path: str) -> list[Symbol]:
        """The modules of which the file imports all names."""
        modules = (self._meaning(path, star) for star in self._bindings(path).get("*", ()))
        return [module for module in modules if module is not None]

    def _starred(self, module: Symbol, name: str) -> Symbol | None:
        if module.kind == "outside":
            is_torch = module.name == "torch.nn" and name in _STARRED
            return Symbol("outside", "", f"torch.nn.{name}") if is_torch else None
        path = self.tree.module_file(module.where)
        if path is None:
            return None
        exports = self.tree.facts(path).exports
        if name not in exports if exports is not None else name.startswith("_"):
            return None
        return self._attribute(module, name)

    @cached_method
    def _star_index(self, path: str) -> dict[str, list[int]]:
        """The star imports of the file, by the names that they may bring; and by the folders, with
        a `/`, whose modules may be attributes of what they import."""
        self.starred_files(path)  # on all cores, before they are looked into one by one
        numbers: dict[str, list[int]] = {}
        for number, star in enumerate(self._stars(path)):
            for key in self._offered(star):
                numbers.setdefault(key, []).append(number)
        return numbers

    @cached_method
    def starred_files(self, path: str) -> list[str]:
        """The file, and those behind its star imports, and behind theirs. They are read level by
        level, since an `__init__.py` may lead to those of a whole package."""
        level, files = [path], {path: None}
        while level:
            stars = [star for file in level for star in self._stars(file) if star.kind == "module"]
            behind = dict.fromkeys(self.tree.module_file(star.where) for star in stars)
            level = [file for file in behind if file and file not in files]
            files.update(dict.fromkeys(level))
            self.tree.scan_all(level)
        return [*files]

    @cached_method
    def _offered(self, module: Symbol) -> set[str]:
        """What a module may have, as `_star_index` says; by its own star imports too."""
        names: set[str] = set()
        pending, modules = [module], {module}
        while pending:
            module = pending.pop()
            path = self.tree.module_file(module.where) if module.kind == "module" else None
            if path is not None:
                names |= {f"{module.where}/", *self._bindings(path)}
                pending += (fresh := set(self._stars(path)) - modules)
                modules |= fresh
            elif module.kind == "outside":
                names |= _STARRED
        return names

    def _attribute(self, symbol: Symbol, name: str) -> Symbol | None:
        if symbol.kind == "outside":
            return Symbol("outside", "", f"{symbol.name}.{name}")
        if symbol.kind == "class":
            inner = f"{symbol.name}.{name}"
            kind: Literal["class", "method"]
            kind = "class" if inner in self.classes(symbol.where) else "method"
            return Symbol(kind, symbol.where, inner)
        if symbol.kind != "module":
            return None
        path = self.tree.module_file(symbol.where)
        if path and (meaning := self.lookup(path, name)):
            return meaning
        prefix = join(symbol.where, name)
        return Symbol("module", prefix, "") if self.tree.is_module(prefix) else None

    @cached_method
    def _bindings(self, path: str) -> dict[str, list[Symbol | Import | str]]:
        """What binds each name of the top level: a definition, an import, or another name."""
        facts = self.tree.facts(path)
        bindings: dict[str, list[Symbol | Import | str]] = {}
        for name in self.classes(path):
            if "." not in name:
                bindings.setdefault(name, []).append(Symbol("class", path, name))
        for name in self.functions(path):
            bindings.setdefault(name, []).append(Symbol("function", path, name))
        for item in facts.imports:
            bindings.setdefault(item.bound, []).append(item)
        for name, dotted in facts.aliases:
            bindings.setdefault(name, []).append(dotted)
        return bindings

    def _meaning(self, path: str, binding: Symbol | Import | str) -> Symbol | None:
        if isinstance(binding, Symbol):
            return binding
        if isinstance(binding, str):
            return self.resolve(path, binding)
        return self._imported(path, binding)

    def _imported(self, path: str, item: Import) -> Symbol | None:
        level, module, name = item.level, item.module, item.name
        if level:
            prefix = self.tree.relative(path, level, module)
        else:
            _, prefix = self.tree.locate(path, module) or ("", None)
        dotted = module if name in (None, "*") else f"{module}.{name}"
        outside = None if level else Symbol("outside", "", dotted)
        if prefix is None:
            return outside
        symbol = Symbol("module", prefix, "")
        if name in (None, "*"):
            return symbol
        # A name that the repository's file does not have: perhaps it was the wrong file.
        return self._attribute(symbol, name) or outside

    @cached_method
    def names(self, path: str) -> frozenset[str]:
        """All names of the file's top level, those of star imports too."""
        return frozenset(
            name
            for file in self.starred_files(path)
            for name in self.tree.facts(file).names
            if file == path or not name.startswith("_")
        )

    # --- facts --------------------------------------------------------------------------------

    @cached_method
    def classes(self, path: str) -> dict[str, ClassFacts]:
        return _by_name(self.tree.facts(path).classes)

    @cached_method
    def functions(self, path: str) -> dict[str, FunctionFacts]:
        return _by_name(self.tree.facts(path).functions)

    def bases(self, symbol: Symbol) -> Iterator[Symbol]:
        scope = symbol.name.rpartition(".")[0]
        for base in self.classes(symbol.where)[symbol.name].bases:
            meaning = self.resolve(symbol.where, base, scope)
            if meaning == symbol:  # `class Config(Config)`
                meaning = self._imported_before(symbol)
            if meaning is not None:
                yield meaning

    def _imported_before(self, symbol: Symbol) -> Symbol | None:
        """What a name of the top level means before the class of that name is made."""
        bindings = self._bindings(symbol.where).get(symbol.name, ())
        meanings = (self._meaning(symbol.where, binding) for binding in bindings)
        starred = (self._starred(star, symbol.name) for star in self._stars(symbol.where))
        others = (other for other in chain(meanings, starred) if other and other != symbol)
        return next(others, None)


def _by_name(items: Iterable[_Facts]) -> dict[str, _Facts]:
    """One definition for each name: the one that declares a budget, else the one with a docstring,
    else the last, which is the one that Python keeps."""
    # Of equals, sorting keeps the order, and the dictionary what comes last.
    ordered = sorted(items, key=lambda item: 2 * item.declares + bool(item.docstring))
    by_name = {item.qualname: item for item in ordered}
    return {item.qualname: by_name[item.qualname] for item in items}


# --- installed packages ---


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Any of these in a file makes it worth parsing. The likeliest first: the search ends there.
_HINTS = tuple(
    b"torch transformers timm Module nn. PreTrained lightning Lightning diffusers "
    b"mmengine mmcv mmdet mmseg fairseq monai gpytorch pyro peft detectron2".split()
)

# Packages whose classes with a `forward` are no modules of torch, where nothing here says so.
_KNOWN = _words("""
    torch nn torchvision transformers paddle mxnet tensorflow keras jittor mindspore chainer
    tinygrad flax jax haiku mlx numpy sklearn pydantic
    """)

# Names of bases that are modules, whichever package they come from.
_TAILS = _words("""
    LightningModule PreTrainedModel BaseModule ModelMixin MessagePassing PyroModule
    ScriptModule GraphModule PeftModel SentenceTransformer BaseFeaturesExtractor TorchModelV2
    ActorCriticPolicy BaseFairseqModel FairseqEncoder FairseqDecoder FairseqIncrementalDecoder
    FairseqEncoderDecoderModel FairseqLanguageModel FairseqMultiModel FairseqCriterion
    BaseDetector BaseSegmentor BaseBackbone BaseDecodeHead BaseDenseHead GPyTorchModel ExactGP
    ApproximateGP
    """)
_TRANSFORMERS = late_pattern(
    r"(?!TF[A-Z]|Flax)\w*(Model|PreTrained|For[A-Z]\w*|Layer|Attention|MLP|Block|Encoder|Decoder"
    r"|Embeddings?|Norm|Pooler)$"
)
# Namespaces in which every capitalised name may be taken for a module.
_NAMESPACES = late_pattern(
    r"torch\.(nn|ao\.nn)\.(?!init\.|functional\.|utils\.(?!parametriz)|parameter\.|attention\.)"
    r"|torchvision\.(models|ops)\.|torchaudio\.(models|transforms)\."
    r"|timm\.(models|layers)\.|torch_geometric\.nn\.|dgl\.nn\."
    r"|mm\w+\.(models|model|cnn)\.|fairseq\.(models|modules)\.|monai\.networks\."
    r"|detectron2\.(modeling|layers)\.|segmentation_models_pytorch\.|gpytorch\.(kernels|models)\."
    r"|diffusers\.models\."
)
_NO_MODULE = late_pattern(
    r"(Parameter|Buffer|Config|Cfg|Weights|Output|Info|Enum|Registry|Mixin|Error|Options)$"
)
_CONTAINERS = frozenset({"Module", "Sequential", "ModuleList", "ModuleDict", "Identity"})
_WHOLE = _CONTAINERS | {"Transformer", "TransformerEncoder", "TransformerDecoder"}
# `from torch.nn import *` is often not the only star of a file.
_STARRED = _WHOLE | _words("""
    Linear Conv1d Conv2d Conv3d LSTM GRU RNN RNNBase Embedding LayerNorm BatchNorm1d
    BatchNorm2d GroupNorm MultiheadAttention TransformerEncoderLayer TransformerDecoderLayer
    LSTMCell GRUCell
    """)


def is_hinted(source: bytes) -> bool:
    """Is there a word in the file that makes it worth parsing?"""
    return any(hint in source for hint in _HINTS) or mentions(source)


def is_module(dotted: str) -> bool:
    """Is this class of an installed package an `nn.Module`?"""
    head, _, _ = dotted.partition(".")
    tail = dotted.rpartition(".")[2]
    if tail in _TAILS or (tail == "Module" and head in ("torch", "nn", "fastai")):
        return True
    if dotted.startswith("nn."):  # `nn` came by a star import that could not be followed
        dotted = f"torch.{dotted}"
    if head == "transformers":
        return bool(_TRANSFORMERS.match(tail))
    capital = tail.lstrip("_")[:1].isupper()
    return capital and bool(_NAMESPACES.match(dotted)) and not _NO_MODULE.search(tail)


def is_unknown(dotted: str) -> bool:
    """Is this a class of a package that is neither Python's, nor torch, nor another framework?"""
    head, _, tail = dotted.partition(".")
    return bool(tail) and head not in _KNOWN and head not in sys.stdlib_module_names


def is_whole_model(dotted: str) -> bool:
    """As `is_module`, except for single layers of torch: `return nn.Conv2d(…)` does not make a
    model."""
    if dotted.startswith(("torch.", "nn.")):
        return dotted.rpartition(".")[2] in _WHOLE and is_module(dotted)
    return is_module(dotted)


def is_factory(dotted: str) -> bool:
    """Does this function of an installed package make a model?"""
    return dotted in ("timm.create_model", "timm.models.create_model", "torch.hub.load") or bool(
        re.match(r"torchvision\.models\.([a-z]+\.)*[a-z]\w*$", dotted)
    )


def takes_nothing(dotted: str) -> bool:
    """Can the constructor of this module be called without arguments?"""
    tail = dotted.rpartition(".")[2]
    return (tail in _CONTAINERS and is_module(dotted)) or tail == "LightningModule"
