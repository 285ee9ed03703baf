"""The class names and attribute names that are common for the parts of a model.

Class names are matched at their end (`LlamaSdpaAttention`), names by their words (`self_attn`).
"""

from __future__ import annotations

from functools import cache

from nparam_lint.ground.patterns import late_pattern

_WORD = late_pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

EMBEDDING_CLASS = late_pattern(
    r"(?:Embed(?:s|der|ding|dings)?|PositionalEncoding)(?:Layer|Bag|\d[dD])?$"
)
ATTENTION_CLASS = late_pattern(r"(?:Attention|Attn|MHS?A|MSA)(?:Pool\w*|\d[dD]|V\d)?\d*$")
FEED_FORWARD_CLASS = late_pattern(
    r"(?:M[Ll][Pp]|F[Ff][Nn]|FF|Feed[Ff]orward|Experts?|M[oO][eE]|(?:Swi|GE|Ge|Re)G[Ll][Uu]"
    r"|Dense\w*Dense)(?:Network|Net|Layer|Sub[Ll]ayer|Block|Module)?\d*$"
)
CELL_CLASS = late_pattern(r"(?:LSTM|GRU|RNN)Cell$")
RECURRENT_CLASS = late_pattern(r"(?:Simple)?(?:LSTM|GRU|RNN)$")
RECURRENT_LAYER = late_pattern(r"(?:LSTM|GRU|RNN)(?:Layer|Block|Stack)?\d*$")
RECURRENT_PARAMETER = late_pattern(r"(?:weight|bias)_(?:ih|hh|hr)(?:_l\d+)?(?:_reverse)?$")
STATE_MATRIX = "A_log"  # of a state space model, as Mamba holds it: a linear recurrence
NORM_CLASS = late_pattern(r"Norm(?:alization)?(?:Act|\d?[dD]|\d|[Ff]p32|1P)*$")
CONVOLUTION_CLASS = late_pattern(r"Conv(?:Transpose)?[123]d")
OUTPUT_CLASS = late_pattern(r"(?:Head|Classifier)$")
TORCH_NORMS = ("LayerNorm", "RMSNorm", "GroupNorm", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d")
CONTAINERS = ("Sequential", "ModuleList", "ModuleDict")

ATTENTION_WORDS = frozenset("attn attns attention attentions mha mhsa msa xattn".split())
PROJECTIONS = frozenset(  # of queries, keys and values: nothing else has them
    "qkv qkv_proj to_qkv c_attn query_key_value wqkv in_proj_qkv q_proj k_proj v_proj"
    " to_q to_k to_v to_kv".split()
)
GATES = frozenset("se squeeze excite eca cbam split selective".split())  # of channels, by pooling
FEED_FORWARD_WORDS = frozenset("mlp mlps ffn ffns ff feedforward expert experts moe".split())
PAIRS = (  # the two layers of a feed-forward that are held by the block itself
    ("linear1", "linear2"),
    ("fc1", "fc2"),
    ("lin1", "lin2"),
    ("w1", "w2"),
    ("up_proj", "down_proj"),
    ("gate_proj", "down_proj"),
    ("w3", "w2"),
    ("pwconv1", "pwconv2"),
    ("intermediate", "output"),
    ("intermediate_query", "output_query"),
)
_EMBEDDED = frozenset("embed embeds emb embedding embeddings embedder encoding".split())
_PLACES = frozenset(
    "pos position positional abs absolute patch tok token word time timestep label type segment"
    " temporal query level".split()
)
_EMBEDDING_NAMES = frozenset("wte wpe embedding embeddings embed_tokens".split())
_CLASS_NAMES = frozenset("cls class dist mask reg register dec query".split())
NORM_WORDS = frozenset("norm norms ln bn layernorm batchnorm rmsnorm groupnorm".split())
_OUTPUT_LAST = frozenset("head heads classifier classifiers logits".split())
OUTPUT_NAMES = frozenset(
    "final_layer head_dist output_projection text_projection visual_projection predictions"
    " qa_outputs".split()
)
_OUTPUT_AT_THE_TOP = frozenset(
    "fc output out output_layer out_layer fc_out score last_linear classif".split()
)


@cache
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case: `out`, `proj` and `2` of `outProj_2`."""
    return tuple(word.lower() for word in _WORD.findall(name))


def embeds(name: str) -> bool:
    """Whether a module of this name turns places, patches or tokens into vectors. Not `bbox_embed`
    and `class_embed`: those are heads."""
    words = set(words_of(name))
    return name in _EMBEDDING_NAMES or bool(words & _EMBEDDED and words & _PLACES)


def embeds_directly(name: str) -> bool:
    """The same for a parameter that a module holds itself: `cls_token`, `pos_embed`."""
    words = set(words_of(name))
    is_class = words & {"token", "tokens", *_EMBEDDED} and words & _CLASS_NAMES
    return embeds(name) or bool(is_class)


def is_output_name(name: str, at_top: bool) -> bool:
    """Whether a module of this name is the output layer; `at_top`: directly below the root."""
    last = words_of(name)[-1:]
    return (
        name in OUTPUT_NAMES
        or (at_top and name in _OUTPUT_AT_THE_TOP)
        or bool(last and last[0] in _OUTPUT_LAST)
    )
