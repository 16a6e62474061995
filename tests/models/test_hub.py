"""Models on the hub, against a stand-in on this machine; nothing goes over the network."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import tiny
from conftest import Invoke
from gsina import GraphClassifier, load_model
from gsina.errors import DownloadError, InputError, MissingPackageError
from gsina.models.hub import push_model
from gsina.models.model import Model
from hub_server import TOKEN, HubServer, Repository

FILES = {".gitattributes", "README.md", "model.json", "model.safetensors"}


@pytest.fixture(scope="module")
def model() -> Model:
    few = {"hidden_channels": 8, "num_layers": 2, "epochs": 1, "batch_size": 16}
    return GraphClassifier(**few).fit(tiny.dataset(8)).model_


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[HubServer]:
    """The hub, with a user who may write into ``me``, and a cache of their own."""
    pytest.importorskip("huggingface_hub")
    from huggingface_hub import constants

    with HubServer() as server:
        point_to(monkeypatch, server.url)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        yield server


def point_to(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    """Let the hub be elsewhere; the library reads HF_ENDPOINT when it is imported."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", url)
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)


def closed_port() -> str:
    """An address where nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}"


def test_pushed_and_fetched_it_answers_the_same(hub: HubServer, model: Model) -> None:
    done = push_model(model, "me/motifs")
    repository = hub.repositories["me/motifs"]
    assert repository.private
    assert set(repository.files) == FILES
    assert done.sizes == {name: len(repository.files[name]) for name in FILES - {".gitattributes"}}
    card = repository.files["README.md"].decode()
    assert card.startswith("---\nlibrary_name: gsina\n")
    assert 'load_model("hf://me/motifs")' in card
    again = load_model("hf://me/motifs")
    graphs = tiny.dataset(4).train
    assert torch.equal(again.predict(graphs).logits, model.predict(graphs).logits)
    asked = {path for verb, path in hub.requests if "/resolve/" in path}
    assert {path.rsplit("/", 1)[1] for path in asked} == {"model.json", "model.safetensors"}


def test_an_earlier_revision(hub: HubServer, model: Model) -> None:
    push_model(model, "me/motifs")
    first = hub.repositories["me/motifs"].head
    hub.repositories["me/motifs"].commit({"model.json": b"{}"})
    with pytest.raises(InputError, match=r"holds no model of gsina: its model.json does not"):
        load_model("hf://me/motifs")
    assert load_model(f"hf://me/motifs@{first}").task == model.task
    with pytest.raises(DownloadError, match="hf://me/motifs@v9: there is no such branch"):
        load_model("hf://me/motifs@v9")


def test_fingerprints_of_training_molecules_stay_here(hub: HubServer, model: Model) -> None:
    assert model.reference is not None
    count = len(model.reference.train_states)
    bits = torch.zeros(count, 256, dtype=torch.uint8)
    near = torch.zeros(len(model.reference.states))
    known = replace(model.reference, train_bits=bits, bit_distances=near)
    push_model(replace(model, reference=known), "me/molecules")
    sent = hub.repositories["me/molecules"].files["model.safetensors"]
    assert b"train_states" in sent
    assert b"bits" not in sent
    assert b"bit_distances" not in sent
    found = load_model("hf://me/molecules").reference
    assert found is not None
    assert torch.equal(found.states, known.states)


def test_a_public_repository_is_not_taken_for_a_private_one(hub: HubServer, model: Model) -> None:
    push_model(model, "me/motifs", private=False)
    with pytest.raises(InputError, match="everybody can see it"):
        push_model(model, "me/motifs")
    push_model(model, "me/motifs", private=False)


def test_a_repository_that_holds_something_else(hub: HubServer, model: Model) -> None:
    hub.repositories["me/other"] = Repository(True, files={"pytorch_model.bin": b"..."})
    with pytest.raises(InputError, match="hf://me/other holds 2 files and no model of gsina"):
        push_model(model, "me/other")
    assert "model.json" not in hub.repositories["me/other"].files
    with pytest.raises(InputError, match=r"expected the files model.json and model.safetensors"):
        load_model("hf://me/other")
    push_model(model, "me/other", force=True)
    assert load_model("hf://me/other").task == model.task


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"model.json": b"[]", "model.safetensors": b""}, "its model.json does not describe one"),
        (
            {"model.json": b"\xff\xfe", "model.safetensors": b""},
            "its model.json does not describe one",
        ),
        ({"model.json": b'{"format": 2}'}, "expected the files model.json and model.safetensors"),
        ({"model.json": b'{"format": 999}', "model.safetensors": b""}, "written by a newer gsina"),
        ({"model.json": b'{"format": 2}', "model.safetensors": b"x"}, "model.json is damaged"),
    ],
)
def test_a_damaged_or_foreign_repository(
    hub: HubServer, files: dict[str, bytes], sentence: str
) -> None:
    hub.repositories["me/odd"] = Repository(files=files)
    with pytest.raises(InputError, match=sentence) as raised:
        load_model("hf://me/odd")
    assert "\n" not in str(raised.value)


def test_weights_that_were_exchanged(hub: HubServer, model: Model) -> None:
    push_model(model, "me/motifs")
    hub.repositories["me/motifs"].commit({"model.safetensors": b"something else"})
    with pytest.raises(InputError, match=r"is damaged or belongs to another model.json"):
        load_model("hf://me/motifs")


def test_a_description_of_any_size_is_refused(
    hub: HubServer, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_model(model, "me/motifs")
    monkeypatch.setattr("gsina.models.hub.LARGEST_META", 10)
    with pytest.raises(InputError, match=r"its model.json has [\d,]+ bytes"):
        load_model("hf://me/motifs")
    assert not [path for verb, path in hub.requests if verb == "GET" and "/resolve/" in path]


def test_no_such_name_no_permission_no_network(
    hub: HubServer, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DownloadError, match="there is no hf://me/nothing on the hub, or you may"):
        load_model("hf://me/nothing")
    with pytest.raises(DownloadError, match=r"does not permit this with hf://you/x \(status 403\)"):
        push_model(model, "you/x")
    push_model(model, "me/motifs")
    monkeypatch.setenv("HF_TOKEN", "hf_somebody_else")
    with pytest.raises(DownloadError, match="hf auth login"):
        push_model(model, "me/motifs")
    with pytest.raises(DownloadError, match="there is no hf://me/motifs on the hub, or you may"):
        load_model("hf://me/motifs")
    hub.broken = True
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_ETAG_TIMEOUT", 1)
    point_to(monkeypatch, closed_port())
    with pytest.raises(DownloadError, match=r"the hub cannot be reached for hf://me/motifs \("):
        push_model(model, "me/motifs")
    with pytest.raises(DownloadError, match=r"the hub cannot be reached for hf://me/fresh \("):
        load_model("hf://me/fresh")


def test_what_was_fetched_is_used_without_a_network(
    hub: HubServer, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_model(model, "me/motifs")
    load_model("hf://me/motifs")
    point_to(monkeypatch, closed_port())
    assert load_model("hf://me/motifs").task == model.task


def test_a_hub_that_is_ill(hub: HubServer, model: Model, caplog: pytest.LogCaptureFixture) -> None:
    push_model(model, "me/motifs")
    load_model("hf://me/motifs")
    hub.broken = True
    assert load_model("hf://me/motifs").task == model.task  # the copy of before
    with pytest.raises(DownloadError, match="hf://me/fresh"):
        load_model("hf://me/fresh")
    assert not [one for one in caplog.records if one.name.startswith("huggingface_hub")]


def test_the_command(
    hub: HubServer, model: Model, gsina: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gsina.models.folder import save_model

    save_model(tmp_path / "run" / "model", model)
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    done = gsina("push", "run", "me/motifs", "--public")
    assert done.exit_code == 0, done.output
    assert not hub.repositories["me/motifs"].private
    assert "sent: model.safetensors (" in done.output
    assert "predict hf://me/motifs new.csv" in done.output
    failed = gsina("push", "run", "you/motifs")
    assert failed.exit_code == 2
    assert "error: the hub does not permit this with hf://you/motifs" in failed.stderr
    after = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert before == after
    (tmp_path / "new.jsonl").write_text("{}")
    failed = gsina("predict", "hf://me/nothing", "new.jsonl")
    assert failed.exit_code == 2
    assert "there is no hf://me/nothing on the hub" in failed.stderr


@pytest.mark.parametrize("name", ["name", "a/b/c", "me/", "/x", "me/na me", "../..", "me/.x"])
def test_names_that_are_none(name: str, gsina: Invoke, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected user/name"):
        load_model(f"hf://{name}")
    (tmp_path / "run").mkdir()
    failed = gsina("push", "run", name)
    assert failed.exit_code == 2
    assert "expected user/name" in failed.stderr


def test_without_the_package(monkeypatch: pytest.MonkeyPatch, model: Model) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for use in (lambda: load_model("hf://me/x"), lambda: push_model(model, "me/x")):
        with pytest.raises(MissingPackageError, match=r'pip install "gsina\[hub\]"'):
            use()


def test_a_folder_is_no_name_of_the_hub(gsina: Invoke, tmp_path: Path) -> None:
    failed: Any = gsina("push", "nowhere", "me/x")
    assert failed.exit_code == 2
    assert "there is no folder nowhere" in failed.stderr
