"""The ledger's tables, as SQLAlchemy Core knows them; Alembic brings databases here.

Instants are `memsvc.clock.stamp` texts, which sort; the empty text is an open end. Hashes are
sha256 in hex. JSON columns hold no note text outside `note_version`.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    text,
)

__all__ = [
    "HEAD",
    "audit_event",
    "file_operation",
    "file_state",
    "idempotency",
    "ledger",
    "note",
    "note_name",
    "note_version",
    "recall_event",
    "review_item",
    "tombstone",
    "vault",
]

HEAD = "0001"
"""The newest migration; a test compares it with Alembic's."""

ledger = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _text(name: str, *, key: bool = False) -> Column[str]:
    return Column(name, String, primary_key=key, nullable=False, server_default=text("''"))


def _count(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text("0"))


audit_event = Table(
    "audit_event",
    ledger,
    Column("seq", Integer, primary_key=True, autoincrement=True),
    _text("at"),
    _text("action"),
    _text("outcome"),
    _text("vault"),
    _text("project"),
    _text("note_id"),
    _count("version"),
    _text("actor_kind"),
    _text("actor_name"),
    _text("on_behalf_of"),
    _text("client"),
    _text("session"),
    _text("request_id"),
    _text("reason"),
    _text("before_hash"),
    _text("after_hash"),
    Column("detail", Text, nullable=False, server_default=text("'{}'")),
    _text("prev_hash"),
    _text("hash"),
    CheckConstraint("outcome IN ('done', 'refused', 'failed')", name="outcome"),
    Index(None, "vault", "project", "seq"),
    Index(None, "note_id", "seq"),
    sqlite_autoincrement=True,
)

vault = Table(
    "vault",
    ledger,
    _text("name", key=True),
    _text("path"),
    _text("layout"),
    Column("projects", Text, nullable=False, server_default=text("'{}'")),
    Column("policy", Text, nullable=False, server_default=text("'{}'")),
    _text("created_at"),
    _text("offline_since"),
    _text("offline_reason"),
    CheckConstraint("layout IN ('folders', 'mapped')", name="layout"),
)

note = Table(
    "note",
    ledger,
    _text("note_id", key=True),
    _text("vault"),
    _text("project"),
    _text("path"),
    _text("path_key"),
    _text("status"),
    _count("version"),
    _text("superseded_by"),
    _text("withheld"),
    _text("trash_path"),
    _text("unresolved"),
    _count("corroborated"),
    _text("created_at"),
    _text("updated_at"),
    Index(None, "vault", "project", "status"),
    Index(
        "uq_note_vault_path",
        "vault",
        "path",
        unique=True,
        sqlite_where=text("status NOT IN ('retracted', 'rejected')"),
        postgresql_where=text("status NOT IN ('retracted', 'rejected')"),
    ),
    Index(None, "vault", "path_key"),
)

note_name = Table(
    "note_name",
    ledger,
    _text("note_id", key=True),
    _text("name", key=True),
    _text("vault"),
    Index(None, "vault", "name"),
)

note_version = Table(
    "note_version",
    ledger,
    _text("note_id", key=True),
    Column("version", Integer, primary_key=True, autoincrement=False),
    _text("vault"),
    _text("project"),
    _text("path"),
    _text("title"),
    _text("mode"),
    _text("status"),
    _text("trust"),
    _text("author"),
    _text("on_behalf_of"),
    _text("session"),
    _text("reason"),
    Column("source", Text, nullable=False, server_default=text("'[]'")),
    Column("content", Text, nullable=False, server_default=text("''")),
    _count("body_start"),
    _text("content_hash"),
    _text("text_key"),
    _text("valid_from"),
    _text("valid_to"),
    _text("valid_to_original"),
    _text("ended_at"),
    _text("recorded_from"),
    _text("recorded_to"),
    _text("end_mode"),
    _text("problem"),
    _count("event_seq"),
    Index(None, "vault", "project", "text_key"),
)

tombstone = Table(
    "tombstone",
    ledger,
    _text("tombstone_id", key=True),
    _text("vault"),
    _text("project"),
    _text("key_id"),
    _text("digest"),
    _text("claim_kind"),
    _text("note_id"),
    _count("version"),
    _text("at"),
    _text("actor"),
    _text("reason"),
    _count("event_seq"),
    _text("lifted_at"),
    _text("lifted_by"),
    _count("lifted_event"),
    Index(None, "vault", "project", "digest"),
)

review_item = Table(
    "review_item",
    ledger,
    _text("review_id", key=True),
    _text("vault"),
    _text("project"),
    _text("kind"),
    _text("note_id"),
    _count("version"),
    _text("at"),
    _text("state"),
    Column("detail", Text, nullable=False, server_default=text("'{}'")),
    _count("event_seq"),
    _text("closed_at"),
    Index(None, "vault", "project", "state"),
)

file_operation = Table(
    "file_operation",
    ledger,
    Column("operation_id", Integer, primary_key=True, autoincrement=True),
    _text("vault"),
    _text("kind"),
    _text("path"),
    _text("target"),
    _text("note_id"),
    _count("version"),
    _text("before_hash"),
    _text("after_hash"),
    _count("event_seq"),
    _text("at"),
    Index(None, "vault"),
    sqlite_autoincrement=True,
)

file_state = Table(
    "file_state",
    ledger,
    _text("vault", key=True),
    _text("path", key=True),
    _text("note_id"),
    Column("size", BigInteger, nullable=False),
    Column("mtime_ns", BigInteger, nullable=False),
    Column("ctime_ns", BigInteger, nullable=False),
    Column("inode", BigInteger, nullable=False),
    Column("seen_ns", BigInteger, nullable=False),
    _text("content_hash"),
    Index(None, "note_id"),
)

idempotency = Table(
    "idempotency",
    ledger,
    _text("vault", key=True),
    _text("project", key=True),
    _text("principal", key=True),
    _text("key", key=True),
    _text("request_hash"),
    Column("reply", Text, nullable=False),
    _text("at"),
)

recall_event = Table(
    "recall_event",
    ledger,
    Column("recall_id", Integer, primary_key=True, autoincrement=True),
    _text("at"),
    _text("vault"),
    _text("project"),
    _text("actor"),
    _text("session"),
    _text("query_hash"),
    Column("ids", Text, nullable=False, server_default=text("'[]'")),
    _count("took_us"),
)
