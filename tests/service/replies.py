"""Hits and replies as a recall makes them, for tests of what becomes of them."""

from dataclasses import replace

from memsvc.model.replies import Coverage, Hit, RecallReply
from memsvc.service.recall.render import shown_query

__all__ = ["hit", "reply"]


def hit(**more: object) -> Hit:
    plain = Hit(
        id="01KBA7ZD5QX4T9W2M3N8R6C0VE", version=1, title="Release", scope="team/heron",
        path="heron/release.md", kind="decision", status="active", trust="human", author="agent:t",
        valid_from="2026-11-30T00:00:00.000000Z", valid_to="", updated="", source=["meeting"],
        heading="", text="The release moves.", cut=False, current=True, score=1.0,
    )  # fmt: skip
    return replace(plain, **more)  # type: ignore[arg-type] # passed on


def reply(*hits: Hit, query: str = "release date", **more: object) -> RecallReply:
    made = RecallReply(
        scope="team/heron", query_hash="", count=len(hits), hits=list(hits),
        coverage=Coverage(scopes=["team/heron"], arms={"lexical": "ran", "vector": "ran"}),
        explain={"query": shown_query(query)},
    )  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type] # passed on
