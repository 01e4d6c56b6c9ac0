"""An index that is behind the ledger, as one from a copy is: found by what it answers, and put right."""

from collections.abc import Iterable
from typing import NamedTuple

from sqlalchemy import Connection

from memsvc.index import writer as index
from memsvc.ledger import registry
from memsvc.model.vocabulary import Status, VaultName
from memsvc.service.gateway.indexing import HIDDEN_ENDS, index_again
from memsvc.service.gateway.parts import Parts

__all__ = ["Answer", "mend", "not_borne_out"]

_SHOWN = (Status.ACTIVE, Status.SUPERSEDED)


class Answer(NamedTuple):
    """A version that the index answered with, and whether it said that it holds."""

    note_id: str
    version: int
    current: bool = False


def not_borne_out(connection: Connection, answers: Iterable[Answer]) -> list[str]:
    """The notes of which the index says what the ledger does not: that they are there, or current."""
    answers = list(answers)
    known = registry.ends_of(connection, {one.note_id for one in answers})
    found = []
    for one in answers:
        status, end_mode, recorded_to = known.get((one.note_id, one.version), ("", "", ""))
        shown = status in _SHOWN and end_mode not in HIDDEN_ENDS
        if not shown or (one.current and recorded_to):
            found.append(one.note_id)
    return list(dict.fromkeys(found))


def mend(parts: Parts, vault: VaultName, note_ids: Iterable[str]) -> None:
    """Index these notes of a vault anew from the ledger, or take them out if they are gone."""
    with parts.locked(vault), parts.database.write() as connection:
        for note_id in note_ids:
            note = registry.find_note(connection, note_id)
            if note is not None and note.vault != vault:  # another lock guards it
                continue
            index.remove_note(connection, note_id)
            if note is not None and not note.gone:
                index_again(connection, note)
