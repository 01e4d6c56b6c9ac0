"""The policy that every text passes, whatever door it came through."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from memsvc.errors import InvalidInput, RecalledText, RejectedClaim, SecretFound
from memsvc.ledger import tombstones
from memsvc.ledger.keys import KeyRing
from memsvc.ledger.records import TombstoneRecord
from memsvc.model.identity import Scope
from memsvc.notes.private import has_private
from memsvc.scope.vault_policy import VaultPolicy

__all__ = [
    "MAX_LINE",
    "PRIVATE",
    "TOO_LONG",
    "Statement",
    "check_lines",
    "check_note_text",
    "find_rejected",
    "find_violation",
    "introduced",
    "refuse_rejected",
    "refuse_violation",
    "sourced",
    "statements",
]

PRIVATE = "private_block"
TOO_LONG = "too_long"
"""Names of violations, beside `recalled_text` and the rules for secrets."""
MAX_TITLE = 300
MAX_LINE = 500
MAX_ITEMS = 50

_DEFAULT = VaultPolicy()

_FENCE = re.compile(r"<\s*/?\s*recalled[\s_-]*notes\b", re.IGNORECASE)
_OPENING = "<＜﹤"
_INVISIBLE = {"Cf", "Mn", "Me"}


class Statement(NamedTuple):
    """A claim: its normal form, what it is, and whether it is enough to be rejected by itself.

    The kind is sentence, item, row, heading, code, title or whole. `text` is what a reader sees of
    it, empty for a whole body.
    """

    normal: str
    kind: str
    counts: bool
    text: str = ""


def check_note_text(title: str, body: str, rules: VaultPolicy = _DEFAULT) -> None:
    """Refuse a title or a body that no note of the vault may have.

    Raises InvalidInput (empty, too long, NUL), RecalledText, SecretFound.
    """
    if not title.strip():
        raise InvalidInput("the title is empty; give the note a short title", argument="title")
    if not body.strip():
        raise InvalidInput("the body is empty; say what is to be remembered", argument="body")
    if len(title) > MAX_TITLE or "\n" in title or "\r" in title:
        raise InvalidInput(
            f"the title must be one line of at most {MAX_TITLE} characters", argument="title"
        )
    if len(body) > rules.max_note:
        raise InvalidInput(
            f"the body has {len(body)} characters and {rules.max_note} are the most; "
            "save several notes, one subject each",
            argument="body",
        )
    for name, text in (("title", title), ("body", body)):
        _check_characters(name, text)
    refuse_violation(find_violation(title, body, rules))


def refuse_violation(problem: str) -> None:
    """Raise InvalidInput, RecalledText or SecretFound for what `find_violation` found, if anything."""
    if problem == TOO_LONG:
        raise InvalidInput(
            "the text is longer than the vault's policy allows (max_note)", argument="body"
        )
    if problem == PRIVATE:
        raise InvalidInput(
            "the text has a part marked <private>, which is never kept; leave it out",
            argument="body",
        )
    if problem == "recalled_text":
        raise RecalledText(
            "the text is a recall reply, which is data to read, not a new memory; "
            "save the statement itself in your own words"
        )
    if problem:
        raise SecretFound(
            f"the text holds a secret (rule: {problem}); save where the secret is kept instead",
            rule=problem,
        )


def check_lines(rules: VaultPolicy = _DEFAULT, /, **lines: str | Sequence[str]) -> None:
    """Refuse reasons, sources and tags that are too long, hold NUL or line breaks, or a secret."""
    for name, value in lines.items():
        items = [value] if isinstance(value, str) else list(value)
        if len(items) > MAX_ITEMS:
            raise InvalidInput(f"{name} takes at most {MAX_ITEMS} items", argument=name)
        for item in items:
            _check_characters(name, item)
            if len(item) > MAX_LINE or "\n" in item or "\r" in item:
                raise InvalidInput(
                    f"{name} takes single lines of at most {MAX_LINE} characters", argument=name
                )
            rule = _secret(item) if rules.secrets else ""
            if rule:
                raise SecretFound(f"{name} holds a secret (rule: {rule}); leave it out", rule=rule)


def find_violation(
    title: str, body: str, rules: VaultPolicy = _DEFAULT, *, size: int | None = None
) -> str:
    """The policy that a text breaks: `recalled_text`, `private_block`, `too_long`, the name of a
    rule for secrets, or nothing. `size` is the note's, where `body` is a whole file's text.
    """
    length = len(body) if size is None else size
    if any(sign in body for sign in _OPENING):
        visible = "".join(
            char
            for char in unicodedata.normalize("NFKC", body)
            if unicodedata.category(char) not in _INVISIBLE
        )
        if _FENCE.search(visible):
            return "recalled_text"
    if has_private(title) or has_private(body):
        return PRIVATE
    if length > rules.max_note < _DEFAULT.max_note:  # a long file that nobody forbade is kept
        return TOO_LONG
    return (_secret(title) or _secret(body)) if rules.secrets else ""


def statements(title: str, body: str) -> list[Statement]:
    """Every claim of a note, its title and its whole text included, each once.

    New texts are checked with all of them: whether a claim counts depends on its spelling, and
    what was rejected must not come back in another one.
    """
    from memsvc.notes import claims  # pulls in the markdown parser
    from memsvc.notes.normal import other_reading  # comes with it

    found: dict[str, Statement] = {}

    def add(normal: str, kind: str, *, counts: bool, text: str = "") -> None:
        known = found.get(normal)
        if normal and (known is None or not known.counts):
            said = text or (known.text if known else "")
            found[normal] = Statement(normal, known.kind if known else kind, counts, said)

    for claim in claims.claims(body):
        add(
            claim.normal,
            claim.kind,
            counts=not claim.aside and claims.counts(claim.text),
            text=claim.text,
        )
    heading = claims.plain_claim(title)
    add(heading.normal, "title", counts=claims.counts(heading.text), text=heading.text)
    for claim in claims.claims(title):  # its sentences are looked up, and never rejected by it
        add(claim.normal, "title", counts=False)
    add(claims.whole(body), "whole", counts=True)
    others = other_reading(title), other_reading(body)
    if any(others):
        for one in statements(*others):
            add(one.normal, one.kind, counts=False)
    return list(found.values())


def sourced(sources: Iterable[str]) -> list[Statement]:
    """What the lines of a source state: recall shows them, so they are checked like the text."""
    return [statement for line in sources for statement in statements("", line)]


def introduced(new: Iterable[Statement], old: Iterable[Statement]) -> list[Statement]:
    """The statements of the new text that the old one did not make."""
    before = {statement.normal for statement in old}
    return [statement for statement in new if statement.normal not in before]


def find_rejected(
    connection: Connection, keys: KeyRing, scope: Scope, texts: Iterable[Statement]
) -> list[TombstoneRecord]:
    """The standing tombstones that the statements meet in this scope."""
    digests = [digest for text in texts for digest in keys.candidates(scope, text.normal)]
    return tombstones.blocking(connection, scope, digests)


def refuse_rejected(met: Sequence[TombstoneRecord]) -> None:
    """Raise RejectedClaim for the first tombstone met, if any. Its reason is stored text, so it
    stands in the error's data and not in the message.
    """
    if not met:
        return
    first = met[0]
    raise RejectedClaim(
        f"this states something that was rejected here: a {first.claim_kind} of note "
        f"{first.note_id}, on {first.at[:10]} by {first.actor}. Do not save it again in other "
        "words. If it is true after all, a person can lift it: "
        f"memsvc tombstone lift {first.tombstone_id}",
        tombstone=first.tombstone_id,
        note=first.note_id,
        at=first.at,
        by=first.actor,
        reason=first.reason,
        count=len(met),
    )


def _check_characters(name: str, text: str) -> None:
    if "\x00" in text:
        raise InvalidInput(f"the {name} holds a NUL character; remove it", argument=name)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"the {name} holds half a character (a lone surrogate); send whole text", argument=name
        ) from error


def _secret(text: str) -> str:
    from memsvc.notes.secrets import find_secret  # loads its rules on first use

    return find_secret(text) or ""
