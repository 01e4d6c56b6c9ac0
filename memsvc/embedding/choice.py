"""Which build of the model a home uses: decided once, written down, the same for every process.

`<home>/models/<name>-<hash>-r<recipe>/model.json` is the decision. The first process that needs the
model runs `memsvc.embedding.rebuild` as a child (the build takes 300 MB for two seconds, which a
server should not keep); the child writes the fast build and the decision `rebuilt`. If the build
fails or disagrees with the packaged model on this machine, the decision is `shipped`: the packaged
file is used until onnx or onnxruntime change. If nothing can be decided (no space, the child was
stopped) there is no model for now, rather than one that differs from what another process uses.
The folder may be deleted at any time; it is made anew.
"""

import json
import os
import sys
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from memsvc.embedding.fused import RECIPE
from memsvc.embedding.profile import MINILM, PackagedProfile, digest_of, packaged_model
from memsvc.errors import Misconfigured
from memsvc.logs import logger

__all__ = [
    "BUILD_LOCK",
    "MODEL_FILE",
    "NO_STORAGE",
    "ChosenModel",
    "Decision",
    "choose_model",
    "decide",
    "decided",
    "known_choice",
    "model_folder",
    "write_atomically",
]

MODEL_FILE = "model.onnx"
BUILD_LOCK = "build.lock"
NO_STORAGE = 3

_RECORD = "model.json"
_SECONDS = 300
_STOPPED = (-15, -2, -1)
"""Exit by SIGTERM, SIGINT, SIGHUP: somebody stopped the build, which says nothing about it."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What the home decided: the build, the SHA-256 of the rebuilt file, and why."""

    build: Literal["rebuilt", "shipped"]
    sha256: str = ""
    reason: str = ""
    versions: str = ""


@dataclass(frozen=True, slots=True)
class ChosenModel:
    """A verified model file and the id of the vectors it makes."""

    path: Path
    model_id: str


def choose_model(models: Path, *, profile: PackagedProfile = MINILM) -> ChosenModel:
    """The build that a home uses, by its folder of models; decides first where need be.

    Deciding takes seconds. Raises Misconfigured if there is none.
    """
    folder = model_folder(models, profile=profile)
    decision = decided(folder) or _have_it_decided(folder, profile)
    rebuilt = decision.build == "rebuilt"
    path = folder / MODEL_FILE if rebuilt else packaged_model(profile)
    return ChosenModel(path, _model_id(profile, decision))


def known_choice(models: Path, *, profile: PackagedProfile = MINILM) -> str:
    """The id of the vectors that the home's build makes; "" before it is decided. Loads nothing."""
    decision = _recorded(model_folder(models, profile=profile))
    if decision is None:
        return ""
    return _model_id(profile, decision)


def model_folder(models: Path, *, profile: PackagedProfile = MINILM) -> Path:
    """Where the rebuilt model is kept; another recipe has another folder."""
    return models / f"{profile.name}-{profile.sha256[:12]}-r{RECIPE}"


def decided(folder: Path) -> Decision | None:
    """The decision in force; None if there is none, its file is damaged, or it is out of date."""
    decision = _recorded(folder)
    if decision is None or decision.build == "shipped":
        return decision if decision and decision.versions == _versions() else None
    try:
        return decision if digest_of(folder / MODEL_FILE) == decision.sha256 else None
    except OSError:
        return None


def decide(
    folder: Path, build: Literal["rebuilt", "shipped"], *, sha256: str = "", reason: str = ""
) -> None:
    """Write a decision down; the caller holds the build lock. Raises OSError."""
    decision = Decision(build, sha256, reason, _versions())
    write_atomically(folder / _RECORD, json.dumps(asdict(decision), indent=1).encode())


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file so that readers see the old or the new one. Raises OSError."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _model_id(profile: PackagedProfile, decision: Decision) -> str:
    build = f"rebuilt-{RECIPE}" if decision.build == "rebuilt" else "shipped"
    return f"{profile.model_id}.{build}"


def _recorded(folder: Path) -> Decision | None:
    try:
        return Decision(**json.loads((folder / _RECORD).read_bytes()))
    except (OSError, ValueError, TypeError):
        return None


def _versions() -> str:
    """What a failed build may depend on."""
    import importlib.metadata  # 30 ms, for a home without a rebuilt model only

    found = []
    for package in ("onnx", "onnxruntime"):
        try:
            found.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            found.append(f"no {package}")
    return ", ".join(found)


def _have_it_decided(folder: Path, profile: PackagedProfile) -> Decision:
    packaged_model(profile)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        code, reason = _run_rebuild(folder)
        if code not in (0, NO_STORAGE, *_STOPPED):
            _decide_for_shipped(folder, reason or f"the build ended with code {code}")
    except OSError as error:
        raise Misconfigured(
            f"the model for meaning search cannot be built in the home ({error.strerror}); "
            "make room there or repair its permissions, then start again"
        ) from error
    decision = decided(folder)
    if decision is None:
        raise Misconfigured(
            "the model for meaning search was not built: "
            + (reason or "the build was stopped or took too long")
            + "; the next start tries again"
        )
    return decision


def _run_rebuild(folder: Path) -> tuple[int, str]:
    """The child's exit code, and the last line it wrote. Raises OSError if it cannot be run."""
    import subprocess  # needed once in the life of a home

    command = [sys.executable, "-P", "-m", "memsvc.embedding.rebuild", str(folder)]
    try:
        done = subprocess.run(  # noqa: S603 - our own module, by absolute path
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            start_new_session=True,  # an interrupt of the server does not leave a half decision
        )
    except subprocess.TimeoutExpired:
        return _STOPPED[0], ""
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return done.returncode, lines[-1].strip() if lines else ""


def _decide_for_shipped(folder: Path, reason: str) -> None:
    from filelock import FileLock  # see _run_rebuild

    logger(__name__).warning("model_rebuild_failed", reason=reason)
    with FileLock(folder / BUILD_LOCK, timeout=_SECONDS):
        if decided(folder) is None:  # another process may have succeeded meanwhile
            decide(folder, "shipped", reason=reason)
