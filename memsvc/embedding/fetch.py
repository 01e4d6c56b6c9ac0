"""Brings a pinned model into the home: all of its files, each verified, or none.

Files gather in `<models>/<name>.part/` and the folder takes its name when the last is verified, so a
model that is there is whole. An interrupted fetch goes on where it stopped.
"""

import shutil
from pathlib import Path
from urllib.parse import urlsplit

from memsvc.embedding.catalogue import HubModel
from memsvc.embedding.download import PATIENT, Retries, download
from memsvc.embedding.profile import digest_of
from memsvc.errors import InvalidInput, ModelUnavailable, StorageFailed
from memsvc.model.progress import Progress

__all__ = ["HUB_ADDRESS", "fetch", "fetched", "fetched_bytes"]

HUB_ADDRESS = "https://huggingface.co"

_SPARE = 64 * 1024 * 1024
_LOCK_SECONDS = 5


def fetch(
    model: HubModel,
    models: Path,
    *,
    source: str = "",
    progress: Progress | None = None,
    retries: Retries = PATIENT,
) -> bool:
    """Have the model in `<models>/<name>/`; False if it was there and whole already.

    `source` is a mirror's address (laid out as the hub is), or a local folder with the model's
    files; empty is the hub. Raises InvalidInput, ModelUnavailable, StorageFailed.
    """
    from filelock import FileLock, Timeout  # only here

    base = _base(source)
    if fetched(model, models):
        return False
    try:
        models.mkdir(parents=True, exist_ok=True)
        with FileLock(models / f"{model.name}.lock", timeout=_LOCK_SECONDS):
            if not fetched(model, models):
                _gather(model, models, base, progress=progress, retries=retries)
    except Timeout as error:
        raise StorageFailed(f"another process is fetching {model.name}; wait for it") from error
    except OSError as error:
        raise StorageFailed(
            f"the model cannot be written to the home: {error.strerror or error}"
        ) from error
    return True


def fetched(model: HubModel, models: Path) -> bool:
    """Whether the model is there with every file as pinned. Reads all of it."""
    try:
        return all(
            digest_of(models / model.name / file.name) == file.sha256 for file in model.files
        )
    except OSError:
        return False


def fetched_bytes(model: HubModel, models: Path) -> int:
    """How many bytes of the model are there, whole or in part. Reads no file."""
    found = 0
    for file in model.files:
        for folder, name in (
            (model.name, file.name),
            (f"{model.name}.part", file.name),
            (f"{model.name}.part", f"{file.name}.part"),
        ):
            path = models / folder / name
            if path.is_file():
                found += path.stat().st_size
                break
    return found


def _base(source: str) -> str | Path:
    """The address that the hub's paths are added to, or a folder."""
    if not source:
        return HUB_ADDRESS
    parts = urlsplit(source)
    if parts.scheme in ("http", "https") and parts.netloc:
        return source.rstrip("/")
    if "://" in source:
        raise InvalidInput("--from takes an http(s) address or a folder", argument="from")
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise InvalidInput("--from names a folder that is not there", argument="from")
    return folder


def _gather(
    model: HubModel,
    models: Path,
    base: str | Path,
    *,
    progress: Progress | None,
    retries: Retries,
) -> None:
    gathering = models / f"{model.name}.part"
    gathering.mkdir(exist_ok=True)
    _require_room(model.size - fetched_bytes(model, models), models)
    before = 0
    for file in model.files:
        done = before

        def report(there: int, done: int = done, name: str = file.name) -> None:
            if progress is not None:
                progress(done + there, model.size, f"{model.name}: {name}")

        target = gathering / file.name
        if not (target.is_file() and digest_of(target) == file.sha256):
            if isinstance(base, Path):
                _copy(model, base, target, names=(file.source, file.name), sha256=file.sha256)
            else:
                address = f"{base}/{model.repository}/resolve/{model.profile.revision}"
                download(f"{address}/{file.source}", file, target, report=report, retries=retries)
        before += file.size
        report(file.size)
    place = models / model.name
    if place.exists():  # damaged: it was not what `fetched` wants
        shutil.rmtree(place)
    gathering.rename(place)


def _copy(
    model: HubModel, folder: Path, target: Path, *, names: tuple[str, str], sha256: str
) -> None:
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise ModelUnavailable(f"the folder holds no {' or '.join(names)} for {model.name}")
    shutil.copyfile(found, target)
    actual = digest_of(target)
    if actual != sha256:
        target.unlink()
        raise ModelUnavailable(
            f"{found.name} in the folder is not the file that is pinned: sha256 {actual}, "
            f"expected {sha256}; nothing was installed"
        )


def _require_room(needed: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < needed + _SPARE:
        raise StorageFailed(
            f"the model needs {needed // 2**20} MiB more and the home's disk has {free // 2**20} "
            "MiB left; make room, then fetch again"
        )
