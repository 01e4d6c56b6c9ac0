"""Reads a vault and its questions, with their hashes; the official ones are checked before use."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "PUBLISHED",
    "QUESTIONS",
    "QUESTIONS_SHA256",
    "VAULT",
    "VAULT_SHA256",
    "DataChanged",
    "Question",
    "TestSet",
    "load",
    "note_id",
    "official",
    "published",
    "unfolded",
]

_DATA = Path(__file__).resolve().parent.parent / "data" / "memory-bench"
VAULT = _DATA / "vault"
QUESTIONS = _DATA / "questions.jsonl"
PUBLISHED = _DATA / "published"
VAULT_SHA256 = "f1b3cda731a93640fe2762aa9335e44059d2bb9c1e164593314c190aa42b8528"
QUESTIONS_SHA256 = "e203f965c33bfa94b05f8230d68661dad475dea416c6ebdf90194aad5604cd75"

_LINK = re.compile(r"\[\[([^\]|]+)(?:\|([^\]]+))?\]\]")
_HEAD = re.compile(r"\A---\r?\n(.*?)\r?\n---\r?$", re.DOTALL | re.MULTILINE)
_REPLACED = re.compile(r"^(?:status:\s*[\"']?superseded\b|superseded_by:\s*[\"']?\S)", re.MULTILINE)
_REPLACES = re.compile(r"^supersedes:(.*(?:\n[ \t-].*)*)", re.MULTILINE)
_NAMES = re.compile(r"\[\[([^\]|#]+)")


class DataChanged(Exception):
    """The official vault or questions are not the ones that the published rows were scored on."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its gold; `answers` and `support` are empty when the vault has no answer."""

    id: str
    cls: str
    text: str
    answers: tuple[str, ...]
    support: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TestSet:
    """A vault with its questions. `notes` holds each note's text with links unfolded, by id, and
    `replaced` the ids of notes whose own front matter says that another took their place.
    """

    __test__ = False

    vault: Path
    questions: tuple[Question, ...]
    notes: Mapping[str, str]
    replaced: frozenset[str]
    vault_sha256: str
    questions_sha256: str


def official() -> TestSet:
    """The published data. Raises DataChanged when a byte of it differs."""
    found = load(VAULT, QUESTIONS)
    for name, got, must in (
        ("vault", found.vault_sha256, VAULT_SHA256),
        ("questions", found.questions_sha256, QUESTIONS_SHA256),
    ):
        if got != must:
            raise DataChanged(f"the {name} of memory-bench hash to {got[:12]}…, not {must[:12]}…")
    return found


def load(vault: Path, questions: Path) -> TestSet:
    """Any vault of the same shape. Raises OSError, ValueError for what is no such vault."""
    files = sorted(path for path in vault.rglob("*") if path.is_file())
    raw = {path.relative_to(vault).as_posix(): path.read_bytes() for path in files}
    texts = {
        note_id(name): content.decode("utf-8")
        for name, content in raw.items()
        if name.lower().endswith(".md")
    }
    return TestSet(
        vault=vault,
        questions=tuple(_questions(questions)),
        notes={name: unfolded(text) for name, text in texts.items()},
        replaced=_replaced(texts),
        vault_sha256=_tree_hash(raw),
        questions_sha256=hashlib.sha256(_plain_ends(questions.read_bytes())).hexdigest(),
    )


def published() -> list[dict[str, Any]]:
    """The result files of the rows that others published, by name."""
    return [json.loads(path.read_text("utf-8")) for path in sorted(PUBLISHED.glob("*.json"))]


def note_id(name: str) -> str:
    """A note's id: the stem of its file, lower case; a path and `.md` are tolerated."""
    return name.replace("\\", "/").rpartition("/")[2].strip().lower().removesuffix(".md")


def unfolded(text: str) -> str:
    """Text as quotes are compared: links as their labels, every run of white space one space."""
    return " ".join(_LINK.sub(lambda link: link[2] or link[1], text).split())


def _questions(path: Path) -> list[Question]:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [
        Question(
            id=str(line["id"]),
            cls=str(line["cls"]),
            text=str(line["question"]),
            answers=tuple(line["answers"]),
            support=tuple(note_id(one) for one in line["support"]),
        )
        for line in lines
    ]


def _replaced(texts: Mapping[str, str]) -> frozenset[str]:
    """By both forms: an old note that says so, and a new note that names what it replaces."""
    found: set[str] = set()
    for name, text in texts.items():
        head = _HEAD.match(text)
        if head is None:
            continue
        if _REPLACED.search(head[1]):
            found.add(name)
        for value in _REPLACES.findall(head[1]):
            found.update(note_id(one) for one in _NAMES.findall(value))
    return frozenset(found & texts.keys())


def _tree_hash(raw: Mapping[str, bytes]) -> str:
    parts: Sequence[bytes] = [
        name.encode() + b"\0" + _plain_ends(content) + b"\0"
        for name, content in sorted(raw.items())
    ]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _plain_ends(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")
