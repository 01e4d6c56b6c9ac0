"""What is rejected: look-ups of tombstones that the gateway needs before a text may be written."""

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, select

from memsvc.database import in_batches
from memsvc.ledger import tables
from memsvc.ledger.records import TombstoneRecord
from memsvc.model.identity import Scope
from memsvc.model.vocabulary import Action, ProjectSlug, VaultName

__all__ = [
    "blocking",
    "has_tombstones",
    "recorded_keys",
    "scopes_with_tombstones",
    "standing",
    "standing_ids",
    "tombstone_keys",
    "tombstones_exist",
    "tombstones_of",
]


def has_tombstones(connection: Connection, scope: Scope) -> bool:
    """Whether anything was rejected in the scope and not lifted."""
    return connection.execute(_standing(scope).limit(1)).first() is not None


def tombstones_exist(connection: Connection) -> bool:
    """Whether the database holds any tombstone at all."""
    return connection.execute(select(tables.tombstone.c.tombstone_id).limit(1)).first() is not None


def tombstones_of(connection: Connection, note_id: str) -> list[TombstoneRecord]:
    """The standing tombstones of claims that a note made, oldest first."""
    table = tables.tombstone
    rows = connection.execute(
        select(table)
        .where(table.c.note_id == note_id, table.c.lifted_at == "")
        .order_by(table.c.at, table.c.tombstone_id)
    )
    return [_tombstone(row) for row in rows]


def tombstone_keys(connection: Connection) -> frozenset[str]:
    """The ids of the keys that standing tombstones were made with."""
    table = tables.tombstone
    rows = connection.execute(select(table.c.key_id).where(table.c.lifted_at == "").distinct())
    return frozenset(row.key_id for row in rows)


def recorded_keys(connection: Connection) -> frozenset[str]:
    """The ids of the tombstone keys that an event tells of; the first one of a home has none."""
    table = tables.audit_event
    rows = connection.execute(
        select(table.c.detail).where(
            table.c.action == Action.CONFIG.value, table.c.detail.contains('"tombstone_key"')
        )
    )
    found = (json.loads(row.detail).get("tombstone_key") for row in rows)
    return frozenset(one for one in found if isinstance(one, str))


def blocking(connection: Connection, scope: Scope, digests: Sequence[str]) -> list[TombstoneRecord]:
    """The standing tombstones of the scope among the digests, oldest first."""
    found: list[TombstoneRecord] = []
    for batch in in_batches(digests):
        rows = connection.execute(_standing(scope).where(tables.tombstone.c.digest.in_(batch)))
        found.extend(_tombstone(row) for row in rows)
    return sorted(found, key=lambda record: (record.at, record.tombstone_id))


def standing(connection: Connection, scope: Scope) -> list[TombstoneRecord]:
    """Every tombstone that blocks in the scope, oldest first."""
    rows = connection.execute(_standing(scope).order_by(tables.tombstone.c.tombstone_id))
    return [_tombstone(row) for row in rows]


def standing_ids(connection: Connection, scope: Scope) -> set[str]:
    """The ids of the tombstones that block in the scope."""
    found = _standing(scope).with_only_columns(tables.tombstone.c.tombstone_id)
    return set(connection.execute(found).scalars())


def scopes_with_tombstones(connection: Connection) -> list[Scope]:
    """Every scope in which something is rejected."""
    table = tables.tombstone
    rows = connection.execute(
        select(table.c.vault, table.c.project).where(table.c.lifted_at == "").distinct()
    )
    return [Scope(VaultName(row.vault), ProjectSlug(row.project)) for row in rows]


def _standing(scope: Scope) -> Select[Any]:
    table = tables.tombstone
    return select(table).where(
        table.c.vault == scope.vault, table.c.project == scope.project, table.c.lifted_at == ""
    )


def _tombstone(row: Row[Any]) -> TombstoneRecord:
    plain = dict(row._mapping)  # noqa: SLF001 - SQLAlchemy's public name
    del plain["lifted_event"]
    return TombstoneRecord(**plain)
