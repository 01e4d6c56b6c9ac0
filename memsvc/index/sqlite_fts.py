"""Full text on SQLite: the FTS5 table, its triggers, and which passages hold a term.

Terms come from `memsvc.index.analyse`; the tokenizer only takes them apart again at the blanks. An
external-content table with triggers keeps deletes exact (SQLite before 3.43 has no other way).
Which rows match is all that is asked of FTS5: its own ranking counts words over every scope, so one
project's notes would change another's order.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from memsvc.model.identity import Scope

__all__ = ["create", "drop", "forget_deleted", "matching", "scope_key", "scope_token"]

_TABLE = """
CREATE VIRTUAL TABLE index_fts USING fts5(
    sc, title, names, terms, content='index_terms', content_rowid='chunk_id',
    detail=column, columnsize=0,
    tokenize="ascii tokenchars '!#$%&()*+,-./:;<=>?@[\\]^_`{|}~'"
)"""
_ADD = (
    "INSERT INTO index_fts(rowid, sc, title, names, terms) "
    "VALUES (new.chunk_id, new.sc, new.title, new.names, new.terms);"
)
_REMOVE = (
    "INSERT INTO index_fts(index_fts, rowid, sc, title, names, terms) "
    "VALUES ('delete', old.chunk_id, old.sc, old.title, old.names, old.terms);"
)
_CREATE = (
    _TABLE,
    f"CREATE TRIGGER index_terms_added AFTER INSERT ON index_terms BEGIN {_ADD} END",
    f"CREATE TRIGGER index_terms_removed AFTER DELETE ON index_terms BEGIN {_REMOVE} END",
    f"CREATE TRIGGER index_terms_changed AFTER UPDATE ON index_terms BEGIN {_REMOVE} {_ADD} END",
)
_ONE = (  # one text is far cheaper to fetch than a row for each id
    "SELECT group_concat(id, ' '), (SELECT max(chunk_id) FROM index_terms) FROM "
    "(SELECT rowid AS id FROM index_fts WHERE index_fts MATCH ? AND rowid > ? LIMIT ?)"
)


def create(connection: Connection) -> None:
    """Make the full-text table over `index_terms`, which is there and empty."""
    for statement in _CREATE:
        connection.exec_driver_sql(statement)


def drop(connection: Connection) -> None:
    """Remove the full-text table; its triggers go with `index_terms`."""
    connection.exec_driver_sql("DROP TABLE IF EXISTS index_fts")


def forget_deleted(connection: Connection) -> None:
    """Merge the whole full-text index into one piece: words of deleted passages stand in it until then."""
    connection.exec_driver_sql("INSERT INTO index_fts(index_fts) VALUES ('optimize')")


def scope_key(scope: Scope) -> str:
    """The key of a scope in the index: no two scopes share one, whatever their names hold."""
    name = f"{scope.vault}\x00{scope.project}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(name).hexdigest()[:32]


def scope_token(key: str) -> str:
    """What stands in the scope column of a passage."""
    return f"s{key}"


def matching(
    connection: Connection, keys: Sequence[str], term: str, *, most: int, after: int = 0
) -> tuple[NDArray[np.int64], int]:
    """Ids of passages in these scopes that hold the term and come after one, at most `most` (all
    when negative), ascending; and the last id that there is.
    """
    tokens = " OR ".join(f'"{scope_token(key)}"' for key in keys)
    match = f'sc : ({tokens}) AND {{title names terms}} : "{term}"'
    found, last = connection.exec_driver_sql(_ONE, (match, after, most)).one()
    ids = np.fromstring(str(found or ""), dtype=np.int64, sep=" ")
    ids.sort()
    return ids, int(last or 0)
