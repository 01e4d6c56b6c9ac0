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
from memsvc.ledger import registry, tombstones
from memsvc.ledger.keys import KeyRing
from memsvc.ledger.records import TombstoneRecord, VersionRecord
from memsvc.model.identity import Scope
from memsvc.model.vocabulary import ReviewKind, Status
from memsvc.service.gateway.checks import Statement
from memsvc.service.gateway.guard.meaning import differing, replaced, saying
from memsvc.service.gateway.indexing import document_of
from memsvc.service.gateway.parts import Parts
from memsvc.service.gateway.review.holding import Hold

__all__ = ["Suspicion", "compares", "held", "likely", "remember", "remember_all"]

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
    """The tombstone of what a statement probably says again, and how close the two are."""

    statement: Statement
    tombstone: TombstoneRecord
    cosine: float

    @property
    def detail(self) -> dict[str, str]:
        """What the event and the review item say of it: no text."""
        return {
            "tombstone": self.tombstone.tombstone_id,
            "rejected_note": self.tombstone.note_id,
            "likeness": f"{self.cosine:.2f}",
        }

    @property
    def reason(self) -> str:
        """Why the text waits, in words for its writer and for the reviewer."""
        first = self.tombstone
        return (
            "it seems to say in other words what was rejected here: a "
            f"{first.claim_kind} of note {first.note_id}, on {first.at[:10]} by {first.actor} "
            f"(tombstone {first.tombstone_id}, likeness {self.cosine:.2f})"
        )


def held(suspicions: Sequence[Suspicion], hold: Hold | None) -> Hold | None:
    """Why a write waits for a person: for what it probably says again, and what else holds it."""
    if not suspicions:
        return hold
    first = suspicions[0]
    if hold is None:
        return Hold(ReviewKind.RESTATEMENT, (first.reason,), {**first.detail})
    return Hold(hold.kind, (*hold.reasons, first.reason), {**hold.detail, **first.detail})


def compares(parts: Parts) -> bool:
    """Whether new texts are to be compared: anything was rejected, and there is a model for it, which
    is loaded for that, or waited for a while.
    """
    with parts.database.read() as connection:
        if not tombstones.tombstones_exist(connection):
            return False
    parts.reader()
    return _fitted(parts) is not None


def likely(parts: Parts, scope: Scope, statements: Sequence[Statement]) -> list[Suspicion]:
    """What of a text probably says again what was rejected in the scope, the closest first.

    Called before the transaction: reading takes milliseconds a statement. Empty without a model.
    """
    embedder = _fitted(parts)
    wanted = [one for one in statements if one.counts and _readable(one.text)]
    wanted = wanted[:MOST_STATEMENTS]
    if embedder is None or not wanted:
        return []
    with parts.database.read() as connection:
        if not tombstones.has_tombstones(connection, scope):
            return []
    try:
        remember(parts, scope, limit=AT_ONCE)
        with parts.database.read() as connection:
            if not rejections.known(connection, scope, embedder.model_id):
                return []
        vectors = embedder.embed_passages([one.text for one in wanted])
        with parts.database.read() as connection:
            close = rejections.nearest(
                connection, scope, model_id=embedder.model_id, statements=vectors, least=CLOSE
            )
        return _alike_ones(parts, scope, wanted, close, embedder) if close else []
    except ModelUnavailable:
        return []


def remember_all(parts: Parts, *, limit: int | None) -> int:
    """Read rejected claims of every scope that the model has not read yet, about `limit` at most; how
    many were looked at.

    Raises ModelUnavailable if the model fails.
    """
    with parts.database.read() as connection:
        scopes = tombstones.scopes_with_tombstones(connection)
    done = 0
    for scope in scopes:
        while limit is None or done < limit:
            read = remember(parts, scope, limit=AT_ONCE)
            done += read
            if read < AT_ONCE:
                break
    return done


def remember(parts: Parts, scope: Scope, *, limit: int) -> int:
    """Read rejected claims of the scope that the model has not read yet; how many were looked at.

    Raises ModelUnavailable if the model fails.
    """
    embedder = _fitted(parts)
    if embedder is None:
        return 0
    with parts.database.read() as connection:
        waiting = tombstones.standing_ids(connection, scope)
        waiting -= rejections.known(connection, scope, embedder.model_id)
        if not waiting:
            return 0
        records = [
            one for one in tombstones.standing(connection, scope) if one.tombstone_id in waiting
        ]
        records = records[:limit]
        texts = _texts(connection, parts.keys(), scope, records)
    there = [one for one in records if one.tombstone_id in texts]
    vectors = embedder.embed_passages([texts[one.tombstone_id] for one in there])
    read = {one.tombstone_id: vector for one, vector in zip(there, vectors, strict=True)}
    versions = {one.tombstone_id: (one.note_id, one.version) for one in there}
    rows = [Rejection(one.tombstone_id, one.note_id, read.get(one.tombstone_id)) for one in records]
    with parts.database.write(durable=False) as connection:
        kept = [
            row
            for row in rows
            if row.vector is None or _held(connection, versions[row.tombstone_id])
        ]
        rejections.put(connection, scope, embedder.model_id, kept)
    return len(records)


def _held(connection: Connection, place: tuple[str, int]) -> bool:
    """Whether the ledger still holds a version's text: a purge may have come in between."""
    version = registry.find_version(connection, *place)
    return version is not None and bool(version.content)


def _fitted(parts: Parts) -> Embedder | None:
    embedder = parts.embedder()
    return embedder if embedder is not None and embedder.model_id.startswith(MODELS) else None


def _readable(text: str) -> bool:
    letters = [char for char in text if char.isalpha()]
    latin = sum(char < "\u0250" for char in letters)
    return bool(letters) and latin >= LATIN * len(letters)


def _alike_ones(
    parts: Parts,
    scope: Scope,
    statements: Sequence[Statement],
    close: Sequence[Near],
    embedder: Embedder,
) -> list[Suspicion]:
    """Of the close pairs those that agree in numbers, names and polarity. No transaction is open
    while the model reads.
    """
    with parts.database.read() as connection:
        standing = {one.tombstone_id: one for one in tombstones.standing(connection, scope)}
        pairs = [near for near in close if near.tombstone_id in standing][:LOOKED_AT]
        wanted = [standing[near.tombstone_id] for near in pairs]
        rejected = _texts(connection, parts.keys(), scope, wanted)
    found = []
    for near in pairs:
        text, new = rejected.get(near.tombstone_id), statements[near.statement]
        if text is None or not _alike(text, new.text, embedder):
            continue
        if not _stands_instead(parts, standing[near.tombstone_id], new, near.cosine, embedder):
            found.append(Suspicion(new, standing[near.tombstone_id], near.cosine))
    return found


def _stands_instead(
    parts: Parts,
    tombstone: TombstoneRecord,
    new: Statement,
    cosine: float,
    embedder: Embedder,
) -> bool:
    """Whether the note that dropped the claim says something closer now: then that is what is meant."""
    with parts.database.read() as connection:
        note = registry.find_note(connection, tombstone.note_id)
        if note is None or note.status is not Status.ACTIVE or note.version == tombstone.version:
            return False
        version = registry.find_version(connection, note.note_id, note.version)
    if version is None:
        return False
    stated = [text for text, _ in _stated(version, None)]
    if len(stated) > MOST_STATEMENTS:
        return False
    vectors = embedder.embed_passages([*stated, new.text])
    return bool((vectors[:-1] @ vectors[-1]).max() >= cosine)


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
    if after is not None:
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
