"""What a rejected claim was called before: the wordings that amendments of its note replaced."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import NamedTuple

from memsvc.ledger.records import VersionRecord
from memsvc.model.vocabulary import CorrectMode
from memsvc.service.gateway.checks import Statement, statements
from memsvc.service.gateway.indexing import document_of

__all__ = ["Wording", "earlier_wordings", "statements_of"]

_ALONE = ("title", "whole")
"""Kinds that a text has one of: each replaces its like."""


class Wording(NamedTuple):
    """A claim in words that were amended since, and the version that had them."""

    version: int
    statement: Statement


def earlier_wordings(
    versions: Iterable[VersionRecord],
    rejected: Sequence[Statement],
    *,
    spared: Iterable[Statement] = (),
) -> list[Wording]:
    """Earlier wordings of claims that are rejected, newest first, without those that are `spared`.

    An amendment keeps the meaning: who rejects its words rejects the words that it replaced, through
    as many amendments as there were. Other corrections lead nowhere: what they dropped was
    something else. `versions` are a note's, oldest first, up to the one that makes the claims; those
    written in another scope are passed over.
    """
    known = {one.normal for one in rejected} | {one.normal for one in spared}
    said = {one.normal for one in rejected}
    held = list(versions)
    found: list[Wording] = []
    for older, newer in reversed(list(pairwise(held))):
        if newer.mode != CorrectMode.AMEND or older.scope != held[-1].scope or not older.content:
            continue
        for one in _replaced(statements_of(older), statements_of(newer), said):
            said.add(one.normal)
            if one.normal not in known:
                known.add(one.normal)
                found.append(Wording(older.version, one))
    return found


def statements_of(version: VersionRecord) -> list[Statement]:
    """Every claim that a version makes."""
    document = document_of(version)
    return statements(document.title, document.body)


def _replaced(
    before: Sequence[Statement], after: Sequence[Statement], said: set[str]
) -> list[Statement]:
    """What of the text before became, by the amendment, one of the statements `said`."""
    old, new = {one.normal for one in before}, {one.normal for one in after}
    gone = [one for one in before if one.normal not in new]
    came = [one for one in after if one.normal not in old]
    pairs = [
        (one, other)
        for kind in _ALONE
        for one in gone
        for other in came
        if one.kind == other.kind == kind
    ]
    bodies = [one for one in came if one.kind not in _ALONE]
    rest = [one for one in gone if one.kind not in _ALONE]
    for place, one in enumerate(rest if bodies else ()):
        there = place * len(bodies) / len(rest)
        likeness = [(_like(one, other), -abs(at - there)) for at, other in enumerate(bodies)]
        pairs.append((one, bodies[likeness.index(max(likeness))]))
    return [one for one, other in pairs if other.normal in said]


def _like(one: Statement, other: Statement) -> float:
    """How much of their words two statements share, 0 to 1."""
    words, others = one.normal.split(), other.normal.split()
    return SequenceMatcher(None, words, others, autojunk=False).ratio()
