"""Tokenizers whose vocabulary is not here. transformers 5 makes nearly empty ones while it has to
stay offline; version 4 said so."""

import sys

from .side_effect_guard import refuse

BASE = "transformers.tokenization_utils_base"


class AbsentVocabulary:
    """Mixed into the class of such a tokenizer. It may be held, take tokens, and say words, which
    are those of its class; but no number comes of it: neither its size nor an encoded text. Its own
    code may ask all."""

    def __getattribute__(self, name):
        return for_itself(self, super().__getattribute__(name), name)

    def __getattr__(self, name):  # `pad_token_id`
        return for_itself(self, super().__getattr__(name), name)

    def __len__(self):
        return for_itself(self, super().__len__())

    def __call__(self, *args, **kwargs):
        return for_itself(self, super().__call__)(*args, **kwargs)


def for_itself(tokenizer, value, name=""):
    """`value`, if it is a word, or the tokenizer's own code asks for it, or ours; else that is
    refused."""
    is_word = value is None or isinstance(value, (str, bool)) or name.startswith(("_", "add_"))
    asks = sys._getframe(2).f_globals.get("__name__", "")
    if not is_word and ".tokenization_" not in asks and not asks.startswith("<nparam"):
        refuse_vocabulary(tokenizer.name_or_path)
    return value


def refuse_vocabulary(name):
    refuse(f"to download the vocabulary of {name!r}")


def watch_tokenizers(base):
    """`base`: the class of all tokenizers."""
    make = base._from_pretrained.__func__

    def _from_pretrained(cls, files, name, *args, **kwargs):
        needed = cls.vocab_files_names  # none, if its tokens are bytes
        is_absent = needed and not any(map(files.get, (*needed, "tokenizer_file")))
        try:
            tokenizer = make(cls, files, name, *args, **kwargs)
        except Exception:
            if is_absent:
                refuse_vocabulary(name)
            raise
        if is_absent:
            kind = type(tokenizer)
            names = {"__module__": kind.__module__}
            tokenizer.__class__ = type(kind.__name__, (AbsentVocabulary, kind), names)
        return tokenizer

    base._from_pretrained = classmethod(_from_pretrained)
