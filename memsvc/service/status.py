"""How things stand: scopes, statistics and findings."""

from pathlib import Path

from sqlalchemy import Connection

from memsvc.database import Database
from memsvc.embedding.loader import LazyEmbedder
from memsvc.errors import MemsvcError
from memsvc.index import reader as index
from memsvc.ledger import chain, reader, registry, tombstones
from memsvc.ledger.keys import KeyRing
from memsvc.ledger.migrate import revision_of
from memsvc.model.identity import Caller, Scope
from memsvc.model.replies import Json, ScopesReply
from memsvc.model.vocabulary import Role
from memsvc.scope.proof import ReadScope
from memsvc.scope.vault_policy import VaultPolicy
from memsvc.service import access
from memsvc.service.home import Home
from memsvc.service.model_desk import vector_notice, vector_state

__all__ = ["findings", "scopes_reply", "statistics"]

_HOW = "`memsvc audit anchor --help` tells more"


def scopes_reply(
    database: Database,
    home: Home,
    embedder: LazyEmbedder,
    caller: Caller,
    *,
    waiting: int,
    notices: list[str],
) -> ScopesReply:
    """Who the caller is and what it may do, with the state of its index."""
    with database.read() as connection:
        scope = access.reads(connection, caller)
        bound = Scope(caller.vault, caller.project)
        writable = access.writable(connection, caller)
        role = access.writes(connection, caller).role if bound in writable else Role.READER
        vault = access.vault_of(connection, caller)
        counts = index.counts(scope, connection)
        model = vector_state(scope, connection, embedder)
    advice = vector_notice(model)
    state = "offline" if vault.offline_since else "online"
    return ScopesReply(
        principal=str(caller.principal),
        on_behalf_of=caller.on_behalf_of,
        home=str(home.root),
        vault=vault.name,
        project=caller.project,
        vault_path=vault.path,
        reads=[str(one) for one in scope.scopes],
        writes=[str(one) for one in writable],
        role=role.value,
        policy=VaultPolicy.of(vault.policy).shown(),
        state=state,
        notes=counts["notes"],
        index={**counts, "waiting": waiting, **model},
        problems=[*notices, advice] if advice else notices,
    )


def statistics(
    scope: ReadScope, connection: Connection, home: Home, embedder: LazyEmbedder
) -> dict[str, Json]:
    """Counts over the scopes given, and bytes on disk."""
    files = [home.database, Path(f"{home.database}-wal")]
    return {
        "scopes": [str(one) for one in scope.scopes],
        **index.counts(scope, connection),
        **vector_state(scope, connection, embedder),
        "events": reader.count_events(scope, connection),
        "tombstones": len(reader.tombstones(scope, connection)),
        "reviews": len(reader.reviews(scope, connection)),
        "database_bytes": sum(file.stat().st_size for file in files if file.exists()),
        "schema": revision_of(connection),
    }


def findings(
    database: Database,
    home: Home,
    embedder: LazyEmbedder,
    caller: Caller,
    problems: list[str],
) -> list[dict[str, Json]]:
    """What a person should know: chain, keys, vaults, files that could not be read."""
    found: list[dict[str, Json]] = []

    def add(check: str, state: str, detail: str) -> None:
        found.append({"check": check, "state": state, "detail": detail})

    with database.read() as connection:
        verdict = chain.verify(connection)
        vaults = registry.vaults(connection)
        owed = sum(len(registry.operations(connection, vault.name)) for vault in vaults)
        scope = access.oversight(connection, caller)
        waiting = len(reader.reviews(scope, connection))
        broken = index.problems(scope, connection, limit=50)
        keyed = tombstones.tombstones_exist(connection)
        advice = vector_notice(vector_state(scope, connection, embedder))
        anchored = _anchors(connection, home, verdict)
        ring = _ring(connection, home)
    add(
        "audit chain",
        "ok" if verdict.ok else "fail",
        f"{verdict.events} events" if verdict.ok else "; ".join(verdict.problems),
    )
    add("audit anchors", *anchored)
    if keyed and not home.keys.exists():
        add("tombstone keys", "fail", f"{home.keys.name} is missing from the home")
    elif ring:
        add("tombstone keys", *ring)
    add("file changes owed", "warn" if owed else "ok", str(owed))
    add("review", "warn" if waiting else "ok", f"{waiting} items wait for a person")
    for vault in vaults:
        state = "fail" if vault.offline_since else "ok"
        add(f"vault {vault.name}", state, vault.offline_reason or vault.path)
    if advice:
        add("vectors", "warn", advice)
    for problem in problems:
        add("vault", "fail", problem)
    for path, why in broken:
        add("file", "warn", f"{path}: {why}")
    return found


def _anchors(connection: Connection, home: Home, verdict: chain.Verdict) -> tuple[str, str]:
    from memsvc.service.anchoring import check_anchors  # reads files and git: only when asked

    try:
        checked = check_anchors(connection, home, verdict)
    except MemsvcError as error:
        return "fail", error.message
    problems = [problem for one in checked for problem in one.problems]
    if problems:
        return "fail", "; ".join(problems)
    newest = max((one.newest.seq for one in checked if one.newest), default=0)
    if not newest:
        return "warn", "none: a cut end or an older database would go unnoticed; " + _HOW
    return "ok", f"newest at event {newest} of {verdict.events}, in {len(checked)} places"


def _ring(connection: Connection, home: Home) -> tuple[str, str] | None:
    """What is wrong with the tombstone keys, if anything."""
    if not home.keys.exists():
        return None
    try:
        ids = KeyRing.open(home.keys, create=False).ids
    except MemsvcError as error:
        return "fail", error.message
    missing = sorted(tombstones.tombstone_keys(connection).difference(ids))
    if missing:
        lost = ", ".join(missing)
        return "fail", f"{home.keys.name} lacks the keys {lost} that rejections depend on"
    if len(ids) > 1 and ids[-1] not in tombstones.recorded_keys(connection):
        return "warn", "a rotation was cut off; `memsvc tombstone rotate-key` completes it"
    return "ok", f"{len(ids)} keys"
