"""The models that can be fetched: where their files are, at which revision, with which hash.

Every file is named by the revision of its repository, its size and its SHA-256, so nobody who can
change the repository or the way to it can change the model. All are 8-bit builds: on a processor
they are faster than the full ones, and smaller to fetch.
"""

from dataclasses import dataclass
from typing import Literal

from memsvc.embedding.profile import ModelProfile
from memsvc.errors import Misconfigured

__all__ = ["HUB", "HubFile", "HubModel", "Kind", "hub_model"]

Kind = Literal["embedder", "reranker"]


@dataclass(frozen=True, slots=True)
class HubFile:
    """One file of a model: its path in the repository, its name here, its size in bytes, its hash."""

    source: str
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HubModel:
    """A model that `memsvc model fetch` knows."""

    kind: Kind
    repository: str
    licence: str
    about: str
    files: tuple[HubFile, ...]
    profile: ModelProfile

    @property
    def name(self) -> str:
        return self.profile.name

    @property
    def model_id(self) -> str:
        """Stored with every vector; differs when a pin or the way of use differs."""
        return f"{self.name}@{self.profile.revision[:12]}+{self.profile.fingerprint[:12]}"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def _model(
    profile: ModelProfile, sizes: tuple[int, int], *, kind: Kind, licence: str, about: str
) -> HubModel:
    return HubModel(
        kind=kind,
        repository=f"Xenova/{profile.name}",
        licence=licence,
        about=about,
        files=(
            HubFile("onnx/model_quantized.onnx", "model.onnx", sizes[0], profile.sha256),
            HubFile("tokenizer.json", "tokenizer.json", sizes[1], profile.tokenizer_sha256),
        ),
        profile=profile,
    )


HUB = (
    _model(
        ModelProfile(
            name="multilingual-e5-small",
            revision="761b726dd34fb83930e26aab4e9ac3899aa1fa78",
            sha256="f80102d3f2a1229f387d3c81909990d8945513e347b0eab049f7de3c6f98c193",
            tokenizer_sha256="0b44a9d7b51c3c62626640cda0e2c2f70fdacdc25bbbd68038369d14ebdf4c39",
            dimension=384,
            window=512,
            query_prefix="query: ",
            passage_prefix="passage: ",
        ),
        (118_308_185, 17_082_730),
        kind="embedder",
        licence="MIT",
        about="about a hundred languages",
    ),
    _model(
        ModelProfile(
            name="bge-small-en-v1.5",
            revision="ea104dacec62c0de699686887e3f920caeb4f3e3",
            sha256="6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
            tokenizer_sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            dimension=384,
            window=512,
            pooling="cls",
            query_prefix="Represent this sentence for searching relevant passages: ",
        ),
        (34_014_426, 711_396),
        kind="embedder",
        licence="MIT",
        about="English",
    ),
    _model(
        ModelProfile(
            name="ms-marco-MiniLM-L-6-v2",
            revision="a09144355adeed5f58c8ed011d209bf8ee5a1fec",
            sha256="e9d8ebf845c413e981c175bfe49a3bfa9b3dcce2a3ba54875ee5df5a58639fbe",
            tokenizer_sha256="d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            dimension=1,
            window=512,
        ),
        (23_143_499, 711_396),
        kind="reranker",
        licence="Apache-2.0",
        about="English; reads question and passage together",
    ),
)


def hub_model(name: str) -> HubModel:
    """The model of that name. Raises Misconfigured, with the names there are."""
    for model in HUB:
        if model.name.lower() == name.lower():
            return model
    raise Misconfigured(
        f"no model is called '{name}'; there are {', '.join(model.name for model in HUB)}",
        model=name,
    )
