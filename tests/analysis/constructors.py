"""The constructors of the book `constructors.txt`."""

from pathlib import Path

from case_books import Book

BOOK = Book(Path(__file__).with_suffix(".txt"))
exec(compile(BOOK.files["constructors.py"], "<constructors.txt>", "exec"))
