"""Fetching: whole and verified, or not at all; cut connections, wrong files and mirrors included."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memsvc.embedding.catalogue import HUB, HubFile, HubModel, hub_model
from memsvc.embedding.download import Retries
from memsvc.embedding.fetch import fetch, fetched, fetched_bytes
from memsvc.errors import InvalidInput, MemsvcError, Misconfigured, ModelUnavailable
from memsvc.settings import EMBEDDERS, RERANKERS
from tests.unit.embedding.hub import Hub, serving

MODEL = bytes(range(256)) * 4000
TOKENIZER = b'{"tokens": []}'
QUICK = Retries(most=2, pause=0.0, silence=10.0)


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def small_model() -> HubModel:
    return replace(
        HUB[0],
        repository="owner/small",
        files=(
            HubFile("onnx/model_quantized.onnx", "model.onnx", len(MODEL), sha(MODEL)),
            HubFile("tokenizer.json", "tokenizer.json", len(TOKENIZER), sha(TOKENIZER)),
        ),
    )


SMALL = small_model()
FOLDER = f"/owner/small/resolve/{SMALL.profile.revision}"
BIG_FILE = f"{FOLDER}/onnx/model_quantized.onnx"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with serving({BIG_FILE: MODEL, f"{FOLDER}/tokenizer.json": TOKENIZER}) as running:
        yield running


def get(hub: Hub, models: Path, model: HubModel = SMALL) -> bool:
    return fetch(model, models, source=hub.address, retries=QUICK)


def refused(hub: Hub, models: Path) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        get(hub, models)
    assert not (models / SMALL.name).exists()
    assert not fetched(SMALL, models)
    return caught.value.message


def test_a_fetched_model_is_whole_and_is_not_fetched_twice(hub: Hub, tmp_path: Path) -> None:
    seen: list[tuple[int, int, str]] = []
    assert fetch(
        SMALL,
        tmp_path,
        source=hub.address + "/",
        progress=lambda *step: seen.append(step),
        retries=QUICK,
    )
    assert fetched(SMALL, tmp_path)
    assert (tmp_path / SMALL.name / "model.onnx").read_bytes() == MODEL
    assert sorted(path.name for path in (tmp_path / SMALL.name).iterdir()) == [
        "model.onnx",
        "tokenizer.json",
    ]
    assert not (tmp_path / f"{SMALL.name}.part").exists()
    assert seen[-1][:2] == (SMALL.size, SMALL.size)
    assert [done for done, *_ in seen] == sorted(done for done, *_ in seen)
    assert fetched_bytes(SMALL, tmp_path) == SMALL.size
    asked = len(hub.asked)
    assert not get(hub, tmp_path)
    assert len(hub.asked) == asked == 2


def test_a_cut_connection_is_taken_up_where_it_broke_off(hub: Hub, tmp_path: Path) -> None:
    hub.cut_after = [300_000, 200_000]
    assert get(hub, tmp_path)
    assert hub.asked[:3] == [
        (BIG_FILE, ""),
        (BIG_FILE, "bytes=300000-"),
        (BIG_FILE, "bytes=500000-"),
    ]
    assert fetched(SMALL, tmp_path)


def test_a_fetch_that_ended_goes_on_with_what_is_there(hub: Hub, tmp_path: Path) -> None:
    hub.cut_after = [400_000, 0, 0, 0]
    assert "400000 of 1024000 bytes, which are kept" in refused(hub, tmp_path)
    assert fetched_bytes(SMALL, tmp_path) == 400_000
    hub.asked.clear()
    assert get(hub, tmp_path)
    assert hub.asked[0] == (BIG_FILE, "bytes=400000-")
    assert fetched(SMALL, tmp_path)


def test_a_server_that_knows_no_ranges_sends_the_file_again(hub: Hub, tmp_path: Path) -> None:
    hub.ranges = False
    hub.cut_after = [300_000]
    assert get(hub, tmp_path)
    assert fetched(SMALL, tmp_path)


@pytest.mark.parametrize("length", [100_000, len(MODEL), len(MODEL) + 5])
def test_a_beginning_of_another_file_does_not_spoil_the_fetch(
    hub: Hub, tmp_path: Path, length: int
) -> None:
    gathering = tmp_path / f"{SMALL.name}.part"
    gathering.mkdir()
    (gathering / "model.onnx.part").write_bytes(b"\xff" * length)
    assert get(hub, tmp_path)
    assert fetched(SMALL, tmp_path)


def test_a_file_with_another_hash_is_not_installed(hub: Hub, tmp_path: Path) -> None:
    hub.files[BIG_FILE] = MODEL[:-1] + b"\0"
    said = refused(hub, tmp_path)
    assert sha(hub.files[BIG_FILE]) in said
    assert sha(MODEL) in said
    assert not list(tmp_path.rglob("model.onnx*"))
    hub.files[BIG_FILE] = MODEL
    assert get(hub, tmp_path)


@pytest.mark.parametrize("content", [MODEL + b"more", MODEL[:-10], b""])
def test_a_file_of_another_size_is_not_installed(hub: Hub, tmp_path: Path, content: bytes) -> None:
    hub.files[BIG_FILE] = content
    assert f"offers {len(content)} bytes where {len(MODEL)} are expected" in refused(hub, tmp_path)


def test_a_server_that_says_no_length_cannot_fill_the_disk(hub: Hub, tmp_path: Path) -> None:
    hub.lengths = False
    hub.files[BIG_FILE] = MODEL * 3
    assert "longer than the 1024000 bytes pinned" in refused(hub, tmp_path)
    assert fetched_bytes(SMALL, tmp_path) <= len(MODEL)
    hub.files[BIG_FILE] = MODEL
    hub.cut_after = [10_000]
    assert get(hub, tmp_path)
    assert fetched(SMALL, tmp_path)


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_file_that_is_not_given_out_is_asked_for_once(
    hub: Hub, tmp_path: Path, status: int
) -> None:
    hub.status = [status]
    assert f"(HTTP {status}); name a mirror" in refused(hub, tmp_path)
    assert len(hub.asked) == 1


def test_a_busy_server_is_asked_again_and_not_for_ever(hub: Hub, tmp_path: Path) -> None:
    hub.status = [503, 429]
    assert get(hub, tmp_path)
    hub.status = [500] * 9
    assert "HTTP 500" in refused(hub, tmp_path / "other")
    assert hub.status == [500] * 6


def test_a_server_that_is_not_there_is_said_so(hub: Hub, tmp_path: Path) -> None:
    with serving({}) as gone:
        address = gone.address
    with pytest.raises(ModelUnavailable, match=r"cannot be reached .*--from"):
        fetch(SMALL, tmp_path, source=address, retries=QUICK)
    assert get(hub, tmp_path)


def test_a_redirect_is_followed_with_the_range(hub: Hub, tmp_path: Path) -> None:
    with serving(dict(hub.files)) as store:
        hub.redirect_to = store.address
        store.cut_after = [300_000]
        assert get(hub, tmp_path)
        assert store.asked[1] == (BIG_FILE, "bytes=300000-")


def test_a_damaged_model_is_fetched_again(hub: Hub, tmp_path: Path) -> None:
    assert get(hub, tmp_path)
    (tmp_path / SMALL.name / "tokenizer.json").write_bytes(b"{}")
    assert not fetched(SMALL, tmp_path)
    assert get(hub, tmp_path)
    assert fetched(SMALL, tmp_path)


@pytest.mark.parametrize("name", ["onnx/model_quantized.onnx", "model.onnx"])
def test_a_folder_serves_a_machine_without_a_network(tmp_path: Path, name: str) -> None:
    given = tmp_path / "given"
    (given / name).parent.mkdir(parents=True)
    (given / name).write_bytes(MODEL)
    models = tmp_path / "models"
    with pytest.raises(ModelUnavailable, match="holds no tokenizer"):
        fetch(SMALL, models, source=str(given))
    (given / "tokenizer.json").write_bytes(b"another")
    with pytest.raises(ModelUnavailable, match="not the file that is pinned"):
        fetch(SMALL, models, source=str(given))
    assert not fetched(SMALL, models)
    (given / "tokenizer.json").write_bytes(TOKENIZER)
    assert fetch(SMALL, models, source=str(given))
    assert fetched(SMALL, models)


@pytest.mark.parametrize("source", ["file:///etc", "ftp://example.org/x", "/no/such/folder"])
def test_an_address_of_another_kind_is_refused(tmp_path: Path, source: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        fetch(SMALL, tmp_path, source=source)
    assert caught.value.data["argument"] == "from"


def test_a_home_that_cannot_be_written_is_an_error_in_words(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "models").write_text("in the way")
    with pytest.raises(MemsvcError, match="cannot be written to the home"):
        get(hub, tmp_path / "models")


def test_every_model_of_the_list_is_pinned_and_the_settings_know_it() -> None:
    for model in HUB:
        assert re.fullmatch(r"[0-9a-f]{40}", model.profile.revision)
        assert [file.name for file in model.files] == ["model.onnx", "tokenizer.json"]
        for file in model.files:
            assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
            assert file.size > 0
        assert model.files[0].sha256 == model.profile.sha256
        assert model.files[1].sha256 == model.profile.tokenizer_sha256
    kinds = {"embedder": EMBEDDERS, "reranker": RERANKERS}
    for kind, names in kinds.items():
        assert [model.name for model in HUB if model.kind == kind] == list(names)
    assert len({model.model_id for model in HUB}) == len(HUB)
    assert hub_model("BGE-small-en-v1.5") is HUB[1]
    with pytest.raises(Misconfigured, match="multilingual-e5-small"):
        hub_model("gpt")
