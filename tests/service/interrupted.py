"""What happens between the record of a change and its files: a process dies, or a person acts."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from memsvc.model.requests import CorrectRequest
from memsvc.model.vocabulary import CorrectMode
from memsvc.service.gateway.correct import change_of, commit_rewrite, prepare_rewrite
from memsvc.service.gateway.operations import Staging
from memsvc.service.gateway.standing import current
from tests.service.world import World, agent

__all__ = ["cut_off", "once_recorded"]


@contextmanager
def once_recorded(act: Callable[[], object]) -> Iterator[None]:
    """Every change that is recorded in here is followed by `act`, before its files are written."""
    true = Staging.record

    def record(staging: Staging, *given: object, **more: object) -> None:
        true(staging, *given, **more)  # type: ignore[arg-type] # passed on
        act()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Staging, "record", record)
        yield


def cut_off(world: World, note_id: str, title: str, body: str) -> None:
    """Amend the note to `body`, as far as the database; its file still has the text before."""
    gateway = world.service._gateway
    parts, now = gateway._parts, gateway._parts.clock.now()
    now_is = current(parts, gateway.scanner, agent(), note_id)
    request = CorrectRequest(
        id=note_id, version=now_is.note.version, mode=CorrectMode.AMEND, body=body
    )
    change = change_of(request, now_is, body, title, "", now)
    staging = Staging(now_is.root, now_is.vault)
    ready = prepare_rewrite(parts, now_is, change, now, staging)
    with parts.database.write() as connection:
        seq, _ = commit_rewrite(connection, parts, ready)
        staging.record(connection, event_seq=seq, parts=parts)
    staging.discard()
