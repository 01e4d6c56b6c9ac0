"""What makes a version visible, as SQL: the statements of the visible set, each written once."""

from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    String,
    Subquery,
    and_,
    bindparam,
    case,
    func,
    not_,
    or_,
    select,
    true,
)
from sqlalchemy.sql.base import ReadOnlyColumnCollection
from sqlalchemy.sql.elements import KeyedColumnElement

from memsvc.index.schema import entries
from memsvc.index.sets import HIDDEN, PAST, REDIRECT, ROW, SEEN
from memsvc.index.values import Filters
from memsvc.model.vocabulary import Status

__all__ = ["INSTANTS", "Shape", "Which", "statement"]

_REPLACED_MODES = ("changed", "superseded", "amend", "edit")
INSTANTS = (
    "valid_from", "recorded_from", "valid_to", "valid_to_original", "ended_at", "recorded_to",
)  # fmt: skip
_JUDGED = ("status", "latest", "end_mode", "superseded_by", "trust_rank", "kind", "tags", "change")
"""What the rules look at, besides."""


_Columns = ReadOnlyColumnCollection[str, KeyedColumnElement[Any]]


class Which(StrEnum):
    """Which rows a query is about."""

    ALL = "all"
    """Those that are not hidden or that count as kept back."""
    CHANGED = "changed"
    CROSSED = "crossed"
    """Of these an instant is after `since` and not after `now`."""
    REPLACED = "replaced"
    """By one of some notes."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What of the filters decides the text of a query; the rest are its parameters."""

    dated: bool
    as_of: bool
    timeless: bool
    history: bool
    kinds: bool
    tags: bool

    @classmethod
    def of(cls, filters: Filters) -> "Shape":
        return cls(
            dated=bool(filters.known_at),
            as_of=bool(filters.as_of),
            timeless=not filters.now,
            history=filters.history,
            kinds=bool(filters.kinds),
            tags=bool(filters.tags),
        )


@lru_cache(maxsize=64)
def statement(shape: Shape, which: Which) -> Select[Any]:
    """Made once: writing such a query takes longer than asking it."""
    rules = _rules(shape)
    e = rules.rows
    wanted = e.trust_rank >= bindparam("trust", type_=Integer)
    if shape.kinds:
        wanted = and_(wanted, e.kind.in_(bindparam("kinds")))
    standing = case(
        (and_(rules.seen, wanted), SEEN),
        *([(and_(rules.past, wanted), PAST)] if shape.history else ()),
        (rules.redirect, REDIRECT),
        else_=HIDDEN,
    )
    reason = case((e.latest == 1, _reason(rules, history=shape.history)), else_="")
    judged = select(
        *(e[name] for name in ROW[:-2]),
        standing.label("standing"),
        rules.current.label("current"),
        reason.label("reason"),
        *((e.tags,) if shape.tags else ()),
        *(e[name].label(f"at_{name}") for name in INSTANTS if which is not Which.ALL),
    )
    if which is Which.ALL:
        found = judged.subquery("judged")
        shown = or_(found.c.standing != HIDDEN, found.c.reason != "")
        return select(found).where(shown).order_by(found.c.entry_id)
    conditions = {
        Which.CHANGED: e.change > bindparam("change", type_=Integer),
        Which.CROSSED: _crosses(e),
        Which.REPLACED: e.superseded_by.in_(bindparam("notes")),
    }
    query = judged.where(conditions[which])
    return query.limit(bindparam("limit", type_=Integer)) if which is Which.CHANGED else query


@dataclass(frozen=True, slots=True)
class _Rules:
    """Each a condition on one row of `rows`, which is `index_entry` of some scopes and what follows
    from it.
    """

    rows: _Columns
    seen: ColumnElement[bool]
    past: ColumnElement[bool]
    redirect: ColumnElement[bool]
    current: ColumnElement[bool]
    begun: ColumnElement[bool]
    believed: ColumnElement[bool]
    running: ColumnElement[bool]
    replaced: ColumnElement[bool]


def _facts(shape: Shape) -> Subquery:
    """The rows of the scopes with what the rules are about: whether each was `recorded` and is
    `believed`, since when its successor holds (`after`), whether it is `replaced` and where its
    validity has its `end_then`. In steps, so that no expression is written out in another.
    """
    e = entries.c
    superseded = e.status == Status.SUPERSEDED.value
    held, moment = bindparam("held", type_=String), bindparam("moment", type_=String)
    if shape.dated:
        # what memsvc learned after `held` had not happened yet
        recorded: ColumnElement[bool] = e.recorded_from <= held
        believed: ColumnElement[bool] = or_(e.recorded_to == "", e.recorded_to > held)
        replaced: ColumnElement[bool] = and_(superseded, e.ended_at <= held)
        end: ColumnElement[str] = case((e.ended_at > held, e.valid_to_original), else_=e.valid_to)
    else:
        recorded = true()
        believed = e.recorded_to == ""
        replaced = superseded
        end = e.valid_to
    first = (
        select(
            *(e[name] for name in dict.fromkeys((*ROW[:-2], *INSTANTS, *_JUDGED))),
            recorded.label("recorded"),
            and_(recorded, believed).label("believed"),
            replaced.label("named_replaced"),
            end.label("end_then"),
            case((superseded, _successor_begins(held)), else_="").label("after"),
        )
        .where(e.scope_key.in_(bindparam("keys")))
        .subquery("first_facts")
    )
    f = first.c
    gone_over = and_(
        f.named_replaced, f.after <= moment
    )  # until its successor holds, a note stands
    return select(first, gone_over.label("replaced")).subquery("facts")


def _rules(shape: Shape) -> _Rules:
    e = _facts(shape).c
    stands = e.status.in_((Status.ACTIVE.value, Status.SUPERSEDED.value))
    now, moment = bindparam("now", type_=String), bindparam("moment", type_=String)
    begun = e.valid_from <= moment
    running = or_(e.end_then == "", e.end_then > moment)
    window = and_(stands, e.believed, begun, running)
    known_end = or_(not_(e.replaced), e.end_then != "")
    seen = and_(window, known_end) if shape.as_of else and_(window, not_(e.replaced))
    not_wrong = or_(e.believed, e.end_mode.in_(_REPLACED_MODES))
    current = and_(
        or_(e.status == Status.ACTIVE.value, e.after > now),
        e.recorded_to == "",
        e.valid_from <= now,
        or_(e.valid_to == "", e.valid_to > now),
    )
    if shape.timeless:  # the newest recorded text, whatever its validity
        seen = and_(e.status == Status.ACTIVE.value, e.recorded_to == "", e.latest == 1)
        current = seen
    return _Rules(
        rows=e,
        seen=seen,
        past=and_(stands, e.recorded, begun, not_wrong),
        redirect=and_(
            stands,
            e.believed,
            begun,
            or_(
                and_(e.replaced, e.superseded_by != ""),
                and_(e.end_mode == "changed", ~running),
            ),
        ),
        current=current,
        begun=begun,
        believed=e.believed,
        running=running,
        replaced=e.replaced,
    )


def _successor_begins(held: ColumnElement[str]) -> ColumnElement[str]:
    """Since when the note holds that took a row's place, as was known then; empty if unknown."""
    other = entries.alias("successor")
    return func.coalesce(
        select(func.min(other.c.valid_from))
        .where(
            other.c.note_id == entries.c.superseded_by,
            other.c.scope_key.in_(bindparam("keys")),
            other.c.status.in_((Status.ACTIVE.value, Status.SUPERSEDED.value)),
            other.c.recorded_from <= held,
            or_(other.c.recorded_to == "", other.c.recorded_to > held),
        )
        .correlate(entries)
        .scalar_subquery(),
        "",
    )


def _reason(rules: _Rules, *, history: bool) -> ColumnElement[str]:
    """Why a row is kept back; empty if it is not."""
    e = rules.rows
    return case(
        (rules.seen, ""),
        (e.status == Status.PROPOSED.value, "proposed"),
        (e.status == Status.DISPUTED.value, "disputed"),
        (not_(rules.believed), ""),
        (rules.replaced, "" if history else "superseded"),
        (e.status != Status.ACTIVE.value, ""),
        (~rules.begun, "not_yet_valid"),
        (~rules.running, "" if history else "expired"),
        else_="",
    )


def _crosses(e: _Columns) -> ColumnElement[bool]:
    """Whether any instant of a row is after `since` and not after `now`."""
    since, now = bindparam("since", type_=String), bindparam("now", type_=String)
    return or_(*(and_(e[name] > since, e[name] <= now) for name in INSTANTS))
