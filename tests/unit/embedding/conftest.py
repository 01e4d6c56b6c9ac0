"""A folder of models, built once for all tests here, and embedders over both builds."""

from pathlib import Path

import pytest

from memsvc.embedding.choice import choose_model
from memsvc.embedding.packaged import OnnxEmbedder
from memsvc.embedding.profile import MINILM, packaged_model


@pytest.fixture(scope="session")
def built_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = tmp_path_factory.mktemp("models")
    choose_model(models)
    return models


@pytest.fixture(scope="session")
def rebuilt(built_models: Path) -> OnnxEmbedder:
    chosen = choose_model(built_models)
    return OnnxEmbedder(chosen.path, model_id=chosen.model_id, workers=2)


@pytest.fixture(scope="session")
def shipped() -> OnnxEmbedder:
    return OnnxEmbedder(packaged_model(), model_id=f"{MINILM.model_id}.shipped", workers=2)
