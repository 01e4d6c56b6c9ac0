"""Orders what a read may see by how well it answers, and puts successors where replaced notes match."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memsvc.index import reader
from memsvc.index.analyse import document_terms
from memsvc.index.detail_reader import details_of, names_of
from memsvc.index.scoring import STAND_IN
from memsvc.index.values import Lexical
from memsvc.index.visible import Visible
from memsvc.scope.proof import ReadScope
from memsvc.service.recall.board import Board
from memsvc.service.recall.late import Close, Look, Question, closest
from memsvc.service.recall.tuning import DEFAULT, Tuning

__all__ = ["Asked", "Named", "Ranked", "Ranking", "rank"]


LEAST = 0.05
"""A name must have this share of the question's weight to count as one."""
BESIDES = 0.3
"""What is asked besides a name must have this share: else the name is the question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question: its `terms` with stop words, and as the model `model_id` read it, if one did:
    with its tokens, and as one `vector`.
    """

    terms: frozenset[str]
    question: Question | None = None
    model_id: str = ""
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A version that answers, at `position` of the visible set, with its best passage.

    `close` is how close it is in meaning by the closest look that was taken, -1 without a model;
    `words` the share of the question's words that it holds, weighted by rarity.
    """

    position: int
    score: float
    close: float
    words: float
    chunk_id: int
    via: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """The note that a question names, and what is said of it.

    `asked` tells whether more was asked than the name. `support` is how close the note, its
    neighbours and others that mention it come to the rest of the question, `elsewhere` how close
    other notes do, `words` the share of the rest's words that the note and one of them hold.
    """

    note_id: str
    title: str
    asked: bool = False
    support: float = 0.0
    elsewhere: float = 0.0
    words: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Best first. `hopped` tells whether links were followed."""

    hits: list[Ranked] = field(default_factory=list)
    hopped: bool = False
    named: Named | None = None


def rank(
    scope: ReadScope,
    connection: Connection,
    visible: Visible,
    *,
    lexical: Lexical,
    cosines: NDArray[np.float32] | None,
    asked: Asked,
    tuning: Tuning = DEFAULT,
) -> Ranking:
    """Everything seen that shares a word or has a vector, with replaced versions resolved."""
    if not len(visible):
        return Ranking()
    return _Ranker(scope, connection, visible, lexical, cosines, asked, tuning).rank()


class _Ranker:
    """One ranking: a first look at all, a closer one at the best, then along their links."""

    def __init__(
        self,
        scope: ReadScope,
        connection: Connection,
        visible: Visible,
        lexical: Lexical,
        cosines: NDArray[np.float32] | None,
        asked: Asked,
        tuning: Tuning,
    ) -> None:
        self._scope = scope
        self._connection = connection
        self._visible = visible
        self._lexical = lexical
        self._asked = asked
        self._tuning = tuning
        self._board = Board(visible, lexical, cosines, words=tuning.words)
        self._named: tuple[int, str] | None = None
        self._pairs: list[tuple[int, int]] = []
        self._beyond: Close | None = None

    def rank(self) -> Ranking:
        board, tuning = self._board, self._tuning
        top = board.best(tuning.candidates)
        titles = self._titles(top)
        close = self._look_closer(top)
        hopped = False
        named_alone = titles.get(board.leader(top), 0.0) > 0.999
        if tuning.links and not (named_alone and tuning.exact_names):
            hopped = self._hop(top, close)
        named = self._said(top, close)
        self._compare(board.successors())
        board.resolve()
        return Ranking(
            hits=[Ranked(**one) for one in board.listed()],
            hopped=hopped,
            named=named,
        )

    def _titles(self, positions: Sequence[int]) -> dict[int, float]:
        """How much of the question stands in the names of versions; more if it names them whole."""
        weights, common = self._lexical.weights, self._lexical.common
        board, tuning = self._board, self._tuning
        passages = {position: board.passage(position) for position in positions}
        held = reader.held(self._scope, self._connection, list(passages.values())) if common else {}
        names = names_of(
            self._scope,
            self._connection,
            [int(self._visible.entry_ids[position]) for position in positions],
        )
        found: dict[int, float] = {}
        for position, chunk_id in passages.items():
            own, tags = names.get(int(self._visible.entry_ids[position]), ((), ()))
            above = {term for name in (*own, *tags) for term in _terms_of(name)}
            if common:
                _, text = held.get(chunk_id, (frozenset[str](), {}))
                board.add_words(
                    position,
                    sum(weights[term] for term in common if term in above or term in text),
                )
            title = sum(weight for term, weight in weights.items() if term in above)
            found[position] = title
            if not title:
                continue
            name = next((name for name in own if self._names(name)), "")
            board.add(position, title * (tuning.title + (tuning.mention if name else 0.0)))
            if name and title > max(found.get(self._named[0], 0.0) if self._named else 0.0, LEAST):
                self._named = (position, name)
        if tuning.tie_breakers:
            board.add_trust(positions)
        board.score_first()
        return found

    def _names(self, name: str) -> bool:
        terms = _terms_of(name)
        return bool(terms) and terms <= self._asked.terms

    def _look_closer(self, positions: Sequence[int]) -> Close | None:
        question, tuning = self._asked.question, self._tuning
        if question is None or not tuning.late:
            return None
        close = self._close(question, positions)
        look = close.look(question.weights, late=tuning.tokens)
        self._board.score_late(self._mixed(look), look.chunk, words=tuning.words_late)
        return close

    def _compare(self, positions: Iterable[int]) -> None:
        """Among very many passages not all were compared: do so for those of these versions."""
        far, asked = self._board.far(positions), self._asked
        if far and asked.vector is not None:
            self._board.compare(
                reader.closer(
                    self._scope,
                    self._connection,
                    self._visible,
                    far,
                    model_id=asked.model_id,
                    query=asked.vector,
                )
            )

    def _close(self, question: Question, positions: Iterable[int]) -> Close:
        """The best passages of versions, as the model read them."""
        visible = self._visible
        chosen: dict[int, list[int]] = {}
        for position in positions:
            start, end = visible.span(position)
            pieces = self._board.pieces[start:end]
            chosen[position] = [
                int(visible.chunk_ids[start + at])
                for at in closest(pieces, most=self._tuning.passages)
            ]
        wanted = sorted({chunk_id for some in chosen.values() for chunk_id in some})
        blobs = details_of(self._scope, self._connection, wanted, model_id=self._asked.model_id)
        packed = {
            position: {one: blobs[one] for one in some if one in blobs}
            for position, some in chosen.items()
        }
        return Close(question, packed)

    def _hop(self, top: Sequence[int], close: Close | None) -> bool:
        """Neighbours of the best versions answer what those leave unanswered."""
        board, visible = self._board, self._visible
        leaders = sorted(top, key=board.order)
        leaders = [one for one in leaders if visible.seen[one]][: self._tuning.leaders]
        also = [self._named[0]] if self._named and self._named[0] not in leaders else []
        pairs = reader.neighbours(self._scope, self._connection, visible, [*leaders, *also])
        self._pairs = pairs
        if not pairs:
            return False
        self._compare(other for _, other in pairs)
        question = self._asked.question
        held: Mapping[int, NDArray[np.float32]] = {}
        if close is not None and question is not None:
            self._beyond = self._close(question, sorted({other for _, other in pairs} - set(top)))
            held = close.held()
        for leader in leaders:
            others = [other for first, other in pairs if first == leader]
            if others:
                self._follow(leader, others, close, held.get(leader))
        return True

    def _follow(
        self,
        leader: int,
        others: Sequence[int],
        close: Close | None,
        held: NDArray[np.float32] | None,
    ) -> None:
        """`held` is how well the leader holds each token of the question."""
        tuning, board, question = self._tuning, self._board, self._asked.question
        kept = tuning.hop_keep * board.own(leader)
        known = self._covered(leader)
        rest: Mapping[int, float] = {}
        chunks: Mapping[int, int] = {}
        if question is not None:
            weights = question.weights
            if held is not None:
                weights = weights * np.clip(1.0 - np.clip(held, 0.0, 1.0), 0.0, 1.0)
            rest, chunks = self._closeness(weights, close)
        words = tuning.words if self._beyond is None else tuning.words_late
        for other in others:
            gained = sum(self._lexical.weights[term] for term in self._covered(other) - known)
            closeness = STAND_IN * gained if self._beyond is None else rest.get(other, 0.0)
            score = kept + tuning.hop_rest * closeness + words * gained
            via = f"linked with {self._visible.note_ids[leader]}"
            board.lift(other, score, via=via, chunk_id=chunks.get(other))

    def _closeness(
        self, weights: NDArray[np.float64], close: Close | None
    ) -> tuple[Mapping[int, float], Mapping[int, int]]:
        """How close the best versions and their neighbours are to the question with these token
        weights, and by which passage.
        """
        score: dict[int, float] = {}
        chunk: dict[int, int] = {}
        total = float(weights.sum())
        for some in (close, self._beyond) if total > 0.0 else ():
            if some is not None:
                look = some.look(weights / total, late=self._tuning.tokens)
                score |= self._mixed(look)
                chunk |= look.chunk
        return score, chunk

    def _said(self, top: Sequence[int], close: Close | None) -> Named | None:
        """What is said of the note that the question names; None if it names none."""
        if self._named is None:
            return None
        position, name = self._named
        known = Named(note_id=self._visible.note_ids[position], title=name)
        question = self._asked.question
        if question is None or close is None:
            return known
        own = _terms_of(name)
        weights = question.without(own)
        if float(weights.sum()) <= BESIDES:
            return known
        score, _ = self._closeness(weights, close)
        about = {position} | {other for first, other in self._pairs if first == position}
        weighed = own & self._lexical.holders.keys()
        about |= {one for one in top if weighed <= self._covered(one)}
        rest = {term: one for term, one in self._lexical.weights.items() if term not in own}
        known_words = self._covered(position)
        words = max(
            sum(rest.get(term, 0.0) for term in known_words | self._covered(one)) for one in about
        )
        return replace(
            known,
            asked=True,
            support=max((score[one] for one in about if one in score), default=0.0),
            elsewhere=max(
                (score[one] for one in top if one in score and one not in about), default=0.0
            ),
            words=words / max(sum(rest.values()), LEAST),
        )

    def _mixed(self, look: Look) -> dict[int, float]:
        """Meaning and tokens as one closeness."""
        tokens = self._tuning.tokens
        return {
            position: (meaning + tokens * look.tokens[position]) / (1.0 + tokens)
            for position, meaning in look.meaning.items()
        }

    def _covered(self, position: int) -> set[str]:
        """The question's words that a version holds; common ones count for nobody."""
        found = set()
        for term, holders in self._lexical.holders.items():
            at = int(np.searchsorted(holders, position))
            if at < len(holders) and holders[at] == position:
                found.add(term)
        return found


@lru_cache(maxsize=16_384)
def _terms_of(name: str) -> frozenset[str]:
    return frozenset(document_terms(name))
