"""Model and tokenizer are found, named in the notice, and refused when they are not the right ones."""

from dataclasses import replace
from importlib.resources import files

import pytest

from memsvc.embedding.profile import MINILM, packaged_model, packaged_tokenizer
from memsvc.errors import Misconfigured


def test_the_model_and_the_tokenizer_are_there_and_named_in_the_notice() -> None:
    notice = files("memsvc.embedding").joinpath("data", "NOTICE").read_text("utf-8")
    assert packaged_model().name == "model.onnx"
    assert packaged_tokenizer().startswith("{")
    for word in (MINILM.sha256, MINILM.tokenizer_sha256, MINILM.package, "Version 2.0"):
        assert word in notice


def test_a_model_or_tokenizer_with_another_hash_is_refused() -> None:
    other = "0" * 64
    with pytest.raises(Misconfigured, match="not the one expected"):
        packaged_model(replace(MINILM, sha256=other))
    with pytest.raises(Misconfigured, match="was changed"):
        packaged_tokenizer(replace(MINILM, tokenizer_sha256=other))
    assert packaged_model(MINILM).is_file()


@pytest.mark.parametrize(
    "absent", [replace(MINILM, package="no-such-model"), replace(MINILM, file="no-such-file")]
)
def test_an_absent_model_is_refused_with_the_way_out(absent: object) -> None:
    assert isinstance(absent, type(MINILM))
    with pytest.raises(Misconfigured, match=r"pip install .* or set embedder = 'none'"):
        packaged_model(absent)
