"""The visible set as arrays, put together from rows, or from an earlier set and what changed since."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, compress, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row

__all__ = ["HIDDEN", "PAST", "REDIRECT", "ROW", "SEEN", "Rows", "Snapshot", "Visible", "assemble"]

HIDDEN, REDIRECT, PAST, SEEN = range(4)
"""How a version stands: not there, leading on only, shown as history, shown."""

Snapshot = tuple[int, tuple[tuple[str, int], ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visible:
    """Versions in order of entry id, with their passages; every array is read only.

    `seen` are the versions that a reply may show. The others only lead on: a query that matches
    one gets `successor`, the position of the version that took its place, or nothing at -1.
    """

    keys: tuple[str, ...]
    snapshot: Snapshot
    change: int
    """The last change of the index that it knows."""
    entry_ids: NDArray[np.int64]
    note_ids: tuple[str, ...]
    versions: NDArray[np.int64]
    seen: NDArray[np.bool_]
    past: NDArray[np.bool_]
    """Replaced or run out: shown as history only, below what took its place."""
    current: NDArray[np.bool_]
    """True at this moment and as memsvc knows it now."""
    successor: NDArray[np.int64]
    trust: NDArray[np.int64]
    updated: tuple[str, ...]
    chunk_ids: NDArray[np.int64]
    starts: NDArray[np.int64]
    """Position of each version's first passage; every version has at least one."""
    owner: NDArray[np.int64]
    """Position of the version that each passage belongs to."""
    by_note: Mapping[str, int]
    """Position of the version that stands for a note, where one is seen."""
    withheld: Mapping[str, int]

    def __len__(self) -> int:
        return len(self.entry_ids)

    def span(self, position: int) -> tuple[int, int]:
        """Where a version's passages begin and end in `chunk_ids`."""
        after = self.starts[position + 1] if position + 1 < len(self) else len(self.chunk_ids)
        return int(self.starts[position]), int(after)


@dataclass(frozen=True, slots=True)
class Rows:
    """The versions of a set as columns, in order of entry id."""

    entry_id: NDArray[np.int64]
    note_id: tuple[str, ...]
    version: NDArray[np.int64]
    trust_rank: NDArray[np.int64]
    updated: tuple[str, ...]
    superseded_by: tuple[str, ...]
    first_chunk: NDArray[np.int64]
    chunk_count: NDArray[np.int64]
    standing: NDArray[np.int64]
    current: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.entry_id)

    @classmethod
    def of(cls, rows: Sequence[Row[Any]]) -> "Rows":
        """Rows of a query whose first columns are these; those that are hidden are left out."""
        columns = tuple(zip(*rows, strict=True)) or ((),) * len(ROW)  # by column: rows are slow
        standing = np.array(columns[ROW.index("standing")], dtype=np.int64)
        kept = np.flatnonzero(standing != HIDDEN)
        every = len(kept) == len(rows)
        made: list[Any] = []
        for name, column in zip(ROW, columns, strict=False):
            if name in _TEXTS:
                made.append(column if every else tuple(map(column.__getitem__, kept.tolist())))
            else:
                made.append(np.array(column, dtype=np.int64)[kept])
        return cls(*made)

    def merged(self, without: Iterable[int], fresh: "Rows") -> "Rows":
        """Without some entries, with others."""
        gone = np.array(sorted(without), dtype=np.int64)
        stays = np.ones(len(self), dtype=np.bool_)
        at = np.searchsorted(self.entry_id, gone)
        at = at[at < len(self)]
        stays[at[np.isin(self.entry_id[at], gone)]] = False
        kept = np.flatnonzero(stays)
        ids = np.concatenate((self.entry_id[kept], fresh.entry_id))
        order = np.concatenate((kept, len(self) + np.arange(len(fresh))))
        if len(fresh) and len(kept) and fresh.entry_id[0] < self.entry_id[kept[-1]]:
            order = order[np.argsort(ids, kind="stable")]
        runs = _runs(order)
        columns: list[Any] = []
        for name in ROW:
            old, new = getattr(self, name), getattr(fresh, name)
            if name in _TEXTS:
                both = old + new
                pieces = [both[start:end] for start, end in runs]
                columns.append(pieces[0] if len(pieces) == 1 else tuple(chain(*pieces)))
            else:
                columns.append(np.concatenate((old, new))[order])
        return Rows(*columns)

    def extends(self, other: "Rows") -> bool:
        """Whether these are the other's rows, unchanged, and more after them."""
        size = len(other)
        return len(self) >= size and all(
            np.array_equal(getattr(self, name)[:size], getattr(other, name))
            for name in ("entry_id", "standing", "version", "first_chunk")
        )


ROW = tuple(one.name for one in fields(Rows))
"""The columns of a row, in order."""
_TEXTS = frozenset({"note_id", "updated", "superseded_by"})


def assemble(
    rows: Rows,
    *,
    keys: tuple[str, ...],
    snapshot: Snapshot,
    change: int,
    withheld: Mapping[str, int],
    base: tuple[Rows, Visible] | None = None,
) -> Visible:
    """The set of these rows; from an earlier one where they only add to it."""
    if base is not None and rows.extends(base[0]):
        size, before = len(base[0]), base[1]
        starts, owner, chunk_ids = _passages(rows, size, before)
        by_note = dict(before.by_note)
        for note, at in _by_note(rows, size).items():
            there = by_note.get(note)
            if there is None or rows.version[at] >= rows.version[there]:
                by_note[note] = at
    else:
        starts, owner, chunk_ids = _passages(rows, 0, None)
        by_note = _by_note(rows, 0)
    made = Visible(
        keys=keys,
        snapshot=snapshot,
        change=change,
        entry_ids=rows.entry_id,
        note_ids=rows.note_id,
        versions=rows.version,
        seen=rows.standing >= PAST,
        past=rows.standing == PAST,
        current=rows.current.astype(np.bool_),
        successor=_successors(rows, by_note),
        trust=rows.trust_rank,
        updated=rows.updated,
        chunk_ids=chunk_ids,
        starts=starts,
        owner=owner,
        by_note=by_note,
        withheld=withheld,
    )
    for one in fields(Visible):
        array = getattr(made, one.name)
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    return made


def _passages(
    rows: Rows, size: int, before: Visible | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Starts, owners and ids of the passages; those of the first `size` rows are there before."""
    sizes, first = rows.chunk_count[size:], rows.first_chunk[size:]
    starts = np.cumsum(sizes) - sizes
    owner = np.repeat(np.arange(len(sizes)), sizes)
    chunk_ids = np.arange(len(owner)) - starts[owner] + first[owner]
    if before is None:
        return starts, owner, chunk_ids
    return (
        np.concatenate((before.starts, starts + len(before.chunk_ids))),
        np.concatenate((before.owner, owner + size)),
        np.concatenate((before.chunk_ids, chunk_ids)),
    )


def _runs(order: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The stretches of positions that follow each other, as they come: first and after the last."""
    if not len(order):
        return []
    cuts = np.flatnonzero(np.diff(order) != 1) + 1
    starts = order[np.concatenate(([0], cuts))]
    ends = order[np.concatenate((cuts, [len(order)])) - 1] + 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _by_note(rows: Rows, size: int) -> dict[str, int]:
    """The seen version of each note from row `size` on; where several hold at once, the newest."""
    seen = rows.standing[size:] == SEEN
    positions = size + np.flatnonzero(seen)
    notes = compress(islice(rows.note_id, size, None), seen.tolist())
    found = dict(zip(notes, positions.tolist(), strict=True))
    if len(found) == len(positions):  # no note twice
        return found
    ordered = positions[np.argsort(rows.version[positions], kind="stable")].tolist()
    return {rows.note_id[position]: position for position in ordered}


def _successors(rows: Rows, by_note: Mapping[str, int]) -> NDArray[np.int64]:
    """For each version, the seen one that took its place, along any chain of notes; else -1."""
    found = np.full(len(rows), -1, dtype=np.int64)
    replaced = np.flatnonzero(rows.standing != SEEN).tolist()
    after = {rows.note_id[at]: rows.superseded_by[at] for at in replaced if rows.superseded_by[at]}
    for position in replaced:
        note, met = rows.note_id[position], set[str]()
        while note and note not in by_note and note not in met:
            met.add(note)
            note = after.get(note, "")
        found[position] = by_note.get(note, -1)
    return found
