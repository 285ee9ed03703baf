"""Kinds of text files, by their names."""

CONFIG_SUFFIXES = (".yaml", ".yml", ".toml", ".json")
_REST_SUFFIXES = (".rst", ".rest")
DOC_SUFFIXES = (".md", ".markdown", ".mdown", ".mkd", ".mdx", *_REST_SUFFIXES)


def is_doc(path: str) -> bool:
    """Whether a file is Markdown or reStructuredText, by its name: `README.MD` is, too."""
    return path.lower().endswith(DOC_SUFFIXES)


def is_rest(path: str) -> bool:
    return path.lower().endswith(_REST_SUFFIXES)
