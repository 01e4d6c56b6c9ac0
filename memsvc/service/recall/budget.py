"""Cuts a reply to its budget: tokens and characters of the whole text are upper bounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memsvc.model.replies import Hit, RecallReply
from memsvc.service.recall.render import LEAN, render_hit, render_recall

__all__ = ["MAX_CHARS", "Limits", "fit"]

MAX_CHARS = 9_500
SHORTEST = 40
"""A passage is cut to no less than this, except in the first hit."""
RESERVED = 110
"""Tokens that a whole note leaves to each hit behind it: its line and two or three sentences."""
LEAN_TITLE = 40


@dataclass(frozen=True, slots=True)
class Limits:
    """`tokens` as `count` counts them, and `chars`. `count` is asked again about the same texts."""

    tokens: int
    chars: int
    count: Callable[[str], int]

    def hold(self, text: str) -> bool:
        """Whether a text keeps within both."""
        return len(text) <= self.chars and self.count(text) <= self.tokens


def fit(reply: RecallReply, limits: Limits) -> RecallReply:
    """The reply with as many of its hits as fit, the last one perhaps cut; at least one if any can.

    `count`, `coverage.cut` and `tokens` say what came of it.
    """
    plain = _filled(reply, limits)
    if (reply.hits and not plain.hits) or not limits.hold(render_recall(plain)):
        plain = _bare(reply, limits)
    return replace(plain, tokens=limits.count(render_recall(plain)))


def _with(reply: RecallReply, hits: Sequence[Hit], *, cut: bool) -> RecallReply:
    coverage = replace(reply.coverage, cut=reply.coverage.cut or cut)
    return replace(reply, hits=list(hits), count=len(hits), coverage=coverage)


def _filled(reply: RecallReply, limits: Limits) -> RecallReply:
    """Hits while they fit, in a frame that already says that some were cut.

    Whole notes leave room for the hits behind them, so that a long one pushes none of them out.
    """
    several = len(reply.coverage.scopes) > 1
    frame = render_recall(_with(reply, [], cut=True))
    left = Limits(
        limits.tokens - limits.count(frame) - 2, limits.chars - len(frame) - 2, limits.count
    )
    kept: list[Hit] = []
    provided = min(len(reply.hits), left.tokens // RESERVED)
    for number, hit in enumerate(reply.hits, start=1):
        behind = max(provided - number, 0) if hit.length else 0
        room = _without(left, behind * RESERVED)
        fitting = _shortened(hit, number, room, several=several, least=SHORTEST)
        if fitting is None and behind:  # its names and sources alone take more than its part
            fitting = _shortened(hit, number, left, several=several, least=SHORTEST)
        if fitting is None:
            break
        block = render_hit(number, fitting, several=several)
        left = Limits(
            left.tokens - limits.count(block) - 1, left.chars - len(block) - 1, limits.count
        )
        kept.append(fitting)
        if fitting is not hit and not hit.length:
            break
    left_out = len(kept) < len(reply.hits) or any(hit.cut for hit in kept)
    made = _with(reply, kept, cut=left_out)
    while made.hits and not limits.hold(render_recall(made)):
        made = _with(reply, made.hits[:-1], cut=True)
    return made


def _without(left: Limits, tokens: int) -> Limits:
    """What is left when so many tokens, and the same part of the characters, are kept for others."""
    chars = left.chars * tokens // max(left.tokens, 1)
    return Limits(left.tokens - tokens, left.chars - chars, left.count)


def _shortened(hit: Hit, number: int, room: Limits, *, several: bool, least: int) -> Hit | None:
    """The hit as it is, or with less of its text, or None when not even that fits.

    A whole note is cut behind its best passage if that fits; else it begins there.
    """
    if room.hold(render_hit(number, hit, several=several)):
        return hit
    fitting = _cut(hit, number, room, several=several, least=least)
    within = fitting is not None and len(fitting.text) > hit.best - hit.start
    if within or hit.best <= hit.start:
        return fitting
    later = replace(hit, text=hit.text[hit.best - hit.start :], start=hit.best, cut=True)
    return _cut(later, number, room, several=several, least=least)


def _cut(hit: Hit, number: int, room: Limits, *, several: bool, least: int) -> Hit | None:
    """As much of the hit's text, from its beginning, as fits."""
    if hit.cut and room.hold(render_hit(number, hit, several=several)):
        return hit  # it was cut at its beginning, and the rest fits
    low, high = least, min(len(hit.text), room.chars)
    best: Hit | None = None
    while low <= high:
        middle = (low + high) // 2
        tried = replace(hit, text=f"{hit.text[:middle].rstrip()}…", cut=True)
        if room.hold(render_hit(number, tried, several=several)):
            best, low = tried, middle + 1
        else:
            high = middle - 1
    return best


def _bare(reply: RecallReply, limits: Limits) -> RecallReply:
    """The least that still answers: one hit, a bare fence, and whatever of the passage fits."""
    bare = replace(reply, explain={**reply.explain, LEAN: "budget"})
    for hit in reply.hits[:1]:
        short = hit.title if len(hit.title) <= LEAN_TITLE else f"{hit.title[: LEAN_TITLE - 1]}…"
        small = replace(
            hit,
            title=short,
            heading="",
            source=[],
            replaces=[],
            superseded_by="",
            cut=True,
            length=0,
        )
        frame = limits.count(render_recall(_with(bare, [], cut=True)))
        room = Limits(limits.tokens - frame, limits.chars, limits.count)
        fitting = _shortened(small, 1, room, several=False, least=1)
        made = _with(bare, [fitting or replace(small, text="")], cut=True)
        if limits.hold(render_recall(made)):
            return made
    return _with(bare, [], cut=bool(reply.hits))
