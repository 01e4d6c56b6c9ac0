"""The paraphrase guard: whether a new text says again, in other words, what was rejected in its scope.

Nothing is refused for it: the note waits for a person, with the likely tombstone named. The
ledger keeps digests of claims and their texts in versions; the vectors are the index's, read here
from those texts, a few at a time, whenever a model is loaded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from sqlalchemy import Connection

from memsvc.embedding.protocol import Embedder
from memsvc.errors import ModelUnavailable
from memsvc.index import rejections
from memsvc.index.rejections import Near, Rejection
from memsvc.ledger import registry
from memsvc.ledger.keys import KeyRing
from memsvc.ledger.records import TombstoneRecord, VersionRecord
from memsvc.model.identity import Scope
from memsvc.model.replies import Json
from memsvc.service.gateway.indexing import document_of
from memsvc.service.gateway.meaning import differing, replaced, saying
from memsvc.service.gateway.parts import Parts

__all__ = ["KIND", "WITHHELD", "Suspicion", "likely", "remember", "told"]

KIND = "likely_restatement"
"""Of the review item."""
WITHHELD = "likely_restatement"
"""Why the note is kept back."""
MODELS = ("all-MiniLM-L6-v2@",)
"""The models for which the two numbers below were fitted; with another one the guard is off."""
CLOSE = 0.84
"""The least cosine of two statements that may say the same."""
SAME_WORD = 0.6
"""The least cosine of two words one of which stands for the other where nothing else differs."""
MOST_STATEMENTS = 64
"""Of one text, so many are compared, the first ones."""
AT_ONCE = 64
"""Rejected claims that are read before one write; the background reads the others."""
LOOKED_AT = 20
"""Close pairs of which the words are compared."""
LATIN = 0.7
"""The models read little else: of a text with fewer Latin letters nothing is said."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """The tombstone of what a text probably says again, and how close the two are."""

    tombstone: TombstoneRecord
    cosine: float

    @property
    def detail(self) -> dict[str, Json]:
        """What the event and the review item say of it: no text."""
        return {
            "tombstone": self.tombstone.tombstone_id,
            "rejected_note": self.tombstone.note_id,
            "likeness": round(self.cosine, 3),
        }


def told(suspicion: Suspicion) -> str:
    """What the writer is told."""
    first = suspicion.tombstone
    why = f" because: {first.reason}" if first.reason else ""
    return (
        "kept back for a person to look at: it seems to say in other words what was rejected here, "
        f"a {first.claim_kind} of note {first.note_id}, on {first.at[:10]} by {first.actor}{why} "
        f"(tombstone {first.tombstone_id})"
    )


def likely(parts: Parts, scope: Scope, texts: Sequence[str]) -> Suspicion | None:
    """The rejected claim that one of the statements most likely says again; None without a model.

    Called before the transaction: reading takes milliseconds a statement.
    """
    embedder = _fitted(parts)
    wanted = [text for text in dict.fromkeys(texts) if _readable(text)][:MOST_STATEMENTS]
    if embedder is None or not wanted:
        return None
    remember(parts, scope, limit=AT_ONCE)
    with parts.database.read() as connection:
        if not rejections.known(connection, scope, embedder.model_id):
            return None
    try:
        vectors = embedder.embed_passages(wanted)
        with parts.database.read() as connection:
            close = rejections.nearest(
                connection, scope, model_id=embedder.model_id, statements=vectors, least=CLOSE
            )
            return _first_alike(connection, parts, scope, wanted, close, embedder)
    except ModelUnavailable:
        return None


def remember(parts: Parts, scope: Scope, *, limit: int) -> int:
    """Read rejected claims of the scope that the model has not read yet; how many were looked at.

    Raises ModelUnavailable if the model fails.
    """
    embedder = _fitted(parts)
    if embedder is None:
        return 0
    with parts.database.read() as connection:
        waiting = registry.standing_ids(connection, scope)
        waiting -= rejections.known(connection, scope, embedder.model_id)
        if not waiting:
            return 0
        records = [
            one for one in registry.standing(connection, scope) if one.tombstone_id in waiting
        ]
        records = records[:limit]
        texts = _texts(connection, parts.keys(), scope, records)
    there = [one for one in records if one.tombstone_id in texts]
    vectors = embedder.embed_passages([texts[one.tombstone_id] for one in there])
    read = {one.tombstone_id: vector for one, vector in zip(there, vectors, strict=True)}
    rows = [Rejection(one.tombstone_id, one.note_id, read.get(one.tombstone_id)) for one in records]
    with parts.database.write(durable=False) as connection:
        rejections.put(connection, scope, embedder.model_id, rows)
    return len(records)


def _fitted(parts: Parts) -> Embedder | None:
    embedder = parts.embedder()
    return embedder if embedder is not None and embedder.model_id.startswith(MODELS) else None


def _readable(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    latin = sum(char < "\u0250" for char in letters)
    return bool(letters) and latin >= LATIN * len(letters)


def _first_alike(
    connection: Connection,
    parts: Parts,
    scope: Scope,
    texts: Sequence[str],
    close: Sequence[Near],
    embedder: Embedder,
) -> Suspicion | None:
    """The closest pair that agrees in numbers, names and polarity."""
    standing = (
        {one.tombstone_id: one for one in registry.standing(connection, scope)} if close else {}
    )
    pairs = [near for near in close if near.tombstone_id in standing][:LOOKED_AT]
    rejected = _texts(
        connection, parts.keys(), scope, [standing[near.tombstone_id] for near in pairs]
    )
    for near in pairs:
        text = rejected.get(near.tombstone_id)
        if text is not None and _alike(text, texts[near.statement], embedder):
            return Suspicion(standing[near.tombstone_id], near.cosine)
    return None


def _alike(one: str, other: str, embedder: Embedder) -> bool:
    """Whether nothing in the words of two close statements keeps them apart."""
    first, second = saying(one), saying(other)
    if differing(first, second):
        return False
    pair = replaced(first, second)
    if pair is None:
        return True
    vectors = embedder.embed_passages(pair)
    return float(vectors[0] @ vectors[1]) >= SAME_WORD


def _texts(
    connection: Connection, keys: KeyRing, scope: Scope, records: Sequence[TombstoneRecord]
) -> dict[str, str]:
    """The plain texts of rejected claims, by tombstone, of those that the ledger still holds."""
    places: dict[tuple[str, int], list[TombstoneRecord]] = {}
    for one in records:
        if one.claim_kind != "whole":
            places.setdefault((one.note_id, one.version), []).append(one)
    found: dict[str, str] = {}
    for (note_id, number), some in places.items():
        version = registry.find_version(connection, note_id, number)
        if version is None:
            continue
        after = registry.find_version(connection, note_id, number + 1)
        digests = {
            digest: text
            for text, normal in _stated(version, after)
            for digest in keys.candidates(scope, normal)
        }
        found |= {one.tombstone_id: digests[one.digest] for one in some if one.digest in digests}
    return {key: text for key, text in found.items() if _readable(text)}


def _stated(version: VersionRecord, after: VersionRecord | None) -> list[tuple[str, str]]:
    """What a version states, and the passage that was taken out of it next: texts, normal forms."""
    from memsvc.notes import claims  # pulls in the markdown parser

    document = document_of(version)
    bodies = [document.body]
    if after is not None and after.mode == "forget_passage":
        bodies.append(_taken_out(document.body, document_of(after).body))
    stated = [claim for body in bodies for claim in claims.claims(body)]
    stated.append(claims.plain_claim(document.title))
    return [(claim.text, claim.normal) for claim in stated]


def _taken_out(before: str, after: str) -> str:
    """The one stretch of a text that the next one lacks."""
    start = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))
    )
    return before[start : start + max(len(before) - len(after), 0)]
