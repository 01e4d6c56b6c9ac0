"""Cuts a reply to its budget: tokens and characters of the whole text are upper bounds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from memsvc.model.replies import Hit, RecallReply
from memsvc.service.recall.render import LEAN, render_hit, render_recall

__all__ = ["MAX_CHARS", "Limits", "fit"]

MAX_CHARS = 9_500
SHORTEST = 40
"""A passage is cut to no less than this, except in the first hit."""
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
    """Hits while they fit, in a frame that already says that some were cut."""
    several = len(reply.coverage.scopes) > 1
    frame = render_recall(_with(reply, [], cut=True))
    tokens = limits.tokens - limits.count(frame) - 2
    chars = limits.chars - len(frame) - 2
    kept: list[Hit] = []
    for number, hit in enumerate(reply.hits, start=1):
        room = Limits(tokens, chars, limits.count)
        fitting = _shortened(hit, number, room, several=several, least=SHORTEST)
        if fitting is None:
            break
        block = render_hit(number, fitting, several=several)
        tokens -= limits.count(block) + 1
        chars -= len(block) + 1
        kept.append(fitting)
        if fitting is not hit:
            break
    left_out = len(kept) < len(reply.hits) or any(hit.cut for hit in kept)
    made = _with(reply, kept, cut=left_out)
    while made.hits and not limits.hold(render_recall(made)):
        made = _with(reply, made.hits[:-1], cut=True)
    return made


def _shortened(hit: Hit, number: int, room: Limits, *, several: bool, least: int) -> Hit | None:
    """The hit as it is, or with less of its text, or None when not even that fits."""
    if room.hold(render_hit(number, hit, several=several)):
        return hit
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
            hit, title=short, heading="", source=[], replaces=[], superseded_by="", cut=True
        )
        frame = limits.count(render_recall(_with(bare, [], cut=True)))
        room = Limits(limits.tokens - frame, limits.chars, limits.count)
        fitting = _shortened(small, 1, room, several=False, least=1)
        made = _with(bare, [fitting or replace(small, text="")], cut=True)
        if limits.hold(render_recall(made)):
            return made
    return _with(bare, [], cut=bool(reply.hits))
