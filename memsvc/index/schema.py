"""The tables of the index: derived, so they are dropped and rebuilt rather than migrated."""

import secrets

from sqlalchemy import (
    Column,
    Connection,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    UniqueConstraint,
    insert,
    select,
    update,
)

from memsvc.database import table_exists
from memsvc.index import sqlite_fts

__all__ = [
    "SCHEMA_VERSION",
    "chunks",
    "current",
    "dead_vectors",
    "details",
    "drop",
    "ensure",
    "entries",
    "epoch",
    "gone",
    "links",
    "metadata",
    "rejections",
    "scopes",
    "set_whole",
    "state",
    "terms",
    "vector_files",
    "vectors",
    "whole",
]

SCHEMA_VERSION = 5
"""Raise it when a table, the analyser or the cutting into passages changes."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _text(name: str) -> Column[str]:
    return Column(name, String, nullable=False, default="")


def _number(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, default=0)


state = Table(
    "index_state",
    metadata,
    Column("id", Integer, primary_key=True),
    _number("schema_version"),
    _number("epoch"),  # random: another index, so that no cache survives a rebuild
    _number("change"),  # counts the changes of entries
    _number("told_from"),  # of later changes `index_gone` still knows every one
)
scopes = Table(
    "index_scope",
    metadata,
    Column("scope_key", String, primary_key=True),
    _number("generation"),  # random at each change: a rolled back one is never met again
)
entries = Table(
    "index_entry",
    metadata,
    Column("entry_id", Integer, primary_key=True, autoincrement=True),
    _text("note_id"),
    _number("version"),
    _text("scope_key"),
    _text("vault"),
    _text("project"),
    _text("path"),
    _text("title"),
    _text("aliases"),
    _text("tags"),
    _text("kind"),
    _text("status"),
    _text("trust"),
    _number("trust_rank"),
    _text("valid_from"),
    _text("valid_to"),
    _text("valid_to_original"),
    _text("ended_at"),
    _text("recorded_from"),
    _text("recorded_to"),
    _text("end_mode"),
    _number("latest"),
    _text("superseded_by"),
    _text("created"),
    _text("updated"),
    _text("author"),
    _text("source"),
    _text("reason"),
    _text("content_hash"),
    _text("problem"),
    _number("first_chunk"),  # the chunk ids of an entry are consecutive
    _number("chunk_count"),
    _number("change"),  # the last one that this row went through
    UniqueConstraint("note_id", "version"),
    Index("ix_index_entry_scope", "scope_key", "change"),
    Index("ix_index_entry_superseded_by", "superseded_by"),
    sqlite_autoincrement=True,
)
chunks = Table(
    "index_chunk",
    metadata,
    Column("chunk_id", Integer, primary_key=True, autoincrement=True),
    _number("entry_id"),
    _number("ordinal"),
    _text("heading"),
    _text("lead"),
    _text("text"),
    Column("embed_hash", LargeBinary, nullable=False),
    Index("ix_index_chunk_entry_id", "entry_id"),
    sqlite_autoincrement=True,
)
terms = Table(
    "index_terms",
    metadata,
    Column("chunk_id", Integer, primary_key=True),
    _text("sc"),
    _text("title"),
    _text("names"),
    _text("terms"),
)
vector_files = Table(
    "index_vector_file",
    metadata,
    Column("file_id", Integer, primary_key=True, autoincrement=True),
    Column("model_id", String, nullable=False, unique=True),
    _number("dimension"),
    _number("generation"),  # random, part of the file's name
    _number("rows"),  # positions that were given out
    _number("dead"),  # of these, erased
    sqlite_autoincrement=True,
)
vectors = Table(
    "index_vector",
    metadata,
    Column("vector_id", Integer, primary_key=True, autoincrement=True),
    _number("chunk_id"),
    _number("file_id"),
    _number("position"),
    UniqueConstraint("chunk_id", "file_id"),
    Index("ix_index_vector_place", "file_id", "position"),
    sqlite_autoincrement=True,
)
details = Table(
    "index_detail",
    metadata,
    Column("detail_id", Integer, primary_key=True),
    _number("file_id"),
    _number("position"),
    Column("packed", LargeBinary, nullable=False),  # see memsvc.index.units
    UniqueConstraint("file_id", "position"),
)
dead_vectors = Table(
    "index_vector_dead",
    metadata,
    Column("file_id", Integer, primary_key=True),
    Column("position", Integer, primary_key=True),
    sqlite_with_rowid=False,
)
gone = Table(
    "index_gone",
    metadata,
    Column("change", Integer, primary_key=True),
    Column("entry_id", Integer, primary_key=True),
    _text("scope_key"),
    _text("note_id"),
    sqlite_with_rowid=False,
)
links = Table(
    "index_link",
    metadata,
    Column("entry_id", Integer, primary_key=True),
    Column("target", String, primary_key=True),
    Index("ix_index_link_target", "target"),
)
rejections = Table(
    "index_rejection",
    metadata,
    Column("tombstone_id", String, primary_key=True),
    Column("model_id", String, primary_key=True),
    _text("scope_key"),
    _text("note_id"),
    Column("vector", LargeBinary, nullable=False),  # half floats; empty: the text is not known
    Index("ix_index_rejection_scope_key", "scope_key"),
    Index("ix_index_rejection_note_id", "note_id"),
)


def current(connection: Connection) -> bool:
    """Whether the index is there and of this version, whole or not."""
    return abs(_version(connection)) == SCHEMA_VERSION


def whole(connection: Connection) -> bool:
    """Whether everything was put into it since it was made; else somebody is at it, or was cut off."""
    return _version(connection) == SCHEMA_VERSION


def epoch(connection: Connection) -> int:
    """Which making of the index it is."""
    return int(connection.execute(select(state.c.epoch)).scalar_one())


def set_whole(connection: Connection, *, made: int) -> None:
    """Note that everything is in it, if it is still the one of that epoch."""
    statement = update(state).where(state.c.epoch == made)
    connection.execute(statement.values(schema_version=SCHEMA_VERSION))


def _version(connection: Connection) -> int:
    """The version of the tables, below zero until they are filled; 0 without any."""
    if not table_exists(connection, state.name):
        return 0
    return int(connection.execute(select(state.c.schema_version)).scalar() or 0)


def ensure(connection: Connection) -> bool:
    """Make the index if it is missing or of another version; True when it is now empty."""
    if current(connection):
        return False
    drop(connection)
    metadata.create_all(connection)
    sqlite_fts.create(connection)
    made = secrets.randbits(62)
    connection.execute(insert(state).values(id=1, schema_version=-SCHEMA_VERSION, epoch=made))
    return True


def drop(connection: Connection) -> None:
    """Remove every table of the index, whatever version it is of."""
    sqlite_fts.drop(connection)
    metadata.drop_all(connection)
