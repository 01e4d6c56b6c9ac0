"""The optional last stage: a cross-encoder reads the question with each of the best hits."""

from collections.abc import Sequence
from typing import Protocol

from memsvc.embedding.protocol import Reranker
from memsvc.errors import ModelUnavailable
from memsvc.model.replies import Hit

__all__ = ["RERANKED", "LazyRerankers", "reranked"]

RERANKED = 20
"""So many of the best hits are read again."""


class LazyRerankers(Protocol):
    """A reranker that may be off or missing."""

    @property
    def wanted(self) -> bool:
        """Whether the settings ask for one."""
        ...

    @property
    def problem(self) -> str:
        """Why it is missing."""
        ...

    def get(self) -> Reranker | None:
        """The reranker, if it can be had."""
        ...


def reranked(hits: Sequence[Hit], query: str, lazy: LazyRerankers) -> tuple[list[Hit], str]:
    """The hits in the order of the reranker, and what to say of it; empty when it is off.

    What is replaced stays behind what is current: the reranker does not know time.
    """
    if not lazy.wanted:
        return list(hits), ""
    reranker = lazy.get()
    if reranker is None:
        return list(hits), f"off: {lazy.problem}"
    try:
        scores = reranker.score(query, [f"{hit.title}\n{hit.heading}\n{hit.text}" for hit in hits])
    except ModelUnavailable:
        return list(hits), "off: the reranker failed; see the log"
    order = sorted(
        range(len(hits)), key=lambda at: (not hits[at].current, -round(float(scores[at]), 6), at)
    )
    return [hits[at] for at in order], "ran"
