"""From a question to a reply: the visible set, two arms, one ranking, a budget."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memsvc.clock import Clock, stamp
from memsvc.database import Database
from memsvc.embedding.protocol import Embedder, Reading
from memsvc.errors import ModelUnavailable
from memsvc.index import reader
from memsvc.index.analyse import document_terms, query_terms
from memsvc.index.values import Lexical, Shown
from memsvc.index.vectors import NO_VECTOR
from memsvc.index.visible import Visible, visible
from memsvc.model.replies import Coverage, Hit, RecallReply, Related
from memsvc.model.requests import RecallRequest
from memsvc.model.vocabulary import Detail
from memsvc.scope.proof import ReadScope
from memsvc.service.recall.budget import MAX_CHARS, Limits, fit
from memsvc.service.recall.enough import Doubt, doubt, good
from memsvc.service.recall.late import weigh
from memsvc.service.recall.question import filters_of
from memsvc.service.recall.ranking import Asked, Ranked, Ranking, rank
from memsvc.service.recall.render import shown_query
from memsvc.service.recall.reranked import RERANKED, LazyRerankers, reranked
from memsvc.service.recall.snippet import AROUND, snippet, whole
from memsvc.service.recall.tuning import DEFAULT, Tuning

__all__ = ["LazyModel", "Recall"]

FEWEST_WORDS = 4
NEAREST = 5
"""So many notes are named, without their text, when a recall abstains in doubt."""
DEFAULT_BUDGET = 2_000
CHARS_A_TOKEN = 12
QUERY_CHARS = 4_000
_ABSENT = {"ready": "the model failed at this question", "missing": ""}
"""Why there was no vector, by the model's state; a missing one says why itself."""


class LazyModel(Protocol):
    """A model that may still be loading, and a count of tokens that never waits for it."""

    @property
    def state(self) -> str:
        """idle, loading, ready or missing."""
        ...

    @property
    def problem(self) -> str:
        """Why it is missing."""
        ...

    def ready(self) -> Embedder | None:
        """The model, if it is loaded."""
        ...

    def count_tokens(self, text: str) -> int:
        """Length of a text in tokens."""
        ...


class Recall:
    """Answers questions from what a proven scope may see."""

    def __init__(
        self,
        *,
        database: Database,
        embedder: LazyModel,
        clock: Clock,
        reranker: LazyRerankers | None = None,
    ) -> None:
        self._database = database
        self._reranker = reranker
        self._embedder = embedder
        self._clock = clock

    def recall(
        self,
        scope: ReadScope,
        request: RecallRequest,
        *,
        notices: Sequence[str] = (),
        waiting: int = 0,
        tuning: Tuning = DEFAULT,
    ) -> RecallReply:
        """The notes that answer, or an abstention that says why. One snapshot for all of it.

        Raises InvalidInput for a number out of range or a bad date.
        """
        begun = time.perf_counter()
        filters = filters_of(request, stamp(self._clock.now()))
        terms = query_terms(request.query)
        most = request.k + 1
        if self._reranker is not None and self._reranker.wanted:
            most = max(most, RERANKED)
        model = self._embedder.ready() if terms and tuning.vector else None
        text = request.query[:QUERY_CHARS]
        reading = None if model is None else _read(model, text)
        embedded = time.perf_counter()
        with self._database.read() as connection:
            seen = visible(scope, connection, filters)
            words = reader.lexical(scope, connection, seen, terms if tuning.lexical else ())
            asked = Asked(terms=frozenset((*terms, *document_terms(text))))
            cosines = None
            if model is not None and reading is not None:
                asked = replace(
                    asked,
                    question=weigh(reading, text, words),
                    model_id=model.model_id,
                    vector=reading.vector,
                )
                cosines = reader.vector(
                    scope,
                    connection,
                    seen,
                    model_id=model.model_id,
                    query=reading.vector,
                    words=words,
                )
            ranking = rank(
                scope,
                connection,
                seen,
                lexical=words,
                cosines=cosines,
                asked=asked,
                tuning=tuning,
            )
            found, why = ranking.hits, Doubt()
            if tuning.abstain:
                found = good(ranking)
                why = doubt(scope, connection, seen, question=text, lexical=words, ranking=ranking)
            hits = _hits(
                scope, connection, seen, found, request, terms, most=most, collapse=tuning.collapse
            )
        _check_scope(scope, hits)
        rerank = ""
        if self._reranker is not None and hits and not why:
            hits, rerank = reranked(hits, text, self._reranker)
        nearest = [_related(hit) for hit in hits[:NEAREST]] if why else []
        hits = [] if why else hits
        reply = RecallReply(
            scope=scope.label,
            query_hash=hashlib.sha256(request.query.encode("utf-8", "replace")).hexdigest(),
            count=len(hits[: request.k]),
            hits=hits[: request.k],
            coverage=Coverage(
                scopes=[str(one) for one in scope.scopes],
                arms=self._arms(ranking, asked=bool(terms), with_model=cosines is not None)
                | ({"rerank": rerank} if rerank else {}),
                withheld=dict(seen.withheld),
                indexed=len(seen.by_note),
                waiting=waiting,
                without_vector=_unread(seen, cosines),
                cut=len(hits) > request.k,
                notices=list(notices),
            ),
            abstained=not hits,
            reason="" if hits else why.reason or _reason(seen, terms, words, cosines),
            nearest=nearest,
            explain={"query": shown_query(request.query)},
        )
        reply = fit(reply, self._limits(request))
        took = (time.perf_counter() - begun) * 1000
        if request.explain:
            reply = replace(
                reply, explain=reply.explain | _explained(seen, words, embedded - begun)
            )
        return replace(reply, took_ms=round(took, 2))

    def _arms(self, ranking: Ranking, *, asked: bool, with_model: bool) -> dict[str, str]:
        if not asked:
            return {"lexical": "ran", "vector": "ran", "links": "off"}
        vector = "ran"
        if not with_model:
            vector = f"off: {_ABSENT.get(self._embedder.state, 'the model is loading') or self._embedder.problem}"
        return {"lexical": "ran", "vector": vector, "links": "ran" if ranking.hopped else "off"}

    def _limits(self, request: RecallRequest) -> Limits:
        whole = request.detail is Detail.FULL and request.budget > DEFAULT_BUDGET
        chars = request.budget * CHARS_A_TOKEN if whole else MAX_CHARS
        return Limits(request.budget, chars, cache(self._embedder.count_tokens))


def _hits(
    scope: ReadScope,
    connection: Connection,
    seen: Visible,
    good: Sequence[Ranked],
    request: RecallRequest,
    terms: Sequence[str],
    *,
    most: int,
    collapse: bool,
) -> list[Hit]:
    """The best `most`, which is more than `k`, so that a reply can tell whether there are more; the
    same words twice count once.
    """
    wanted = list(good[: 2 * most])
    ids = [int(seen.entry_ids[one.position]) for one in wanted]
    about = reader.shown(scope, connection, ids)
    near = {one.chunk_id + step for one in wanted for step in (0, *AROUND)}
    texts = reader.passages(scope, connection, sorted(near))
    found: list[Hit] = []
    told: dict[tuple[str, str], int] = {}
    for one, entry_id in zip(wanted, ids, strict=True):
        first, last = _span(seen, one.position)
        own = {key: text for key, text in texts.items() if first <= key <= last}
        text, cut = snippet(own, one.chunk_id, terms, first=first, last=last)
        heading = own[one.chunk_id].heading
        hit = _hit(about[entry_id], one, seen, text, cut=cut, heading=heading)
        again = _told_before(hit, found, told, collapse=collapse)
        if again is not None:
            found[again] = _one_of_both(found[again], hit)
            continue
        if request.detail is Detail.FULL:
            room = request.budget * CHARS_A_TOKEN
            hit = whole(
                hit,
                reader.part_of(scope, connection, entry_id, chunk_id=one.chunk_id, most=room),
            )
        found.append(hit)
        if len(found) >= most:
            break
    return [hit if request.explain else replace(hit, explain={}) for hit in found]


def _told_before(
    hit: Hit, found: Sequence[Hit], told: dict[tuple[str, str], int], *, collapse: bool
) -> int | None:
    """Which earlier hit says the same in the same words: another version of the note, or another
    note that holds today as it does. Words alone decide: what differs in a number or a name is told.
    """
    words = hit.text.casefold().split()
    keys = [(hit.id, hit.text)]
    if collapse and hit.current and len(words) >= FEWEST_WORDS:
        keys.append((hit.scope, " ".join(words)))
    for key in keys:
        if key in told:
            return told[key]
    told.update(dict.fromkeys(keys, len(found)))
    return None


def _one_of_both(first: Hit, again: Hit) -> Hit:
    """Of two versions of a note the one that holds; of two notes the better, which names the other."""
    if first.id != again.id:
        return replace(first, same_as=[*first.same_as, again.id])
    return replace(again, score=first.score) if again.current and not first.current else first


def _span(seen: Visible, position: int) -> tuple[int, int]:
    start = int(seen.starts[position])
    after = int(seen.starts[position + 1]) if position + 1 < len(seen) else len(seen.chunk_ids)
    return int(seen.chunk_ids[start]), int(seen.chunk_ids[after - 1])


def _hit(about: Shown, ranked: Ranked, seen: Visible, text: str, *, cut: bool, heading: str) -> Hit:
    return Hit(
        id=about.note_id,
        version=about.version,
        title=about.title,
        scope=str(about.scope),
        path=about.path,
        kind=about.kind,
        status=about.status,
        trust=about.trust,
        author=about.author,
        valid_from=about.valid_from,
        valid_to=about.valid_to,
        updated=about.updated,
        source=list(about.source),
        heading=heading,
        text=text,
        cut=cut,
        current=bool(seen.current[ranked.position]),
        score=round(ranked.score, 4),
        superseded_by=about.superseded_by,
        replaces=list(about.replaces),
        tags=list(about.tags),
        explain={
            "score": round(ranked.score, 4),
            "close": round(ranked.close, 4),
            "words": round(ranked.words, 4),
            "via": ranked.via,
        },
    )


def _related(hit: Hit) -> Related:
    return Related(
        id=hit.id,
        title=hit.title,
        scope=hit.scope,
        version=hit.version,
        score=hit.score,
        how="near",
        path=hit.path,
    )


def _check_scope(scope: ReadScope, hits: Sequence[Hit]) -> None:
    """The last look: a result of another scope is an error, never a result."""
    allowed = {str(one) for one in scope.scopes}
    if any(hit.scope not in allowed for hit in hits):
        raise RuntimeError("a recall found a note outside its scope; nothing is returned")


def _read(model: Embedder, text: str) -> Reading | None:
    """The question as the model reads it; None when it fails at it: words go on alone."""
    try:
        return model.read_query(text)
    except ModelUnavailable:
        return None


def _unread(seen: Visible, cosines: NDArray[np.float32] | None) -> int:
    shown = seen.seen[seen.owner]
    return int(shown.sum()) if cosines is None else int((shown & (cosines <= NO_VECTOR)).sum())


def _reason(
    seen: Visible, terms: Sequence[str], words: Lexical, cosines: NDArray[np.float32] | None
) -> str:
    if not terms:
        return "the query has no word to look for; ask with the words the note would use"
    if not seen.by_note:
        return "no note of these scopes may be shown"
    if not words.by_version.any():
        shared = "no note has any of the query's words"
    else:
        shared = "no note shares enough of the query's words"
    if cosines is None:
        return f"{shared}, and meaning was not compared"
    return f"{shared}, and none is close in meaning"


def _explained(seen: Visible, words: Lexical, embedding: float) -> dict[str, float | str]:
    return {
        "visible_versions": int(seen.seen.sum()),
        "visible_passages": len(seen.chunk_ids),
        "terms": " ".join(f"{term}={weight:.2f}" for term, weight in words.weights.items()),
        "embedding_ms": round(embedding * 1000, 2),
    }
