"""How a home stands with its model: which passages it has read, and vectors of models before it."""

from sqlalchemy import Connection

from memsvc.database import Database
from memsvc.embedding.loader import LazyEmbedder
from memsvc.errors import Denied, InvalidInput, ModelUnavailable
from memsvc.index import models
from memsvc.index import writer as index
from memsvc.model.identity import Caller
from memsvc.model.replies import Json
from memsvc.scope.proof import ReadScope
from memsvc.service import access
from memsvc.service.gateway.gateway import Gateway

__all__ = ["ModelDesk", "vector_notice", "vector_state"]

_FEW = 64
"""So few passages get their vectors by the way, at the next recall or in the background."""


class ModelDesk:
    """The part of the service that is about the model in use."""

    _database: Database
    _embedder: LazyEmbedder
    _gateway: Gateway

    def ensure_ready(self) -> None:
        """Make the home usable; the service says how."""
        raise NotImplementedError

    def model_state(self, caller: Caller) -> dict[str, Json]:
        """The model in use, and how many passages of the scopes that the caller looks after it has
        read; nothing is loaded.
        """
        self.ensure_ready()
        with self._database.read() as connection:
            scope = access.oversight(connection, caller)
            return vector_state(scope, connection, self._embedder)

    def forget_other_models(self, caller: Caller) -> dict[str, Json]:
        """Drop the vectors of models not in use, once the one in use has read everything.

        Raises Denied, InvalidInput while it has not, ModelUnavailable if it cannot be told.
        """
        self.ensure_ready()
        if not caller.principal.is_person:
            with self._gateway.on_record(caller):
                raise Denied("dropping vectors is for the person who owns the home")
        model_id = self._embedder.model_id
        if not model_id:
            raise ModelUnavailable(
                "it is not known which vectors are of the model in use: "
                + (self._embedder.problem or "it was never loaded; run `memsvc model embed`")
            )
        with self._database.read() as connection:
            missing = index.count_without_vector(connection, model_id)
            found = models.others(connection, model_id)
        if missing and found:
            raise InvalidInput(
                f"{missing} passages have no vector of the model in use yet; run "
                "`memsvc model embed` first",
                missing=missing,
            )
        self._gateway.forget_other_models(model_id)
        return {"model_id": model_id, "removed": sum(found.values()), "models": [*sorted(found)]}


def vector_state(
    scope: ReadScope, connection: Connection, embedder: LazyEmbedder
) -> dict[str, Json]:
    """The model, and of these scopes: `passages`, `vectors` of this model, `without_vector`, and
    `other_vectors`, passages with a vector of another model.
    """
    model_id = embedder.model_id
    found = models.passages_read(scope, connection, model_id)
    return {
        "model": embedder.state.value,
        "model_id": model_id,
        "model_problem": embedder.problem,
        "passages": found["passages"],
        "vectors": found["vectors"],
        "without_vector": found["passages"] - found["vectors"],
        "other_vectors": found["others"],
    }


def vector_notice(state: dict[str, Json]) -> str:
    """What a person should do about the state, in one sentence; empty if nothing."""
    missing, others = int(str(state["without_vector"])), int(str(state["other_vectors"]))
    if state["model_id"] and (missing > _FEW or (missing and others)):
        return (
            f"{missing} of {state['passages']} passages have no vector of this model yet and are "
            "found by words only; run `memsvc model embed`"
        )
    if state["model_id"] and others:
        return (
            f"{others} passages have vectors of another model too; `memsvc model prune` drops them"
        )
    return ""
