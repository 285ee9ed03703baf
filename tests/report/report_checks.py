"""What makes a text one valid document of its format, told by schemas and by parsers."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from jsonschema import Draft7Validator
from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from collections.abc import Callable

    import xmlschema

DATA = Path(__file__).with_name("data")


# --- GitHub -----------------------------------------------------------------------------------

_COMMANDS = {
    *"debug notice warning error group endgroup add-mask add-matcher remove-matcher".split(),
    *"add-path set-env set-output save-state stop-commands echo".split(),
}


def commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    """What GitHub's runner acts on (`ActionCommand.cs`): `::name key=value,…::data` at the start of
    a line, and `##[name key=value;…]data` anywhere in it. .NET's lines end at \\r, \\n, \\r\\n."""
    found = []
    for line in re.split(r"\r\n|\r|\n", text):
        new = re.match(r"\s*::([^ :]+)(?: (.*?))?::(.*)", line)
        old = re.search(r"##\[([^\] ]+)(?: ([^\]]*))?\](.*)", line)
        match = new if new and new[1] in _COMMANDS else old
        if match and match[1] in _COMMANDS:
            pairs = (pair.split("=", 1) for pair in (match[2] or "").split(",") if pair)
            properties = {key: unescaped(value) for key, value in pairs}
            found.append((match[1], properties, unescaped(match[3])))
    return found


def unescaped(text: str) -> str:
    for code, character in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ",")):
        text = text.replace(code, character)
    return text.replace("%25", "%")


def check_github(text: str) -> list[tuple[str, dict[str, str], str]]:
    found = commands(text)
    lines = text.splitlines()
    assert len(found) == sum(line.startswith(("::error ", "::warning ")) for line in lines)
    assert all(line.startswith("::") for line in lines[: len(found)])
    assert {name for name, _, _ in found} <= {"error", "warning"}
    for level in ("error", "warning"):
        assert sum(name == level for name, _, _ in found) <= 10
    assert all(set(keys) <= {"file", "line", "col", "title"} for _, keys, _ in found)
    return found


# --- JSON -------------------------------------------------------------------------------------


def check_gitlab(text: str) -> list[dict[str, Any]]:
    document = json.loads(text)
    assert type(document) is list
    for entry in document:
        assert set(entry) == {"check_name", "description", "severity", "fingerprint", "location"}
        assert entry["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert re.fullmatch("[0-9a-f]{64}", entry["fingerprint"])
        assert set(entry["location"]) == {"path", "lines"}
        assert not entry["location"]["path"].startswith("./")
        assert entry["location"]["lines"]["begin"] >= 1
        encodable([entry["description"], entry["location"]["path"]])
    fingerprints = [entry["fingerprint"] for entry in document]
    assert len(set(fingerprints)) == len(fingerprints)
    return document


@cache
def sarif_schema() -> Draft7Validator:
    schema = json.loads((DATA / "sarif-schema-2.1.0.json").read_text(encoding="utf-8"))
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def check_sarif(text: str) -> dict[str, Any]:
    document = json.loads(text)
    sarif_schema().validate(document)
    (run,) = document["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert {rule["id"] for rule in rules} == {result["ruleId"] for result in run["results"]}
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert list(result["partialFingerprints"]) == ["nparamLint/v1"]
        (place,) = result["locations"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"(file:///)?([A-Za-z0-9._~/-]|%[0-9A-F]{2})*", uri)  # RFC 3986
        encodable([result["message"]["text"]])
    return run


def encodable(texts: list[str]) -> None:
    """JSON may escape half of a surrogate pair, but few parsers take it."""
    for text in texts:
        text.encode("utf-8")


# --- XML, Markdown, HTML ----------------------------------------------------------------------


@cache
def junit_schema() -> xmlschema.XMLSchema:
    import xmlschema  # takes longer than the tests of most files

    return xmlschema.XMLSchema(DATA / "junit-10.xsd")


def check_junit(text: str) -> list[ElementTree.Element]:
    root = ElementTree.fromstring(text.encode("ascii"))
    junit_schema().validate(root)
    (suite,) = root
    cases = suite.findall("testcase")
    for element in (root, suite):
        assert element.get("tests") == str(len(cases))
        for outcome in ("failure", "error", "skipped"):
            said = element.get(outcome if outcome == "skipped" else f"{outcome}s")
            assert said in (None, str(len(suite.findall(f"testcase/{outcome}"))))
    assert all(len(case) <= 1 for case in cases)
    return cases


def as_html(text: str) -> str:
    """Markdown as GitHub reads it: tables, and HTML that is passed through."""
    return str(MarkdownIt("commonmark").enable("table").render(text))


def check_markdown(text: str, columns: frozenset[int] = frozenset({2, 5})) -> Page:
    """Nothing but our own elements, and nobody is called. `columns`: of its tables."""
    assert len(text) <= 65_536
    page = Page(as_html(text))
    ours = "h3 p ul li table thead tbody tr th td code pre details summary strong em sub"
    assert {tag for tag, _ in page.tags} <= set(ours.split())
    assert columns >= set(page.cells)
    assert not re.search(r"[@#]\w", page.prose)
    return page


class Page(HTMLParser):
    """HTML whose every element is closed where it belongs. `tags`: with their attributes; `pieces`:
    the texts of its elements; `prose`: what is not code; `cells`: how many each row of a table
    has."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.pieces: list[str] = []
        self.plain: list[str] = []
        self.cells: list[int] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs)
        self.tags.append((tag, dict(attrs)))
        if tag == "tr":
            self.cells.append(0)
        elif tag in ("td", "th"):
            self.cells[-1] += 1
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        self.pieces.append(data)
        if not {"code", "pre", "style", "script"} & set(self.open):
            self.plain.append(data)

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def prose(self) -> str:
        return "".join(self.plain)


def check_html(text: str) -> Page:
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>\n")
    names = [tag for tag, _ in page.tags]
    assert [names.count(tag) for tag in ("html", "head", "title", "body", "h1")] == [1] * 5
    assert not {"link", "img", "iframe", "object", "base", "form"} & set(names)
    scripts = [attributes for tag, attributes in page.tags if tag == "script"]
    assert scripts in ([], [{"type": "application/json", "id": "data"}, {}, {}])
    assert "default-src 'none'" in text.partition("<title>")[0]
    assert not any(key.startswith("on") for _, attributes in page.tags for key in attributes)
    assert "url(" not in text
    assert "@import" not in text
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(ids)) == len(ids)
    links = [attributes["href"] for _, attributes in page.tags if "href" in attributes]
    assert {f"#{name}" for name in ids} >= set(links)
    assert all("scope" in attributes for tag, attributes in page.tags if tag == "th")
    return page


CHECKS: dict[str, Callable[[str], object]] = {
    "github": check_github,
    "gitlab": check_gitlab,
    "sarif": check_sarif,
    "junit": check_junit,
    "markdown": check_markdown,
    "html": check_html,
}
