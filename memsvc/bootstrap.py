"""Wires the concrete classes together; nothing else makes them."""

from memsvc.clock import Clock, SystemClock
from memsvc.database import Database
from memsvc.embedding.loader import LazyEmbedder
from memsvc.embedding.reranking import LazyReranker
from memsvc.errors import Misconfigured
from memsvc.ids import NewId, new_ulid
from memsvc.ledger import tombstones
from memsvc.ledger.keys import RingFile
from memsvc.ledger.migrate import revision_of
from memsvc.ledger.tables import HEAD
from memsvc.service.api import MemoryService
from memsvc.service.gateway.gateway import Gateway
from memsvc.service.gateway.parts import Parts
from memsvc.service.home import Home
from memsvc.service.recall import Recall
from memsvc.settings import DEFAULT_VAULT, Settings

__all__ = ["database_state", "open_service"]


def open_service(
    settings: Settings,
    *,
    clock: Clock | None = None,
    new_id: NewId | None = None,
    embedder: LazyEmbedder | None = None,
) -> MemoryService:
    """The service of a home; nothing is opened or made before its first call.

    Raises Misconfigured for settings that this version cannot serve.
    """
    if settings.database_url:
        raise Misconfigured(
            "database_url is set, but this version keeps its database in the home only; unset it"
        )
    home = Home(settings.home)
    database = Database(home.database)
    time = clock or SystemClock()
    model = embedder or LazyEmbedder.from_setting(settings.embedder, models=home.models)

    def needed_keys() -> frozenset[str]:
        with database.read() as connection:
            return tombstones.tombstone_keys(connection)

    parts = Parts(
        home=home,
        database=database,
        clock=time,
        new_id=new_id or new_ulid,
        keys=RingFile(home.keys, needed_keys),
        embedder=model.ready,
        reader=model.soon,
    )
    default = DEFAULT_VAULT if settings.vault in ("", DEFAULT_VAULT) else ""
    return MemoryService(
        home=home,
        database=database,
        clock=time,
        gateway=Gateway(parts),
        recall=Recall(
            database=database,
            embedder=model,
            clock=time,
            reranker=LazyReranker(settings.reranker, models=home.models),
        ),
        embedder=model,
        default_vault=default,
    )


def database_state(settings: Settings) -> dict[str, str]:
    """Where the home's database stands and where this version wants it; changes nothing."""
    home = Home(settings.home)
    if not home.database.exists():
        return {"revision": "", "head": HEAD, "state": "no database yet; `memsvc init` makes it"}
    database = Database(home.database)
    try:
        with database.read() as connection:
            revision = revision_of(connection)
    finally:
        database.close()
    state = "current" if revision == HEAD else "another schema; run `memsvc db upgrade`"
    return {"revision": revision, "head": HEAD, "state": state}
