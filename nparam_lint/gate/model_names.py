"""Which model does a text name? The models that were counted by what texts call them, in any usual
spelling."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nparam_lint.count.measured import Measured
from nparam_lint.discover.claims.count_words import ABOUT, LIMITS, NOUN, NOUN_ABROAD, UNIT_WORD
from nparam_lint.ground.grouping import grouped
from nparam_lint.ground.paths import DOC_SUFFIXES, ancestors, parent
from nparam_lint.ground.patterns import late_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nparam_lint.discover.claims.stated import StatedCount
    from nparam_lint.discover.definitions import Definition
    from nparam_lint.gate.report import ModelReport, Report, Strength
    from nparam_lint.ground.values import Position, Way

# Words for sizes, by which one name has several spellings: `ViT-B/16`, `vit_base_16`; and the
# letters for them, where these stand alone.
_SIZES = {
    "nano": "N",
    "tiny": "T",
    "ti": "T",
    "small": "S",
    "base": "B",
    "medium": "M",
    "large": "L",
    "xlarge": "XL",
    "xsmall": "XS",
    "xtiny": "XT",
    "huge": "H",
    "giant": "G",
}
_LETTERS = {letter.lower(): letter for letter in _SIZES.values()}
_PART = late_pattern(r"[A-Za-z]+|[0-9]+")
PIECE = late_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_PLUS = late_pattern(r"(?<=\w)\++|(?<=[a-z])PP(?![A-Za-z])")
_BRACKETS = late_pattern(r"\s*(?:\([^()]*\)|\[[^\[\]]*\]|[*†‡§^]+)\s*")
_OF_CLASS = late_pattern(r"(?<=\w{3})(?:Model|Network)$")  # `CarnModel` of "CARN"
_MAKES = late_pattern(r"^(?:create|build|make|get)_(?=\w{4})")  # `create_RepLKNet31B`
# timm's `_patch16_224` of `ViT-B/16`, and `_224` of what is called without.
_PATCHED = late_pattern(r"_?patch(_?[0-9]+)(?=_[0-9]{3}$|$)")
_RESOLUTION = late_pattern(r"_(?:160|192|224|256|288|320|384|448|512)$")
_OURS = late_pattern(
    r"\s*[(\[](?:(?:ours?|my)\b[^()\[\]]*|new|this work)[)\]]|^ours?:\s*", re.IGNORECASE
)
_SMALL_VALUE = late_pattern(r"[\w\]][:=]\s*[0-9]{1,3}$")  # of a key, which may count other things
_FOR_INFERENCE = late_pattern(r"deploy(?:ed)?|merged?|fused?|re_?param\w*|inference(?:_mode)?")
_MARK = late_pattern("[†‡§]")  # of another variant
_WORD = late_pattern(r"(?<![A-Za-z0-9])[A-Za-z][\w./+-]*")
_WORD_OR_NUMBER = late_pattern(  # "MobileNet-V2 100", but no "100 epochs"
    rf"""{_WORD.pattern}
    |(?<=[A-Za-z0-9][ ])[0-9]{{1,4}}[a-z]?(?![\w.,%-]|\s+(?:epochs?|steps|layers?|x)\b)""",
    re.VERBOSE,
)
_OF_RUN = late_pattern(r"^(?:train|test|pretrain|finetune|eval|infer)_(?=\w)")  # of a config
# A string that chooses a model: the first argument of a call, or one that is called so.
_CHOICE = late_pattern(
    r"""(?:\w\(\s*|\b(?:\w*name|arch\w*|variant|size|version|\w*model\w*|config)\s*=\s*)
    ['"]([A-Za-z][^'"\s]{2,80})['"]""",
    re.VERBOSE,
)
_BLOB = late_pattern(r"https?://[^/]+/[^/]+/[^/]+/(?:blob|tree|raw)/[^/]+/(.+)")
# A class of configuration or of weights is called after the model.
_OF_MODEL = late_pattern(r"_?(?:[Ww]eights|[Cc]onfig|[Aa]rgs|[Pp]arams)$")
_DOTTED = late_pattern(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_COMPOUND = late_pattern(
    rf"[0-9_]|[a-z][A-Z]|[A-Z]{{2}}|-(?:{'|'.join(_SIZES)})\b|[A-Za-z]-[A-Z]{{1,2}}\b"
)
_ARTICLE = late_pattern(r"\b(?:an?|another|our|the|this)\s*$", re.IGNORECASE)
_IS = late_pattern(r"\b(?:is|are|was|were|be|as)\b", re.IGNORECASE)
BUILT_BELOW = "the lines below build it"
THE_ONLY = "it is the only model"
# Of a model that is not as its defaults make it: "the large UNet", "with r=16", "UNet(width=8)".
_OF_SIZE = rf"\b(?:{'|'.join(_SIZES)}|larger|smaller|bigger)\s+{{0}}\b"
_VERSION_OF_IT = late_pattern(
    rf"\b(?:{'|'.join(_SIZES)})\s+(?:version|variant|configuration|model|one)\b[^.]*$",
    re.IGNORECASE,
)
_SETTING_IN_TEXT = late_pattern(r"\b[A-Za-z_]\w*\s?=\s?[\w.]+")
# Words that a text has whomever it is about.
_GENERAL = frozenset(
    "model network module encoder decoder backbone baseline head block layer main create build get"
    " make transformer attention classifier discriminator generator".split()
)
# Names of configs that have a folder each.
_OF_FOLDER = frozenset("config cfg conf params hparams args default model settings".split())
# Words before a number that is that of the model in the heading.
_OF_HEADING = frozenset(
    "it its this these we our the a an has have having with contains uses is are of in at and only"
    " just about around approximately roughly nearly total totals overall there here model network"
    " net architecture size stats statistics details specs summary complexity capacity number num"
    " no count counts param params parameter parameters trainable learnable non embedding active"
    " frozen".split()
)
_STATING = frozenset("has have having with contains uses is are".split())
_OTHER_SUBJECT = late_pattern(r"[^,]*,\s+(?!(?:The|This|Our|It|We)\b)[A-Z]")
_KINDS = frozenset("cnn mlp rnn lstm gru gan vae".split())  # of networks
# A plain statement: "Our GPT-2 is a small transformer with about 1.5B parameters", "resnet18 (11.7M
# parameters)", "the 20B parameter GPT-NeoX", "In total, Net has 5M". What is said in another way
# may be about another model: a pruned one, two of them, one that had or should have so many.
_KIND = "(?:model|network|net|module|class|function|architecture|variant|version|factory|default)"
_FILL = rf"""(?:an?|the|our|{ABOUT}|some|only|just|exactly|(?:in\s+)?total(?:\s+of)?|currently
    |now|overall|merely)"""
_LEAD = late_pattern(
    rf"""\W*(?:(?:{_FILL}|{_KIND}|this|and|while|e\.g\.|i\.e\.)\b\W*)*
    (?:(?:number|count)\s+of\s+(?:[a-z]+\s+)?{NOUN}\s+(?:of|in)\s+(?:the\s+)?\W*)?""",
    re.IGNORECASE | re.VERBOSE,
)
# "With 6 layers, Net has …"
_SETTING = late_pattern(
    r"""\W*(?:with|in(?!\s+total)|at|for|before|after|using|if|when|on|without|by|from|since|until
    |during|expected|q|question)\b""",
    re.IGNORECASE | re.VERBOSE,
)
_KIND_OF_MODEL = rf"""(?:{_KIND}|large|small|tiny|compact|simple|deep|full|whole|lightweight|super
    |very|transformer(?:-based)?|language|neural|vision|vit|convolutional|cnn|mlp|rnn|lstm
    |(?:en|de)coder-only|encoder-decoder)"""
_STATES = late_pattern(
    rf"""(?:['’]s\s+(?:total\s+)?(?:param(?:eter)?\s+count|(?:number|count)\s+of\s+param(?:eter)?s))?
    \W*(?:(?:{_KIND}|that|which)\W+)*
    (?:(?:has|have|having|with|is|contains?|containing|comprises|counts|totals|consists\s+of|uses|at
    |totali[sz]ing|of|in|(?:has|contains?)\s[0-9][\w.]*\s[a-z]+)\b\W*
    (?:(?:{_FILL}|{_KIND_OF_MODEL}|and)\b\W*)*)*
    |\s*(?:的|の|의)?\s*(?:总?共)?(?:有|имеет|tiene|hat|possui|possède)?\s*
    (?:{NOUN_ABROAD}\s*[:：]?\s*(?:[约約仅只]?[为為是]|[は는은])?\s*[约約]?\s*)?""",
    re.IGNORECASE | re.VERBOSE,
)
_IN_BRACKETS = late_pattern(r"[`*_\s]*\(\s*[~≈]?")
_BEFORE_NUMBER = late_pattern(  # `ViT-Large (DeiT-III, ~`, `a ViT-L model with about`
    r"""(?<![\w./+-])([A-Za-z][\w./+-]*)[`*_ ]*(?:\s(?:model|network))?\s*
    (?:\((?:[^()]*,)?|\bwith\b)\s*(?:about|around|roughly|over|[~≈])?\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_NUMBER = rf"(?:(?:{ABOUT}|{LIMITS})\s+)?\S+(?:\s?{UNIT_WORD})?"
_OF_IT = late_pattern(  # between the number and the name behind it
    rf"""{_NUMBER}[\s-]+(?:[a-z-]+[\s-]+)?{NOUN}\W*
    (?:(?:in\s+total|{_KIND}|{_FILL}|called|named|of|for)\b\W*)*""",
    re.IGNORECASE | re.VERBOSE,
)
_BEHIND = late_pattern(  # the number, or its noun
    rf"""{_NUMBER}(?:[\s-]+(?:[a-z-]+[\s-]+){{0,2}}{NOUN}
    (?:\s+(?:in\s+total|total|overall|and|with|which|that|while|but|vs|on|by\s+default|each)\b
    |[\s-]+(?:[a-z-]+\s+){{0,3}}(?:model|network|transformer|net|lm|llm|autoencoder|version|cnn)\b
    |\s*$|\s*[^\w\s])|\s*$|[.,;:)](?:\s|$)
    |\s*(?:(?:[个個]の?|de\s)\s*)?{NOUN_ABROAD}|\s*です)""",
    re.IGNORECASE | re.VERBOSE,
)
_CLAUSE = late_pattern(r"[,;:]\s|[，；：。]|\s[–—-]\s|\s\(|(?<=\w\.)\s+(?=[A-Z])|\n")
_LINK = late_pattern(r"\w+://\S+")
_NUMBER_BEFORE = late_pattern(r"(?<![\w-])[0-9][\w.,]*\s*%?\s*$")
_WORDS_OF_NAME = 3
_FEW = 3  # counts of models that one word chooses, in parts of a project
_SOON = 8  # lines from a sentence to the code that it speaks of
_SHORTEST_BEGINNING = 5  # letters of a name that begins another
_ALIKE = 0.9  # of the modules of a model, and of a checkpoint


class NamedModel(Struct, frozen=True):
    """A model that was counted, as a text may call it."""

    report: ModelReport
    measured: Measured
    name: str

    @property
    def has_arguments(self) -> bool:
        """Whether it is declared with arguments."""
        return self.report.way is None and self.report.target != self.report.bare

    @property
    def is_size(self) -> bool:
        """Whether it is declared with this name as an argument: `GPT.from_pretrained('gpt-xl')`."""
        return self.has_arguments and self.name in _CHOICE.findall(self.report.target)

    @property
    def is_default(self) -> bool:
        """Whether nobody says how it is called."""
        return self.report.way is None and not self.has_arguments

    @property
    def is_named_by_class(self) -> bool:
        """Whether this is the name of its class, for which its defaults stand."""
        return not self.report.is_function and name_key(self.name) == name_key(
            called(self.report.target)
        )

    @property
    def is_called(self) -> bool:
        """Whether a script, a test or a text calls it."""
        return self.report.way is not None and self.report.way.kind == "call"

    @property
    def is_chosen(self) -> bool:
        """Whether it is called by a word that chooses it where it is built."""
        return self.report.way is not None and self.name in self.report.way.chosen_by

    @property
    def is_of_config(self) -> bool:
        """Whether it is called after the config file that says how it is built."""
        is_built = bool(_config_of(self.report.target, self.report.way))
        return is_built and name_key(self.name) != name_key(called(self.report.target))

    @property
    def spellings(self) -> set[str]:
        """The keys of what a sentence about it calls it: its name, or its class."""
        return {name_key(self.name), name_key(self.measured.type.rpartition(".")[2])}

    def amount(self, count: StatedCount) -> int | None:
        """What it has of the measure that a count is about."""
        return self.measured.modules[0].of(count.selector.metric)

    def has_tensors(self, weights: Iterable[str]) -> bool:
        """Whether the names of a checkpoint's tensors are those of its modules."""
        theirs = {name.rpartition(".")[0] for name in weights}
        ours = {row.path for row in self.measured.modules if row.own or row.tied}
        both = len(theirs & ours)
        return bool(both) and both >= _ALIKE * len(ours) and both >= _ALIKE * len(theirs)


class Binding(Struct, frozen=True):
    """The models that a count may be about, how sure that is, and `because` of what. `confirms`: a
    number that fits none of them is about something else."""

    models: Sequence[NamedModel] = ()
    strength: Strength = ""
    because: str = ""
    confirms: bool = False


def called(target: str) -> str:
    """The last part of the name of a class or factory: `GPT` of `nets/gpt.py::GPT(n_layer=2)`; ""
    of a config file."""
    return target.partition("::")[2].partition("(")[0].rpartition(".")[2]


def name_key(text: str) -> str:
    """What is the same for all spellings of a name; `Net++`, or `NetPP`, is another than `Net`."""
    text = _PLUS.sub(lambda plus: "Plus" * len(plus[0]), text)
    key = ""
    for part in _PART.findall(text):
        if part.lower() in _LETTERS:
            key += _LETTERS[part.lower()]
        else:
            pieces = PIECE.findall(part) or [part]
            key += "".join(_SIZES.get(piece.lower(), piece.lower()) for piece in pieces)
    return key


def without_brackets(name: str) -> str:
    """A name without what stands in brackets and is no size: `U-Net (ours)`."""
    return _BRACKETS.sub(lambda match: match[0] if is_size(match[0]) else " ", name)


def is_plain(count: StatedCount, model: NamedModel) -> bool:
    """Whether the sentence of a count says no more than that this model has it: it names nothing
    else, and where it names the model, no preposition stands before the number."""
    before, after = (_LINK.sub("", part) for part in count.sentence)
    named_before, others = _named_beside(before, model)
    named_after, others_after = _named_beside(after, model)
    # Behind the number what follows "on" is a data set; and behind a comma another matter begins.
    clause = re.split(r"[,;]\s", after)[0]
    others += [n for n in others_after if n < len(clause) and not re.search(r"\bon\s+$", after[:n])]
    if others:
        return False
    if count.definition or count.in_file:
        return True
    if not (named_before or named_after):  # a heading names it: is it what the sentence is about?
        words = [word.lower() for word in re.findall("[A-Za-z]+", before)]
        is_description = _OF_HEADING.issuperset(words[:1])
        is_description &= _STATING.isdisjoint(words)  # "A grid of layers, 5M parameters"
        is_about_it = is_description or _OF_HEADING.issuperset(words)
        return is_about_it and _OTHER_SUBJECT.match(after) is None
    if not named_before:
        is_of_it = _OF_IT.fullmatch(after[: named_after[0]].rstrip("`*_"))
        return is_of_it is not None and _STATES.fullmatch(_CLAUSE.split(before)[-1]) is not None
    start = named_before[-1]
    behind = _WORD.sub("", before[start:], count=1)
    clauses = _CLAUSE.split(before[:start])
    is_lead = _LEAD.fullmatch(clauses[-1]) or (  # "instantiate a GPT-2 (124M parameters)"
        _IN_BRACKETS.fullmatch(behind) and _ARTICLE.search(clauses[-1])
    )
    return (
        is_lead is not None
        and not any(map(_SETTING.match, clauses[-2:-1]))
        and _STATES.fullmatch(behind) is not None
        and (not after.strip() or _BEHIND.match(after) is not None)
    )


def _named_beside(text: str, model: NamedModel) -> tuple[list[int], list[int]]:
    """Where a text names a model, and where something else: by a compound (`ViT-B`, `resnet50`) or
    within a sentence by a capital; without labels (`FLOPs: 8G`) and units (`8G FLOPs`)."""
    named, others = [], []
    for match in _WORD.finditer(text):
        word, before = match[0].rstrip(".-/"), text[: match.start()]
        key = name_key(word.rpartition(".")[2] if _DOTTED.fullmatch(word) else word)
        is_compound = _COMPOUND.search(word) is not None
        if any(own.startswith(key) for own in model.spellings):
            if is_compound or key in model.spellings:
                named.append(match.start())
        elif is_compound or (word[0].isupper() and re.search(r"[a-z,]\s+$", before)):
            is_label = text[match.end() :].lstrip(" *_`")[:1] in (":", "=")
            is_general = word.lower().removesuffix("s") in _GENERAL | _KINDS
            if not (is_label or is_general or _NUMBER_BEFORE.search(before)):
                others.append(match.start())
    return named, others


class ModelNames:
    """The models that were counted, by what texts call them."""

    def __init__(self, report: Report, definitions: Iterable[Definition]) -> None:
        of_project = [(d.qualname.rpartition(".")[2], d) for d in definitions]
        classes = {name for name, _ in of_project}
        # What is built for training or for inference, as an argument says.
        self.of_two_forms = {
            name_key(name)
            for name, d in of_project
            if any(_FOR_INFERENCE.fullmatch(parameter.name) for parameter in d.parameters or ())
        }
        self.models: list[NamedModel] = []
        self.by_key: dict[str, list[NamedModel]] = defaultdict(list)
        sized: dict[str, list[NamedModel]] = defaultdict(list)  # by their classes and sizes
        self.by_path: dict[str, list[NamedModel]] = defaultdict(list)
        # By words that choose a model where it is built.
        self.by_word: dict[str, list[NamedModel]] = defaultdict(list)
        uncounted = {target for target, _ in report.skipped}
        users = report.containment.users
        for model in report.models:
            measured = model.measurement
            if not isinstance(measured, Measured) or model.host or not measured.counts.total:
                continue
            is_of_size = model.way is not None and model.way.kind == "size"
            if is_of_size and not uncounted.isdisjoint(users.get(model.target, ())):
                continue  # of a size only a part was counted
            root, *rows = measured.modules
            # A wrapper is called after what it holds.
            held = next((row.type for row in rows if row.total == root.total), "")
            held = held.rpartition(".")[2]
            inner = [held] if held in classes else []
            for name in (*names_of(model.target, model.way, measured.call), *inner):
                plain = _RESOLUTION.sub("", _PATCHED.sub(r"\1", name))
                own = called(model.target)  # `CarnModel` of "CARN"
                shown = own if name and own.startswith(name) else name
                for key in dict.fromkeys((name_key(name), name_key(plain))):
                    self.by_key[key].append(NamedModel(model, measured, shown))
            for size in filter(is_size, _choices(model.way, measured.call)):
                name = f"{called(model.target)} {size}"  # "MobileNetV3 (small)"
                sized[name_key(name)].append(NamedModel(model, measured, name))
            for word in model.way.chosen_by if model.way else ():
                self.by_word[name_key(word)].append(NamedModel(model, measured, word))
            location, _, name = model.target.partition("::")
            paths = [_config_of(model.target, model.way)]
            if model.way and model.way.kind == "config":  # which may be of one size of the file
                paths.append(model.way.position.path)
            for path in dict.fromkeys(filter(None, paths)):
                self.by_path[path].append(NamedModel(model, measured, paths[0]))
            self.models.append(NamedModel(model, measured, name.partition("(")[0] or location))
        self.by_key = sized | self.by_key
        self.by_key.pop("", None)
        by_folder = grouped(self.models, lambda m: parent(m.report.bare.partition("::")[0]))
        self.by_folder = {
            name_key(posixpath.basename(folder)): models
            for folder, models in by_folder.items()
            if folder and len({m.measured.counts.total for m in models}) == 1
        }
        self.unsure = {failed.target for failed in report.failed_ways}
        self.unsure |= {target for target, _ in report.ways_left}
        self.gaps = report.gaps.keys()
        self.inside = users.keys()  # the models that are parts of others
        self.uncounted: dict[str, set[str]] = defaultdict(set)  # targets by their names
        for target, _ in report.skipped:
            self.uncounted[name_key(called(target))].add(target)
        self.skipped = {name_key(called(target)): target for target, _ in report.skipped}
        self.skipped.pop("", None)  # of a config file
        configs = (_config_of(failed.target, failed.way) for failed in report.failed_ways)
        for config in filter(None, configs):
            self.uncounted[name_key(_stem(config))].add(config)
        # Of a project with models that could not be counted, a number may be about one of these.
        top_level = {m.report.target for m in self.models if m.report.top_level}
        wholes = {target for target, _ in report.skipped} - users.keys()
        is_whole = len(top_level) == 1 and not wholes
        self.only = [m for m in self.models if m.report.target in top_level and is_whole]

    def binding(self, at: Position, count: StatedCount) -> Binding:
        """The models that a count at a place may be about."""
        if count.weights:
            models = [model for model in self.models if model.has_tensors(count.weights)]
            return Binding(models, "certain", "its tensors have the names of this model's")
        if count.definition:
            target = f"{at.path}::{count.definition}"
            models = [model for model in self.models if model.report.bare == target]
            if not models:  # of a method that makes a config
                name = count.definition.rpartition(".")[2]
                sizes = filter(partial(_is_size_of, at, name), self.models)
                models = [replace(size, name=name) for size in sizes]
            return Binding(models, "certain", "it stands in the model's docstring")
        inside = self._by_names(at, count) if count.is_name else self._by_texts(at, count.names)
        if inside is not None:
            return inside
        if count.in_file and (built := self.by_path.get(at.path)):
            of_line = [m for m in built if m.report.way and m.report.way.position.line == at.line]
            return Binding(of_line or built, "certain", "it stands in the config of this model")
        card = posixpath.basename(at.path).partition(".")[0]
        if at.path.endswith(DOC_SUFFIXES) and (described := self._named(card)):
            return Binding(described, "likely", "this is its model card")
        for name in count.names if count.is_name else ():
            if begun := self._begun(name):
                return Binding(begun, "likely", f"its name begins like {name}", confirms=True)
        is_of_other = count.is_name and any(map(_COMPOUND.search, count.names[:1]))
        is_of_other |= count.is_name and any(map(self._is_longer, count.names[:1]))
        built = [] if count.is_name else self._built_below(at)
        is_of_other |= any(_named_beside(count.sentence[0], m)[1] for m in built or self.only)
        if built:
            confirms = is_of_other or len(built) > 1
            return Binding(built, "likely", BUILT_BELOW, confirms)
        return Binding() if is_of_other else Binding(self.only, "likely", THE_ONLY)

    def _built_below(self, at: Position) -> list[NamedModel]:
        """The models that a text builds in the line of a count or soon after, in code or by a
        command."""
        lines = {f"{at.path}:{at.line + n}" for n in range(_SOON)}

        def places(way: Way) -> set[str]:
            return {f"{way.position.path}:{way.position.line}", way.command.partition(" ")[0]}

        return [m for m in self.models if m.report.way and lines & places(m.report.way)]

    def _by_names(self, at: Position, count: StatedCount) -> Binding | None:
        """By the names beside a count."""
        models: Sequence[NamedModel] | None
        for name in count.names:
            paths = _paths_of(name, at.path)
            if models := next(filter(None, map(self.by_path.get, paths)), None):
                return Binding(models, "certain", f"beside it stands the file {name}")
        names = [_OURS.sub("", name) for name in count.names]
        if count.called and not (self._named(count.called) or is_size(count.called)):
            names = []  # it is another model's, or that of a part
        for n, name in enumerate(names):
            named = self._named(name)
            if not (models := named or self._named(without_brackets(name))):
                continue
            models = [*_nearest(models, at.path), *self._chosen_by(name, 1)]
            because = f"beside it stands the name {name}"
            if count.of_larger:  # what a config file builds is no part
                whole = [m for m in models if m.is_of_config]
                if not whole:
                    return Binding(models, "likely", because, confirms=True)
                models = whole
            if "=" in name:  # some settings of it, which another number may be of
                return Binding(models, "likely", because, confirms=True)
            if count.shares_name and not n:  # each row is of another variant of it
                return Binding(models, "likely", because, confirms=True)
            is_unsure = not named or _MARK.search(name) or _SMALL_VALUE.search(count.text)
            return Binding(models, "likely" if is_unsure else "certain", because)
        if count.of_larger:
            name = next(iter(names), "")
            because = f"its name begins like {name}"
            if wholes := self._chosen_by(name):
                because = f"{wholes[0].name} chooses it where it is built"
            else:
                wholes = [m for m in self._begun(name) if m.is_of_config]
            return Binding(wholes, "likely" if wholes else "", because, confirms=True)
        for name in names:
            if models := self._chosen_by(name):
                because = f"{models[0].name} chooses it where it is built"
                is_one = len({m.measured.counts.total for m in models}) == 1
                return Binding(models, "certain", because, confirms=not is_one)
        for name in names:
            if models := self.by_folder.get(name_key(name)):
                return Binding(models, "likely", f"{name} is its folder", confirms=True)
        around = [*count.above, *_PART.findall(posixpath.basename(at.path))]
        for rest, name in product(around, names):  # `resnet20` below "CIFAR-10"
            if models := self.by_key.get(name_key(f"{rest} {name}")):
                return Binding(models, "certain", f"{rest} {name} names it")
        for rest, name in product(count.above, names):  # `plover20_cifar`: "20" below "Plover"
            key = name_key(f"{rest} {name}")
            keys = self.by_key if key[-1:].isdigit() else ()
            longer = [k for k in keys if k.startswith(key) and not k[len(key)].isdigit()]
            models = [model for k in longer for model in self.by_key[k]]
            if len({m.measured.counts.total for m in models}) == 1:
                return Binding(models, "likely", f"{rest} {name} begins its name")
        return None

    def _by_texts(self, at: Position, texts: Sequence[str]) -> Binding | None:
        """By the words around a count, nearest first."""
        strength: Strength
        if len(texts) > 1 and _ARTICLE.search(texts[0]) and (of := _OF_IT.match(texts[1])):
            behind = texts[1][of.end() :]  # "the 2M-parameter Net"
            name, models = next(self._in_text(behind), ("", ()))
            if models and re.match(rf"[\W_]*{re.escape(name)}", behind):
                return Binding(_nearest(models, at.path), "certain", f"the text names {name}")
        # "Net beats ResNet-50 (25.6M parameters)"
        other = _BEFORE_NUMBER.search(texts[0]) if texts else None
        if other and _COMPOUND.search(other[1]):
            *_, last = ("", *(name for name, _ in self._in_text(texts[0])))
            if not last.endswith(other[1]):
                return Binding()
        for n, text in enumerate(texts):
            if in_text := [*self._in_text(text)]:
                is_headed = re.match(rf"\W*{re.escape(in_text[0][0])}\s*:\s", text)
                name, nearest = in_text[0] if n == 1 or is_headed else in_text[-1]
                is_whole = n < 2 or name_key(text) == name_key(name)  # a heading
                # "X uses Y, and a 7M parameter model": the count is that of what follows it.
                is_of_next = n == 0 and _ARTICLE.search(text) and not _IS.search(text)
                is_certain = is_whole and not is_of_next and name.lower() not in _GENERAL
                strength = "certain" if is_certain else "likely"
                because, around = f"the text names {name}", "\0".join(texts[:2])
                size = re.search(_OF_SIZE.format(re.escape(name)), around, re.IGNORECASE)
                # The code beside a comment is the call itself.
                setting = not at.path.endswith(".py") and _SETTING_IN_TEXT.search(around)
                confirms = n < 2 and bool(size or setting)
                confirms |= _VERSION_OF_IT.search(texts[0]) is not None
                return Binding(_nearest(nearest, at.path), strength, because, confirms)
        return None

    def _named(self, name: str) -> Sequence[NamedModel]:
        """The models of exactly this name."""
        spellings = [name, name.lower(), _OF_MODEL.sub("", name)]
        if re.fullmatch(r"[\w.]+", name):  # a dotted name
            spellings.append(name.rpartition(".")[2])
        keys = map(name_key, spellings)
        return next((models for key in keys if (models := self.by_key.get(key))), ())

    def _chosen_by(self, name: str, most: int = _FEW) -> list[NamedModel]:
        """The models that this word chooses; none where it chooses many with different counts, as
        `train` does."""
        models = self.by_word.get(name_key(without_brackets(name)), [])
        return models if len({m.measured.counts.total for m in models}) <= most else []

    def has_namesake(self, model: NamedModel) -> bool:
        """Whether another model of its name, or a config file so called, was not counted."""
        namesakes = self.uncounted.get(name_key(called(model.report.target)), set())
        return not namesakes <= {model.report.bare}

    def are_only_defaults(self, models: Iterable[NamedModel]) -> bool:
        """Whether models were counted with their defaults alone, and the project builds them in
        other ways, which were not followed."""
        return all(m.is_default and m.report.bare in self.gaps for m in models)

    def of_family(self, name: str) -> list[NamedModel]:
        """The models whose names begin with this name; with a short one if that has several words,
        and the others follow: "RGT-S" of `rgt_s_x4.yml`."""
        name = without_brackets(name)
        key, words = name_key(name), _words(name)
        is_long = len(re.findall("[A-Za-z]", name)) >= _SHORTEST_BEGINNING
        return [
            model
            for longer, models in self.by_key.items()
            for model in (models if longer.startswith(key) else ())
            if is_long or (len(words) > 1 and _words(model.name)[: len(words)] == words)
        ]

    def of_heading(self, name: str, above: Sequence[str]) -> list[NamedModel]:
        """The models whose names have all of this one, and a word of a heading."""
        words = {word.lower() for text in above for word in _WORD.findall(text) if len(word) > 3}
        pieces = [name_key(piece) for piece in _PART.findall(name)]
        return [
            model
            for key, models in self.by_key.items()
            if pieces and all(piece in key for piece in pieces)
            if any(word in key and word not in name.lower() for word in words)
            for model in models
        ]

    def beside(self, model: NamedModel) -> list[NamedModel]:
        """The models that are defined in the same file."""
        file = model.report.bare.partition("::")[0]
        return [m for m in self.models if m.report.bare.startswith(f"{file}::")]

    def _begun(self, name: str) -> Sequence[NamedModel]:
        """The models whose names begin with this name, or this with theirs."""
        if longer := self.of_family(name):
            return longer
        key = name_key(without_brackets(name))
        if key in self.uncounted:
            return ()
        shorter = [k for k in self.by_key if len(k) >= _SHORTEST_BEGINNING and key.startswith(k)]
        return self.by_key[max(shorter, key=len)] if shorter else ()

    def _is_longer(self, name: str) -> bool:
        """Whether a name has that of a model in it, as "Attention U-Net" has."""
        key = name_key(without_brackets(name))
        return any(spelling in key != spelling for m in self.only for spelling in m.spellings)

    def _in_text(self, text: str) -> Iterator[tuple[str, Sequence[NamedModel]]]:
        """The models that a text names, in its order; the longest name at each place."""
        words = [match[0].rstrip(".-/") for match in _WORD_OR_NUMBER.finditer(text)]
        words = [w.rpartition(".")[2] if _DOTTED.fullmatch(w) else w for w in words]
        n = 0
        while n < len(words):
            for length in range(min(_WORDS_OF_NAME, len(words) - n), 0, -1):
                name = " ".join(words[n : n + length])
                models = self.by_key.get(name_key(name), ())
                is_compound = _COMPOUND.search(name) and len(name_key(name)) > 2
                if models and (is_compound or any(model.name == name for model in models)):
                    yield name, models
                    n += length - 1
                    break
            n += 1


def _is_size_of(at: Position, name: str, model: NamedModel) -> bool:
    """Whether this is the size of a model that is called so in the file of a place, above it."""
    way = model.report.way
    if way is None or way.kind != "size" or way.position.path != at.path:
        return False
    return way.name == name and way.position.line <= at.line


def _nearest(models: Sequence[NamedModel], document: str) -> Sequence[NamedModel]:
    """Of several models of one name those in the directory nearest to the document: each part of a
    project may have its own `LeNet`, and its own `conf/small.yaml`."""
    if len(models) < 2:
        return models
    above = [*ancestors(posixpath.dirname(document))]

    def depth(model: NamedModel) -> int:
        config = _config_of(model.report.target, model.report.way) if model.is_of_config else ""
        folder = parent(config or model.report.bare.partition("::")[0])
        return min(map(above.index, {*above}.intersection(ancestors(folder))))

    nearest = min(map(depth, models))
    return [model for model in models if depth(model) == nearest]


def _config_of(target: str, way: Way | None) -> str:
    """The config file that says how a model is built; "" where none does."""
    if way:
        return way.name if way.kind in ("config", "call") else ""
    return "" if "::" in target else target


def _stem(path: str) -> str:
    """What a config file is called: `small` of `runs/small/config.yaml`, too."""
    stem = posixpath.splitext(posixpath.basename(path))[0]
    folder = posixpath.basename(parent(path))
    return folder if folder and stem.lower() in _OF_FOLDER else stem


def names_of(target: str, way: Way | None, call: str) -> Iterable[str]:
    """What a text may call a model that is built by a call."""
    config = _config_of(target, way)
    made = _MAKES.sub("", called(target))
    made = _OF_CLASS.sub("", made)
    made = "" if made.lower() in _GENERAL or is_size(made) else made
    plain = _OF_RUN.sub("", _stem(config))
    names = dict.fromkeys((called(target), made, posixpath.basename(config), _stem(config), plain))
    if way or "(" in target:
        names |= dict.fromkeys(_choices(way, call))
    return names


def _choices(way: Way | None, call: str) -> list[str]:
    """The name of a size, and the texts that a call gives."""
    named = [way.name] if way and way.kind == "size" and way.name else []
    return [*named, *_CHOICE.findall(call)]


def _words(name: str) -> list[str]:
    return re.findall("[a-z0-9]+", name.lower())


def _paths_of(name: str, document: str) -> list[str]:
    """The files of the project that a link, or a path, may lead to: from the document's directory,
    or from the root."""
    name = name.partition("#")[0].strip()
    if blob := _BLOB.match(name):
        return [blob[1]]
    if "/" not in name and "." not in name:
        return []
    folders = (posixpath.dirname(document), "")
    return [posixpath.normpath(posixpath.join(at, name.lstrip("/"))) for at in folders]


def is_size(name: str) -> bool:
    """Whether a name says a size alone: `base`."""
    return name_key(name) in _SIZES.values()
