"""Models on disk: which there are, fetching one, and putting one to use in a home."""

from pathlib import Path

from memsvc.embedding.catalogue import HUB, HubModel, Kind, hub_model
from memsvc.embedding.fetch import fetch, fetched_bytes
from memsvc.embedding.folder import read_folder
from memsvc.embedding.opening import FOLDER, NONE, PACKAGED, open_embedder, open_reranker
from memsvc.embedding.profile import MINILM
from memsvc.errors import InvalidInput, Misconfigured, ModelUnavailable
from memsvc.model.progress import Progress
from memsvc.model.replies import Json
from memsvc.service.home import Home
from memsvc.settings import Settings, write_setting

__all__ = ["fetch_model", "list_models", "model_finding", "use_model"]

_MIB = 2**20


def list_models(settings: Settings) -> list[dict[str, Json]]:
    """Every model that can be used by its name, and a local folder in use; reads no file."""
    used = (settings.embedder, settings.reranker)
    found: list[dict[str, Json]] = [
        {
            "name": PACKAGED,
            "kind": "embedder",
            "state": "comes with memsvc",
            "in_use": PACKAGED in used,
            "mib": None,
            "licence": "Apache-2.0",
            "about": f"English; {MINILM.name}",
        }
    ]
    found += [_line(model, settings) for model in HUB]
    found += [
        {
            "name": one,
            "kind": kind,
            "state": "local folder",
            "in_use": True,
            "mib": None,
            "licence": "",
            "about": "",
        }
        for kind, one in (("embedder", settings.embedder), ("reranker", settings.reranker))
        if one.startswith(FOLDER)
    ]
    return found


def fetch_model(
    settings: Settings, name: str, *, source: str = "", progress: Progress | None = None
) -> dict[str, Json]:
    """Have a model in the home, every file verified; see `memsvc.embedding.fetch`."""
    model = hub_model(name)
    home = Home(settings.home)
    home.make()
    new = fetch(model, home.models, source=source, progress=progress)
    return {
        "name": model.name,
        "outcome": "fetched" if new else "there already",
        "mib": round(model.size / _MIB, 1),
        "revision": model.profile.revision,
        "sha256": {file.name: file.sha256 for file in model.files},
    }


def use_model(settings: Settings, name: str, *, kind: str = "") -> dict[str, Json]:
    """Write into the home's settings that a model is used, after it was loaded once here.

    `name` is as in the settings; `kind` is needed only to turn one off with 'none'. Raises
    Misconfigured or ModelUnavailable, and changes nothing, if it cannot be used.
    """
    home = Home(settings.home)
    key = kind or _kind(name)
    if key not in ("embedder", "reranker"):
        raise InvalidInput("--as takes embedder or reranker", argument="as")
    if name.startswith(FOLDER):
        name = f"{FOLDER}{Path(name.removeprefix(FOLDER)).expanduser().absolute()}"
    elif name not in (NONE, PACKAGED):
        name = hub_model(name).name
    home.make()
    if name != NONE:
        _try(name, key, home.models)
    write_setting(home.root, key, name)
    return {"setting": key, "value": name}


def model_finding(settings: Settings) -> tuple[str, str]:
    """State (ok, warn) and detail on a local or fetched embedder that a home is set to."""
    name = settings.embedder
    if name.startswith(FOLDER):
        try:
            read_folder(Path(name.removeprefix(FOLDER)).expanduser())
        except Misconfigured as error:
            return "warn", f"search by meaning is off: {error.message}"
        return "ok", "a local model's folder is there"
    model = hub_model(name)
    if fetched_bytes(model, Home(settings.home).models) == model.size:
        return "ok", f"the model {model.name} is fetched"
    return "warn", f"search by meaning is off; run `memsvc model fetch {model.name}`"


def _line(model: HubModel, settings: Settings) -> dict[str, Json]:
    there = fetched_bytes(model, Home(settings.home).models)
    state = "not fetched"
    if there == model.size:
        state = "fetched"
    elif there:
        state = f"{there / _MIB:.0f} MiB of it fetched"
    return {
        "name": model.name,
        "kind": model.kind,
        "state": state,
        "in_use": model.name in (settings.embedder, settings.reranker),
        "mib": round(model.size / _MIB, 1),
        "licence": model.licence,
        "about": model.about,
    }


def _kind(name: str) -> Kind:
    if name in (PACKAGED, NONE):
        return "embedder"
    if name.startswith(FOLDER):
        return read_folder(Path(name.removeprefix(FOLDER)).expanduser()).kind
    return hub_model(name).kind


def _try(name: str, kind: str, models: Path) -> None:
    """Load it and have it read something: a model that fails is better noticed now."""
    try:
        if kind == "reranker":
            open_reranker(name, models).score("a", ["a", "b"])
        else:
            open_embedder(name, models).embed_passages(["a", "b"])
    except ImportError as error:
        raise ModelUnavailable(f"{error.name or 'a library'} cannot be imported") from error
    except OSError as error:
        raise Misconfigured(f"the model cannot be read: {error.strerror}") from error
