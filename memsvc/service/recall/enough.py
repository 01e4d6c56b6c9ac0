"""Whether what was found answers at all: why a recall says that it does not know.

The numbers were fitted on the generated vaults of `bench/generate`, pool `tune`, so that about one
answerable question in twenty is refused; `bench/README.md` says what they do on others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from memsvc.index import reader
from memsvc.index.detail_reader import names_of
from memsvc.index.values import Lexical
from memsvc.index.visible import Visible
from memsvc.scope.proof import ReadScope
from memsvc.service.recall.names import Word, is_acronym, phrases, words_of
from memsvc.service.recall.ranking import Ranked, Ranking

__all__ = ["Doubt", "doubt", "good"]

ENOUGH = 0.22
"""The least score of an answer after a closer look: no right answer among the best five had less."""
ENOUGH_WORDS = 0.12
"""The least score of an answer found by words alone: one rare word of a long question. By eye."""
SHARE, SHARE_LINKED = 0.68, 0.6
"""An answer has at least this share of the best one's score: no right one among five had less. One
that a link led to starts from a part of its leader's score.
"""
UNHEARD = (10.4, 4.8, 0.18)
"""Weight of names that nobody mentions, and of other words that are nowhere (who describes a thing
in other words may use a name in passing), and what the first must exceed the second by.
"""
UNSAID = (6.7, 3.63, 4.34, 1.94)
"""Of a note that is named: how much closeness and shared words speak against a doubt, how much it
speaks for it that other notes are closer, and where the doubt begins.
"""
LOOKED_THROUGH = 20
"""Notes that hold every part of a name are read for the whole name, up to so many."""
PASSAGES = 400
"""Passages of all of them."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Why nothing is returned, in words for the caller; empty when there is no doubt."""

    reason: str = ""

    def __bool__(self) -> bool:
        return bool(self.reason)


def good(ranking: Ranking) -> list[Ranked]:
    """What is good enough, and not far behind the best."""
    best = max((one.score for one in ranking.hits), default=0.0)
    return [
        one
        for one in ranking.hits
        if one.score >= (ENOUGH_WORDS if one.close <= -1.0 else ENOUGH)
        and one.score >= (SHARE_LINKED if one.via.startswith("linked") else SHARE) * best
    ]


def doubt(
    scope: ReadScope,
    connection: Connection,
    visible: Visible,
    *,
    question: str,
    lexical: Lexical,
    ranking: Ranking,
) -> Doubt:
    """Whether the question is about something that the visible notes do not know."""
    named = ranking.named
    if named is not None:
        close, elsewhere, words, least = UNSAID
        value = close * named.support + words * named.words
        if named.asked and value < least + elsewhere * (named.elsewhere - named.support):
            return Doubt(
                f"“{named.title}” is there, but no note seems to say of it what is asked; "
                f"read it (id {named.note_id}) to be sure"
            )
        return Doubt()
    words_asked = words_of(question)
    unheard = _unheard(words_asked, lexical)
    if unheard:
        return Doubt(f"no note of these scopes mentions {', '.join(f'“{one}”' for one in unheard)}")
    for phrase in phrases(words_asked, question):
        if _apart(scope, connection, visible, phrase, lexical):
            text = " ".join(word.text for word in phrase)
            return Doubt(f"the parts of “{text}” occur, but no note of these scopes mentions it")
    return Doubt()


def _unheard(words: Sequence[Word], lexical: Lexical) -> list[str]:
    """Names that occur nowhere, if they are what the question is about."""
    total = sum(lexical.weights.get(word.term, 0.0) for word in words)
    nowhere = [word for word in words if _holders(word, lexical) == 0]
    names = [word for word in nowhere if word.name]
    if not total or not names:
        return []
    name_weight, other_weight, least = UNHEARD
    share = sum(lexical.weights.get(word.term, 0.0) for word in names) / total
    rest = [word for word in nowhere if not word.name and not is_acronym(word.text)]
    others = sum(lexical.weights.get(word.term, 0.0) for word in rest) / total
    if name_weight * share - other_weight * others < least:
        return []
    return list(dict.fromkeys(word.text for word in names))


def _holders(word: Word, lexical: Lexical) -> int:
    """How many versions hold a word; -1 where nobody looked."""
    holders = lexical.holders.get(word.term)
    return -1 if holders is None else len(holders)


def _apart(
    scope: ReadScope,
    connection: Connection,
    visible: Visible,
    phrase: Sequence[Word],
    lexical: Lexical,
) -> bool:
    """Whether the parts of a name occur, but nowhere one after the other."""
    together: set[int] | None = None
    for word in phrase:
        holders = lexical.holders.get(word.term)
        if holders is None or not len(holders):
            return False
        seen = {at for at in holders.tolist() if visible.seen[at]}
        together = seen if together is None else together & seen
    if not together:
        return True
    if len(together) > LOOKED_THROUGH:
        return False
    wanted = " ".join(word.text for word in phrase).casefold()
    spans = [visible.span(at) for at in sorted(together)]
    if sum(end - start for start, end in spans) > PASSAGES:
        return False
    ids = np.concatenate([visible.chunk_ids[start:end] for start, end in spans]).tolist()
    texts = [one.text for one in reader.passages(scope, connection, ids).values()]
    entries = [int(visible.entry_ids[at]) for at in sorted(together)]
    for names, _ in names_of(scope, connection, entries).values():
        texts += names
    return not any(wanted in " ".join(text.casefold().split()) for text in texts)
