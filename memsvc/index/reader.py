"""Reads of the index. Each takes the proven scope first and finds nothing outside it."""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, distinct, func, select

from memsvc.clock import UNKNOWN
from memsvc.database import in_batches
from memsvc.errors import ModelUnavailable
from memsvc.index.analyse import query_terms
from memsvc.index.postings import holding
from memsvc.index.schema import chunks, entries, links, terms, vectors
from memsvc.index.scoring import WORDS, by_owner, fuse, idf
from memsvc.index.sqlite_fts import scope_token
from memsvc.index.values import Filters, Held, Lexical, Part, Passage, QueryModel, Shown
from memsvc.index.vectors import NO_VECTOR, cosines, middle
from memsvc.index.visible import Visible, keys_of, visible
from memsvc.model.catalogue import CatalogueNote
from memsvc.model.identity import Scope
from memsvc.model.replies import Related
from memsvc.model.vocabulary import ProjectSlug, Status, VaultName
from memsvc.scope.proof import ReadScope

__all__ = [
    "catalogue",
    "closer",
    "counts",
    "held",
    "lexical",
    "links_of",
    "neighbours",
    "part_of",
    "passages",
    "problems",
    "shown",
    "similar",
    "vector",
]

ALWAYS_COUNTED = 1_000
"""A term in at most so many passages of the scopes is counted exactly, however small they are."""
COMMON = 8
"""In larger scopes a term in more than one of so many passages counts as common."""
MOST_LINKS = 40
"""A version with more links is a list of everything: it leads nowhere."""
SIMILAR = 0.55
SIMILAR_WORDS = 0.35
QUERY_CHARS = 2_000
OPENING = 5
"""Passages that a catalogue shows of each note."""


def lexical(
    scope: ReadScope, connection: Connection, visible: Visible, terms: Sequence[str]
) -> Lexical:
    """The words that versions and passages of the visible set share with a query.

    How rare a term is, is counted over the visible set alone: notes outside it change nothing.
    """
    _same(scope, visible)
    size = len(visible)
    versions = np.zeros(size, dtype=np.float64)
    pieces = np.zeros(len(visible.chunk_ids), dtype=np.float64)
    if not size or not terms:
        return Lexical(weights={}, common=frozenset(), by_version=versions, by_passage=pieces)
    most = max(ALWAYS_COUNTED, len(visible.chunk_ids) // COMMON)
    found = {term: holding(connection, visible, term, most=most) for term in terms}
    common = {term for term, ids in found.items() if ids is None}
    if len(common) == len(found):  # nothing rare to begin with: look all of them up
        found = {term: holding(connection, visible, term, most=-1) for term in terms}
        common = set()
    none = np.zeros(0, dtype=np.int64)
    places = {
        term: none if ids is None else _places(visible.chunk_ids, ids)
        for term, ids in found.items()
    }
    owners = {term: _distinct(visible.owner[at]) for term, at in places.items()}
    total = int(visible.seen.sum())
    raw = {
        term: idf(min(most, total) if term in common else int(visible.seen[at].sum()), total)
        for term, at in owners.items()
    }
    whole = sum(raw.values())
    weights = {term: value / whole for term, value in raw.items()}
    for term, weight in weights.items():
        if term not in common:
            versions[owners[term]] += weight
            pieces[places[term]] += weight
    return Lexical(
        weights=weights,
        common=frozenset(common),
        by_version=versions,
        by_passage=pieces,
        holders={term: at for term, at in owners.items() if term not in common},
    )


def vector(
    scope: ReadScope,
    connection: Connection,
    visible: Visible,
    *,
    model_id: str,
    query: NDArray[np.float32],
    words: Lexical | None = None,
) -> NDArray[np.float32]:
    """The cosine of the passages of the visible set; NO_VECTOR where there is no vector.

    All are exact in a small set. In one of more than `vectors.EXACT` passages only the likely ones
    are compared, those that `words` may lift among them; the others get FAR, which is less than
    any cosine, and `closer` compares those that are wanted after all.
    """
    _same(scope, visible)

    def bonus() -> NDArray[np.float64]:
        shared = np.zeros(len(visible)) if words is None else words.by_version
        return WORDS * shared[visible.owner]

    return cosines(connection, model_id, chunk_ids=visible.chunk_ids, query=query, bonus=bonus)


def closer(
    scope: ReadScope,
    connection: Connection,
    visible: Visible,
    positions: Sequence[int],
    *,
    model_id: str,
    query: NDArray[np.float32],
) -> dict[int, NDArray[np.float32]]:
    """The exact cosines of all passages of these versions, by position in the visible set."""
    _same(scope, visible)
    spans = {at: visible.span(at) for at in positions}
    ids = [visible.chunk_ids[start:end] for start, end in spans.values()]
    if not ids:
        return {}
    exact = cosines(connection, model_id, chunk_ids=np.concatenate(ids), query=query)
    ends = np.cumsum([len(some) for some in ids]).tolist()
    return dict(zip(spans, np.split(exact, ends[:-1]), strict=True))


def held(scope: ReadScope, connection: Connection, chunk_ids: Sequence[int]) -> dict[int, Held]:
    """The terms of passages, by passage id."""
    found: dict[int, Held] = {}
    for some in in_batches(chunk_ids):
        rows = connection.execute(
            select(terms.c.chunk_id, terms.c.title, terms.c.names, terms.c.terms).where(
                terms.c.chunk_id.in_(some), terms.c.sc.in_(_tokens(scope))
            )
        )
        for row in rows:
            above = frozenset(f"{row.title} {row.names}".split())
            found[row.chunk_id] = (above, Counter(row.terms.split()))
    return found


def neighbours(
    scope: ReadScope, connection: Connection, visible: Visible, positions: Sequence[int]
) -> list[tuple[int, int]]:
    """Pairs of positions that a link joins, in either direction, the first from `positions`.

    Both ends are seen; versions with very many links are left out.
    """
    _same(scope, visible)
    by_entry = {int(visible.entry_ids[position]): position for position in positions}
    by_note = {visible.note_ids[position]: position for position in positions}
    pairs: set[tuple[int, int]] = set()
    out: dict[int, list[int]] = {}
    inward: dict[int, list[int]] = {}
    outgoing = select(links.c.entry_id, links.c.target).where(links.c.entry_id.in_(list(by_entry)))
    for row in connection.execute(outgoing):
        other = visible.by_note.get(row.target)
        if other is not None:
            out.setdefault(by_entry[row.entry_id], []).append(other)
    incoming = select(links.c.entry_id, links.c.target).where(links.c.target.in_(list(by_note)))
    for row in connection.execute(incoming):
        at = int(np.searchsorted(visible.entry_ids, row.entry_id))
        if at < len(visible) and visible.entry_ids[at] == row.entry_id and visible.seen[at]:
            inward.setdefault(by_note[row.target], []).append(at)
    for joined in (out, inward):
        for position, others in joined.items():
            if len(others) <= MOST_LINKS:
                pairs.update((position, other) for other in others if other != position)
    return sorted(pairs)


def shown(scope: ReadScope, connection: Connection, entry_ids: Sequence[int]) -> dict[int, Shown]:
    """What a reply says of these versions, by entry id."""
    found: dict[int, Shown] = {}
    keys = keys_of(scope)
    replaced: dict[str, list[str]] = {}
    rows: list[Row[Any]] = []
    for some in in_batches(entry_ids):
        rows += connection.execute(
            select(entries).where(entries.c.entry_id.in_(some), entries.c.scope_key.in_(keys))
        ).all()
    for some_notes in in_batches([row.note_id for row in rows]):
        older = connection.execute(
            select(entries.c.note_id, entries.c.superseded_by, entries.c.scope_key)
            .where(
                entries.c.superseded_by.in_(some_notes),
                entries.c.status == Status.SUPERSEDED.value,
                entries.c.latest == 1,
            )
            .order_by(entries.c.note_id)
        )
        for note_id, successor, key in older:
            if key in keys:
                replaced.setdefault(successor, []).append(note_id)
    successors = _in_scope(connection, keys, {row.superseded_by for row in rows})
    for row in rows:
        found[row.entry_id] = Shown(
            entry_id=row.entry_id,
            note_id=row.note_id,
            version=row.version,
            scope=Scope(VaultName(row.vault), ProjectSlug(row.project)),
            path=row.path,
            title=row.title,
            kind=row.kind,
            status=row.status,
            trust=row.trust,
            author=row.author,
            valid_from=row.valid_from,
            valid_to="unknown" if row.valid_to == UNKNOWN else row.valid_to,
            updated=row.updated,
            source=tuple(json.loads(row.source)),
            tags=tuple(json.loads(row.tags)),
            superseded_by=row.superseded_by if row.superseded_by in successors else "",
            replaces=tuple(replaced.get(row.note_id, ())),
        )
    return found


def passages(
    scope: ReadScope, connection: Connection, chunk_ids: Sequence[int]
) -> dict[int, Passage]:
    """Passages by id."""
    found: dict[int, Passage] = {}
    for some in in_batches(chunk_ids):
        rows = connection.execute(
            select(chunks.c.chunk_id, chunks.c.heading, chunks.c.text, chunks.c.lead)
            .join(terms, terms.c.chunk_id == chunks.c.chunk_id)
            .where(chunks.c.chunk_id.in_(some), terms.c.sc.in_(_tokens(scope)))
        )
        found |= {row.chunk_id: Passage(*row) for row in rows}
    return found


def part_of(
    scope: ReadScope, connection: Connection, entry_id: int, *, chunk_id: int, most: int
) -> Part:
    """About `most` characters of a version's text, with one passage in it: from the beginning if
    the passage ends within them, else from the passage on.
    """
    own = (
        select(chunks.c.chunk_id, chunks.c.text)
        .join(terms, terms.c.chunk_id == chunks.c.chunk_id)
        .where(chunks.c.entry_id == entry_id, terms.c.sc.in_(_tokens(scope)))
        .order_by(chunks.c.ordinal)
    )
    sizes = connection.execute(own.with_only_columns(chunks.c.chunk_id, func.length(chunks.c.text)))
    length = best = end = 0
    for one, size in sizes:
        if one == chunk_id:
            best, end = length, length + size
        length += size
    first = chunk_id if end > most else 0
    parts: list[str] = []
    taken = 0
    for row in connection.execute(own.where(chunks.c.chunk_id >= first)):
        parts.append(row.text[: most - taken])
        taken += len(parts[-1])
        if taken >= most:
            break
    return Part("".join(parts), best if first else 0, length, best)


def catalogue(scope: ReadScope, connection: Connection, *, now: str) -> list[CatalogueNote]:
    """What is current at the instant `now`, and what leads on to it, in order of indexing."""
    seen = visible(scope, connection, Filters(now=now))
    about: dict[int, Row[Any]] = {}
    opening: dict[int, str] = {}
    out: dict[int, list[str]] = {}
    for some in in_batches([int(entry_id) for entry_id in seen.entry_ids]):
        rows = connection.execute(select(entries).where(entries.c.entry_id.in_(some)))
        about |= {row.entry_id: row for row in rows}
        beginning = select(chunks.c.entry_id, chunks.c.text).where(
            chunks.c.entry_id.in_(some), chunks.c.ordinal < OPENING
        )
        for row in connection.execute(beginning.order_by(chunks.c.chunk_id)):
            opening[row.entry_id] = opening.get(row.entry_id, "") + row.text
        leading = select(links).where(links.c.entry_id.in_(some)).order_by(links.c.target)
        for row in connection.execute(leading):
            if row.target in seen.by_note:
                out.setdefault(row.entry_id, []).append(row.target)
    return [
        CatalogueNote(
            id=row.note_id,
            version=row.version,
            title=row.title,
            path=row.path,
            aliases=tuple(json.loads(row.aliases)),
            content_hash=row.content_hash,
            opening=opening.get(row.entry_id, ""),
            links=tuple(out.get(row.entry_id, ())),
            successor=seen.note_ids[after] if after >= 0 and not seen.seen[at] else "",
        )
        for at, (row, after) in enumerate(
            (about[int(entry_id)], int(after))
            for entry_id, after in zip(seen.entry_ids, seen.successor, strict=True)
        )
        if seen.seen[at] or after >= 0
    ]


def links_of(
    scope: ReadScope, connection: Connection, note_id: str
) -> tuple[list[Related], list[Related]]:
    """The notes that a note's newest version links to, and those that link to it, by title."""
    keys = keys_of(scope)
    newest = (entries.c.latest == 1) & entries.c.scope_key.in_(keys)
    shownable = newest & entries.c.status.in_((Status.ACTIVE.value, Status.SUPERSEDED.value))
    columns = (
        entries.c.note_id,
        entries.c.title,
        entries.c.version,
        entries.c.vault,
        entries.c.project,
    )
    targets = (
        select(links.c.target)
        .join(entries, entries.c.entry_id == links.c.entry_id)
        .where(newest, entries.c.note_id == note_id)
    )
    out = select(*columns).where(shownable, entries.c.note_id.in_(targets))
    own = select(entries.c.entry_id).where(newest, entries.c.note_id == note_id).exists()
    inward = (
        select(*columns)
        .join(links, links.c.entry_id == entries.c.entry_id)
        .where(shownable, links.c.target == note_id, entries.c.note_id != note_id, own)
    )
    order = (entries.c.title, entries.c.note_id)
    return (
        [_related(row, "links to") for row in connection.execute(out.order_by(*order))],
        [_related(row, "linked from") for row in connection.execute(inward.order_by(*order))],
    )


def similar(
    scope: ReadScope,
    connection: Connection,
    *,
    title: str,
    body: str,
    embedder: QueryModel | None,
    note_id: str = "",
    limit: int = 4,
) -> list[Related]:
    """Active notes close to a text in meaning or words, closest first; weak ones are left out.

    If it is the text of the note `note_id`, the vectors of its passages serve for the meaning.
    """
    seen = visible(scope, connection, Filters(now=""))
    text = f"{title}\n{body[:QUERY_CHARS]}".strip()
    if not len(seen) or not text:
        return []
    words = lexical(scope, connection, seen, query_terms(text))
    close = np.full(len(seen), NO_VECTOR, dtype=np.float32)
    query = None
    if embedder is not None and note_id in seen.by_note:
        start, end = seen.span(seen.by_note[note_id])
        query = middle(connection, embedder.model_id, seen.chunk_ids[start:end])
    if embedder is not None and query is None:
        with suppress(ModelUnavailable):  # then by words alone
            query = embedder.embed_query(text)
    if embedder is not None and query is not None:
        pieces = vector(
            scope, connection, seen, model_id=embedder.model_id, query=query, words=words
        )
        close = by_owner(pieces, seen.starts)
    score = fuse(close, words.by_version)
    good = (close >= SIMILAR) | (words.by_version >= SIMILAR_WORDS)
    ranked = [at for at in np.argsort(-score, kind="stable").tolist() if good[at] and seen.seen[at]]
    best = ranked[:limit]
    about = shown(scope, connection, [int(seen.entry_ids[at]) for at in best])
    return [
        Related(
            id=one.note_id,
            title=one.title,
            scope=str(one.scope),
            version=one.version,
            score=round(float(score[at]), 3),
            how="similar",
            path=one.path,
        )
        for at in best
        for one in [about[int(seen.entry_ids[at])]]
    ]


def counts(scope: ReadScope, connection: Connection) -> dict[str, int]:
    """How much of these scopes is indexed: notes, versions, passages, passages with a vector."""
    inside = entries.c.scope_key.in_(keys_of(scope))
    row = connection.execute(
        select(
            func.count(distinct(entries.c.note_id)).label("notes"),
            func.count().label("versions"),
            func.coalesce(func.sum(entries.c.chunk_count), 0).label("passages"),
        ).where(inside)
    ).one()
    read = connection.execute(
        select(func.count(distinct(vectors.c.chunk_id)))
        .join(chunks, chunks.c.chunk_id == vectors.c.chunk_id)
        .join(entries, entries.c.entry_id == chunks.c.entry_id)
        .where(inside)
    ).scalar_one()
    return {
        "notes": row.notes,
        "versions": row.versions,
        "passages": int(row.passages),
        "vectors": read,
    }


def problems(scope: ReadScope, connection: Connection, *, limit: int) -> list[tuple[str, str]]:
    """Files of these scopes that could not be read as they should: path and why."""
    rows = connection.execute(
        select(entries.c.path, entries.c.problem)
        .where(
            entries.c.scope_key.in_(keys_of(scope)), entries.c.latest == 1, entries.c.problem != ""
        )
        .order_by(entries.c.path)
        .limit(limit)
    )
    return [(row.path, row.problem) for row in rows]


def _same(scope: ReadScope, visible: Visible) -> None:
    if visible.keys != keys_of(scope):
        raise PermissionError("this visible set belongs to another scope")


def _tokens(scope: ReadScope) -> list[str]:
    return [scope_token(key) for key in keys_of(scope)]


def _places(chunk_ids: NDArray[np.int64], found: NDArray[np.int64]) -> NDArray[np.int64]:
    """Positions in `chunk_ids`, which ascend, of the ids that are among them."""
    if not len(chunk_ids) or not len(found):
        return np.zeros(0, dtype=np.int64)
    at = np.searchsorted(chunk_ids, found)
    at[at == len(chunk_ids)] = 0
    kept: NDArray[np.int64] = at[chunk_ids[at] == found]
    return kept


def _distinct(ascending: NDArray[np.int64]) -> NDArray[np.int64]:
    if len(ascending) < 2:
        return ascending
    first = np.ones(len(ascending), dtype=np.bool_)
    first[1:] = ascending[1:] != ascending[:-1]
    return ascending[first]


def _in_scope(connection: Connection, keys: Sequence[str], notes: set[str]) -> set[str]:
    wanted = sorted(notes - {""})
    found: set[str] = set()
    for some in in_batches(wanted):
        rows = connection.execute(
            select(entries.c.note_id, entries.c.scope_key).where(entries.c.note_id.in_(some))
        )
        found.update(note_id for note_id, key in rows if key in keys)
    return found


def _related(row: Row[*tuple[Any, ...]], how: str) -> Related:
    scope = Scope(VaultName(row.vault), ProjectSlug(row.project))
    return Related(id=row.note_id, title=row.title, scope=str(scope), version=row.version, how=how)
