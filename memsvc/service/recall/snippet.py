"""The part of a note that a hit shows: its best passage, with its neighbours where there is room."""

import re
from collections.abc import Collection, Mapping
from dataclasses import replace

from memsvc.index.analyse import document_terms
from memsvc.index.values import Part, Passage
from memsvc.model.replies import Hit

__all__ = ["AROUND", "MAX_SNIPPET", "snippet", "whole"]

MAX_SNIPPET = 400
AROUND = (1, 2, -1)
"""Neighbours of a passage that may be shown with it, by distance, in order of preference."""

_HEADINGS = re.compile(r"\A(?:[ \t]*(?:#{1,6}(?:[ \t][^\n]*)?)?\n)+")
_BREAK = re.compile(r"[.!?。！？]\s+|\n")


def snippet(
    near: Mapping[int, Passage], chunk_id: int, terms: Collection[str], *, first: int, last: int
) -> tuple[str, bool]:
    """The text to show, and whether the note has more. `first` and `last` bound the note's passages.

    Rows of a table come below its header, items of a list below the line that announces them.
    """
    shown = [chunk_id]
    length = len(near[chunk_id].text)
    for step in AROUND:
        other = chunk_id + step
        joins = other in (shown[0] - 1, shown[-1] + 1)
        if not joins or not first <= other <= last or other not in near:
            continue
        length += len(near[other].text)
        if length > MAX_SNIPPET:
            break
        shown = sorted([*shown, other])
    text = "".join(near[one].text for one in shown)
    if shown[0] == first or near[shown[0]].heading:
        text = _HEADINGS.sub("", text)
    before, after = shown[0] > first, shown[-1] < last
    text = text.strip("\n").rstrip()
    if len(text) > MAX_SNIPPET:
        start = _start(text, terms)
        before, after = before or start > 0, after or start + MAX_SNIPPET < len(text)
        text = text[start : start + MAX_SNIPPET].strip()
    lead = near[shown[0]].lead
    above = f"{lead}\n…" if lead else "…" if before else ""
    return f"{above}{text}{'…' if after else ''}", before or after


def whole(hit: Hit, part: Part) -> Hit:
    """The hit with its note's text in place of a passage, or with as much of it as was read."""
    blank = len(part.text) - len(part.text.lstrip("\n"))
    text = part.text.strip("\n").rstrip()
    more = part.start + len(part.text) < part.length
    return replace(
        hit,
        text=f"{text}…" if more else text,
        cut=more or part.start > 0,
        start=part.start + blank,
        length=part.length,
        best=max(part.best, part.start + blank),
    )


def _start(text: str, terms: Collection[str]) -> int:
    """Where to begin in a long passage: the sentence with the most different terms of the query."""
    best, found = 0, 0
    begins = [0, *(match.end() for match in _BREAK.finditer(text[: 50 * MAX_SNIPPET]))]
    for begin in begins[:400]:
        window = set(document_terms(text[begin : begin + MAX_SNIPPET]))
        shared = len(window.intersection(terms))
        if shared > found:
            best, found = begin, shared
    return best
