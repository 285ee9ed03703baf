"""The language server: what an editor is told of the files that are open in it."""
