"""The Python API from its start to its end: every method makes its home, and a start repeats nothing."""

import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from memsvc.bootstrap import open_service
from memsvc.errors import Denied, InvalidInput, NotFound, Uneditable
from memsvc.model.exchange import ExportRequest
from memsvc.model.requests import (
    AuditRequest,
    CorrectRequest,
    DecisionRequest,
    ForgetRequest,
    HistoryRequest,
    ReadRequest,
    RecallRequest,
    RestoreRequest,
    SaveRequest,
    TextHistoryRequest,
)
from memsvc.model.vocabulary import CorrectMode, Disposition
from memsvc.service.api import MemoryService
from memsvc.settings import Settings
from tests.invariants.doors import methods
from tests.service.world import World, agent, human

ID = "01KBA7ZD5QX4T9W2M3N8R6C0VE"
TEXT = "The staging host is called marsh."


def opened(home: Path) -> MemoryService:
    return open_service(Settings.model_validate({"home": home, "embedder": "none"}))


def exported(api: MemoryService) -> list[object]:
    with api.export(agent(), ExportRequest()) as export:
        return list(export.notes)


def with_context(method: str) -> Callable[[MemoryService], object]:
    def act(api: MemoryService) -> None:
        with getattr(api, method)(human()):
            pass

    return act


CALLS: dict[str, Callable[[MemoryService], object]] = {
    "save": lambda api: api.save(agent(), SaveRequest(title="Host", body=TEXT)),
    "correct": lambda api: api.correct(
        agent(), CorrectRequest(id=ID, version=1, mode=CorrectMode.AMEND, body=TEXT)
    ),
    "forget": lambda api: api.forget(agent(), ForgetRequest(id=ID)),
    "decide": lambda api: api.decide(
        human(), DecisionRequest(id=ID, disposition=Disposition.KEEP_NEW)
    ),
    "recall": lambda api: api.recall(agent(), RecallRequest(query="staging host")),
    "read": lambda api: api.read(agent(), ReadRequest(id=ID)),
    "history": lambda api: api.history(agent(), HistoryRequest()),
    "scopes": lambda api: api.scopes(agent()),
    "text_history": lambda api: api.text_history(agent(), TextHistoryRequest(id=ID)),
    "audit_list": lambda api: api.audit_list(human()),
    "audit_export": lambda api: list(api.audit_export(human(), AuditRequest())),
    "audit_verify": lambda api: api.audit_verify(),
    "audit_anchor": lambda api: api.audit_anchor(human()),
    "audit_forget_anchor": lambda api: api.audit_forget_anchor(human(), "nowhere"),
    "tombstones": lambda api: api.tombstones(human()),
    "reviews": lambda api: api.reviews(human()),
    "review_show": lambda api: api.review_show(human(), ID),
    "kinds": lambda api: api.kinds(human(), [ID]),
    "catalogue": lambda api: api.catalogue(human()),
    "stats": lambda api: api.stats(human()),
    "vault_list": lambda api: api.vault_list(),
    "vault_add": lambda api: api.vault_add(human(), "team", "/nowhere/at/all", {}),
    "vault_remove": lambda api: api.vault_remove(human(), "nowhere"),
    "vault_policy": lambda api: api.vault_policy(human(), "personal"),
    "vault_accept": lambda api: api.vault_accept(human(), "personal"),
    "model_state": lambda api: api.model_state(human()),
    "forget_other_models": lambda api: api.forget_other_models(agent()),
    "restore": lambda api: api.restore(human(), RestoreRequest(id=ID)),
    "lift": lambda api: api.lift(human(), ID, ""),
    "rotate_key": lambda api: api.rotate_key(human()),
    "begin_import": lambda api: api.begin_import(agent(), form="json"),
    "keep_apart": lambda api: api.keep_apart(Path("/nowhere"), argument="target"),
    "events_since": lambda api: api.events_since(human(), 0),
    "may_restore": lambda api: api.may_restore(agent()),
    "backing_up": with_context("backing_up"),
    "merging": with_context("merging"),
    "export": exported,
    "scan_all": lambda api: api.scan_all(agent()),
    "embed_all": lambda api: api.embed_all(),
    "reindex": lambda api: api.reindex(human()),
    "doctor": lambda api: api.doctor(human()),
}
OTHERS = {"ensure_ready", "close", "start_background", "settle_in", "selected", "decide_all"}
"""They begin or end the service, begin with a home of a backup, or ask the methods above."""
EXPECTED = (NotFound, InvalidInput, Denied, Uneditable)


def test_every_method_of_the_service_is_called_here() -> None:
    assert set(CALLS) | OTHERS == set(methods())


@pytest.mark.parametrize("name", CALLS)
def test_a_method_can_be_the_first_that_is_called_in_a_new_home(tmp_path: Path, name: str) -> None:
    api = opened(tmp_path / "home")
    try:
        with suppress(*EXPECTED):
            CALLS[name](api)
        saved = api.save(agent(), SaveRequest(title="Port", body="The port is 4711 on staging."))
        hits = api.recall(agent(), RecallRequest(query="port staging 4711")).hits
        assert saved.id in {hit.id for hit in hits}
    finally:
        api.close()


def state(world: World) -> tuple[Any, ...]:
    with world.service._database.read() as connection:
        index = connection.execute(text("SELECT * FROM index_state")).all()
    events = world.service.audit_list(human()).events
    return (len(events), index)


def test_a_start_of_a_home_that_is_ready_repeats_nothing(world: World) -> None:
    world.save("Host", TEXT)
    before = state(world)
    world.restart()
    assert state(world) == before
    world.service.ensure_ready()
    assert state(world) == before
    world.save("Port", "The port is 4711 on staging.")
    assert state(world) != before


def recalls(world: World) -> int:
    with world.service._database.read() as connection:
        return int(connection.execute(text("SELECT count(*) FROM recall_event")).scalar_one())


def test_what_was_asked_is_on_record_once_the_service_closes(world: World) -> None:
    world.save("Host", TEXT)
    world.ids("staging host")
    assert recalls(world) == 0
    world.restart()
    assert recalls(world) == 1


def test_a_service_that_serves_puts_what_was_asked_on_record_as_it_goes(world: World) -> None:
    world.save("Host", TEXT)
    world.service.start_background()
    world.ids("staging host")
    until = time.monotonic() + 30
    while recalls(world) == 0 and time.monotonic() < until:
        threading.Event().wait(0.05)
    assert recalls(world) == 1


def test_a_home_is_for_its_owner_only(world: World) -> None:
    world.save("Host", TEXT)
    home = world.root / "home"
    for folder in (home, home / "locks"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
