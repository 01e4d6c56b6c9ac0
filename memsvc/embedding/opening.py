"""From a setting to a model: `packaged`, `none`, the name of a fetched model, or `folder:/path`."""

from pathlib import Path

from memsvc.embedding.catalogue import HubModel, Kind, hub_model
from memsvc.embedding.choice import choose_model, known_choice
from memsvc.embedding.folder import ModelFolder, read_folder
from memsvc.embedding.packaged import OnnxEmbedder
from memsvc.embedding.profile import require_digest
from memsvc.embedding.protocol import Reranker
from memsvc.embedding.tokens import TokenReader
from memsvc.errors import Misconfigured

__all__ = ["FOLDER", "NONE", "PACKAGED", "identity", "open_embedder", "open_reranker"]

PACKAGED = "packaged"
NONE = "none"
FOLDER = "folder:"


def open_embedder(setting: str, models: Path, *, workers: int | None = None) -> OnnxEmbedder:
    """The embedder that a setting names, every file of it verified first; `models` is the home's
    folder of models. Takes up to some seconds.

    Raises Misconfigured, ImportError, OSError.
    """
    if setting == PACKAGED:
        chosen = choose_model(models)
        return OnnxEmbedder(chosen.path, model_id=chosen.model_id, workers=workers)
    found, model_id = _files(setting, models, kind="embedder")
    return OnnxEmbedder(
        found.model,
        model_id=model_id,
        profile=found.profile,
        reader=TokenReader(_text(found.tokenizer), found.profile),
        workers=workers,
    )


def open_reranker(setting: str, models: Path) -> Reranker:
    """The reranker that a setting names. Raises as `open_embedder`."""
    from memsvc.embedding.reranker import OnnxReranker  # few ask for one

    found, model_id = _files(setting, models, kind="reranker")
    return OnnxReranker(
        found.model, model_id=model_id, profile=found.profile, source=_text(found.tokenizer)
    )


def identity(setting: str, models: Path) -> str:
    """The id of the vectors that the setting's embedder makes, without loading it; "" if it cannot
    be told yet. Reads every byte of a `folder:` model.
    """
    if setting == NONE:
        return ""
    if setting == PACKAGED:
        return known_choice(models)
    if not setting.startswith(FOLDER):
        return hub_model(setting).model_id
    try:
        return _files(setting, models, kind="embedder")[1]
    except (Misconfigured, OSError):
        return ""


def _files(setting: str, models: Path, *, kind: Kind) -> tuple[ModelFolder, str]:
    if setting.startswith(FOLDER):
        found = read_folder(Path(setting.removeprefix(FOLDER)).expanduser())
        model_id = found.model_id
    else:
        model = hub_model(setting)
        found = _fetched(model, models)
        model_id = model.model_id
    if found.kind != kind:
        raise Misconfigured(
            f"the model is a {found.kind}, and the setting wants one that is a {kind}"
        )
    return found, model_id


def _fetched(model: HubModel, models: Path) -> ModelFolder:
    folder = models / model.name
    if not folder.is_dir():
        raise Misconfigured(
            f"the model {model.name} is not fetched; run `memsvc model fetch {model.name}`"
        )
    for file in model.files:
        require_digest(folder / file.name, file.sha256, what=f"{file.name} of {model.name}")
    names = [folder / file.name for file in model.files]
    return ModelFolder(names[0], names[1], model.kind, model.profile)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise Misconfigured("the model's tokenizer.json is not UTF-8 text") from error
