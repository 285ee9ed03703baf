"""Which classes and functions of installed packages are models, by their dotted names."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Packages that a repository's own directory of that name must not be taken for.
HEADS = _words("""
    torch torchvision torchaudio torchtext torch_geometric transformers timm diffusers
    lightning pytorch_lightning lightning_fabric mmengine mmcv mmdet mmseg mmcls mmpretrain
    fairseq peft accelerate datasets detectron2 monai numpy scipy sklearn pandas tensorflow
    keras jax flax triton huggingface_hub wandb hydra omegaconf einops tokenizers safetensors
    tqdm yaml pytest
    """)

# Any of these in a file makes it worth parsing. The likeliest first: the search ends there.
HINTS = tuple(
    b"torch transformers timm Module nn. nparam PreTrained lightning Lightning diffusers "
    b"mmengine mmcv mmdet mmseg fairseq monai gpytorch pyro peft detectron2".split()
)

# Bases that are modules wherever they come from.
_TAILS = _words("""
    LightningModule PreTrainedModel BaseModule ModelMixin MessagePassing PyroModule
    ScriptModule GraphModule PeftModel SentenceTransformer BaseFeaturesExtractor TorchModelV2
    ActorCriticPolicy BaseFairseqModel FairseqEncoder FairseqDecoder FairseqIncrementalDecoder
    FairseqEncoderDecoderModel FairseqLanguageModel FairseqMultiModel FairseqCriterion
    BaseDetector BaseSegmentor BaseBackbone BaseDecodeHead BaseDenseHead GPyTorchModel ExactGP
    ApproximateGP
    """)
_TRANSFORMERS = re.compile(
    r"(?!TF[A-Z]|Flax)\w*(Model|PreTrained|For[A-Z]\w*|Layer|Attention|MLP|Block|Encoder|Decoder"
    r"|Embeddings?|Norm|Pooler)$"
)
# Namespaces in which every capitalised name may be taken for a module.
_NAMESPACES = re.compile(
    r"torch\.(nn|ao\.nn)\.(?!init\.|functional\.|utils\.(?!parametriz)|parameter\.|attention\.)"
    r"|torchvision\.(models|ops)\.|torchaudio\.(models|transforms)\."
    r"|timm\.(models|layers)\.|torch_geometric\.nn\.|dgl\.nn\."
    r"|mm\w+\.(models|model|cnn)\.|fairseq\.(models|modules)\.|monai\.networks\."
    r"|detectron2\.(modeling|layers)\.|segmentation_models_pytorch\.|gpytorch\.(kernels|models)\."
    r"|diffusers\.models\."
)
_NO_MODULE = re.compile(
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
    return any(hint in source for hint in HINTS)


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
    if tail == "ModelMixin":
        return True
    capital = tail.lstrip("_")[:1].isupper()
    return capital and bool(_NAMESPACES.match(dotted)) and not _NO_MODULE.search(tail)


def is_whole_model(dotted: str) -> bool:
    """As `is_module`, but a single layer of torch is none: `return nn.Conv2d(…)` makes no model."""
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


def is_starred(name: str) -> bool:
    """Does `from torch.nn import *` surely bring this name?"""
    return name in _STARRED
