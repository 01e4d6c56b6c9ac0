"""Vaults: registered once, with resolved paths, never one inside another."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from sqlalchemy import Connection

from memsvc.clock import stamp
from memsvc.errors import Denied, InvalidInput, NotFound, StorageFailed
from memsvc.index import writer as index
from memsvc.ledger import registry
from memsvc.ledger import writer as ledger
from memsvc.ledger.records import VaultRecord
from memsvc.model.events import NewEvent
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Json
from memsvc.model.vocabulary import SHARED, Action, Outcome, VaultName
from memsvc.notes.paths import contains, resolve_vault_path
from memsvc.notes.walk import walk
from memsvc.scope.names import check_project, check_vault
from memsvc.scope.vault_policy import VaultPolicy, changed_settings
from memsvc.service.gateway.operations import settle
from memsvc.service.gateway.parts import Parts
from memsvc.service.gateway.undo.erasing import SCRUB

__all__ = ["accept_loss", "add_vault", "remove_vault", "set_policy"]

LAYOUTS = ("auto", "folders", "mapped")


def add_vault(
    parts: Parts,
    caller: Caller,
    *,
    name: str,
    path: str,
    projects: Mapping[str, str],
    layout: str = "auto",
) -> VaultRecord:
    """Register a folder as a vault; its files are not touched.

    `projects` maps folders of the vault to projects. `layout` auto: a folder that already holds
    notes, or has a map, is `mapped` (unmapped notes are shared); an empty one is `folders` (the
    first folder names the project). Raises InvalidInput.
    """
    vault_name = check_vault(name)
    if layout not in LAYOUTS:
        raise InvalidInput(f"layout must be one of {', '.join(LAYOUTS)}", argument="layout")
    root = resolve_vault_path(path)
    if layout == "auto":
        layout = "mapped" if projects or walk(root).files else "folders"
    record = VaultRecord(
        name=vault_name,
        path=str(root),
        layout=layout,
        projects={_folder(folder): check_project(slug) for folder, slug in projects.items()},
        policy={},
        created_at=stamp(parts.clock.now()),
        offline_since="",
        offline_reason="",
    )
    with parts.database.write() as connection:
        _check_free(registry.vaults(connection), vault_name, root, parts.home.root)
        ledger.add_vault(connection, record)
        _tell(connection, parts, caller, vault_name, {"vault": "added", "layout": layout})
    return record


def _folder(folder: str) -> str:
    cleaned = folder.strip().strip("/")
    if not cleaned or cleaned.startswith(".") or ".." in cleaned.split("/") or "\\" in cleaned:
        raise InvalidInput(
            "map a folder inside the vault, for example 'Clients/Heron=heron'", argument="map"
        )
    return cleaned


def _check_free(present: list[VaultRecord], name: VaultName, root: Path, home: Path) -> None:
    if contains(root, home):
        raise InvalidInput(
            "that folder contains the memsvc home, whose database would be taken for notes; "
            "choose another folder",
            argument="path",
        )
    for one in present:
        if one.name == name:
            raise InvalidInput(
                f"there is a vault {name} already; choose another name", argument="name"
            )
        if contains(Path(one.path), root) or contains(root, Path(one.path)):
            raise InvalidInput(
                f"that folder and vault {one.name} lie inside one another; a note must belong to "
                "exactly one vault",
                argument="path",
            )


def remove_vault(parts: Parts, caller: Caller, *, name: str) -> None:
    """Take a vault out of the register and the index; its files, versions and events stay.

    Raises NotFound; StorageFailed while a purge in it cannot be finished, for nobody would after.
    """
    _finish_purges(parts, name)
    with parts.database.write() as connection:
        record = _named(connection, name)
        for note in registry.notes_of(connection, record.name):
            index.remove_note(connection, note.note_id)
        ledger.remove_vault(connection, record.name)
        _tell(connection, parts, caller, record.name, {"vault": "removed"})


def set_policy(parts: Parts, caller: Caller, *, name: str, pairs: Sequence[str]) -> dict[str, str]:
    """A vault's policy with these `key=value` pairs set, in one event; all its settings.

    For a person. Raises Denied, InvalidInput, NotFound.
    """
    if not caller.principal.is_person:
        raise Denied("a vault's policy is for the person who owns the home")
    with parts.database.write() as connection:
        record = _named(connection, name)
        before = VaultPolicy.of(record.policy).shown()
        settings = changed_settings(record.policy, pairs)
        after = VaultPolicy.of(settings).shown()
        changed = {key: value for key, value in after.items() if before[key] != value}
        if changed:
            ledger.update_vault(connection, record.name, policy=json.dumps(settings))
            _tell(
                connection,
                parts,
                caller,
                record.name,
                {
                    "policy": {**changed},
                    "before": {key: before[key] for key in changed},
                },
            )
    return after


def _named(connection: Connection, name: str) -> VaultRecord:
    record = registry.vault_named(connection, name)
    if record is None:
        raise NotFound("no vault of that name; `memsvc vault list` shows them")
    return record


def _tell(
    connection: Connection, parts: Parts, caller: Caller, vault: VaultName, detail: dict[str, Json]
) -> None:
    """The event of a change to a vault's registration."""
    ledger.add_event(
        connection,
        NewEvent(
            action=Action.CONFIG,
            outcome=Outcome.DONE,
            caller=caller,
            scope=Scope(vault, SHARED),
            detail=detail,
        ),
        at=parts.clock.now(),
    )


def _finish_purges(parts: Parts, name: str) -> None:
    """Do what a vault's purges still owe. Raises StorageFailed if that cannot be done now."""
    with parts.database.read() as connection:
        record = registry.vault_named(connection, name)
        owed = registry.operations(connection, VaultName(name))
    if record is None or all(one.kind != SCRUB for one in owed):
        return
    with parts.locked(record.name):
        settle(parts, record)
    with parts.database.read() as connection:
        if any(one.kind == SCRUB for one in registry.operations(connection, record.name)):
            raise StorageFailed(
                f"a purge in vault {name} is not finished: another process uses the database, or "
                "the vault's folder is not there; nothing was removed; mend that and repeat"
            )


def accept_loss(parts: Parts, caller: Caller, *, name: str, accept: bool) -> VaultRecord:
    """Let the next scan believe that missing notes are deleted, or stop believing it."""
    with parts.database.write() as connection:
        record = _named(connection, name)
        policy = {key: value for key, value in record.policy.items() if key != "accept_missing"}
        if accept:
            policy["accept_missing"] = "yes"
        ledger.update_vault(
            connection, record.name, policy=json.dumps(policy), offline_since="", offline_reason=""
        )
        _tell(connection, parts, caller, record.name, {"accept_missing": accept})
    return record
