"""Models on the Hugging Face hub: ``hf://user/name``, pushed and fetched as three plain files.

``model.safetensors``, ``model.json`` and the card are all that is sent and all that is looked at:
nothing of a repository is run, and nothing else of it is fetched.
"""

from __future__ import annotations

import contextlib
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from gsina.errors import DownloadError, InputError, MissingPackageError, Note, reason_of
from gsina.files import load_text, parse_json, save_text
from gsina.models.card import hub_card
from gsina.models.folder import CARD, META, WEIGHTS, save_model
from gsina.models.hub_name import HubName, check_repository, hub_name
from gsina.models.model import Model

#: Files that a repository has before anything is pushed.
ALWAYS = {".gitattributes", CARD}
#: Bytes that no description of a model reaches, and above which weights are announced.
LARGEST_META, LARGE_WEIGHTS = 2**25, 2**30


class Pushed(NamedTuple):
    """What was sent, by file in bytes, and the page of the model."""

    sizes: dict[str, int]
    url: str


def local_folder(given: Path | str) -> Path:
    """The folder of a model: as given, or, of a name on the hub, where its files were put.

    Raises:
        InputError: As :func:`fetch_model`.
    """
    name = hub_name(given)
    return Path(given) if name is None else fetch_model(name)


def fetch_model(name: HubName) -> Path:
    """Fetch a model into the cache of the hub's own library, and return its folder.

    What is there already is not fetched again, and is used if there is no network.

    Raises:
        MissingPackageError: ``huggingface-hub`` is not installed.
        DownloadError: It does not exist, may not be seen, or the hub cannot be reached.
        InputError: The repository holds no model of gsina.
    """
    hub = _hub()
    with _sentences(str(name)):
        _check_sizes(hub, name)
        meta = Path(hub.hf_hub_download(name.repo, META, revision=name.revision))
    try:
        known = parse_json(load_text(meta))
    except ValueError:
        known = None
    if not isinstance(known, dict) or not isinstance(known.get("format"), int):
        raise InputError(
            f"{name} holds no model of gsina: its {META} does not describe one; check the name."
        )
    commit = meta.parent.name  # of one and the same commit
    with _sentences(str(name)):
        hub.hf_hub_download(name.repo, WEIGHTS, revision=commit)
    return meta.parent


def _check_sizes(hub: Any, name: HubName) -> None:
    """Refuse a description that is none by its size, and announce large weights."""
    import huggingface_hub.errors as problems

    sizes = {}
    for file in (META, WEIGHTS):
        url = hub.hf_hub_url(name.repo, file, revision=name.revision)
        try:
            sizes[file] = hub.get_hf_file_metadata(url).size or 0
        except problems.HfHubHTTPError as error:
            if (getattr(error.response, "status_code", None) or 0) >= 500:
                return  # the hub is ill: an earlier copy is used, as without a network
            raise
        except Exception:
            return  # no network, whatever its library raises; the file is checked again when read
    if sizes[META] > LARGEST_META:
        raise InputError(
            f"{name} holds no model of gsina: its {META} has {sizes[META]:,} bytes; check the name."
        )
    if sizes[WEIGHTS] > LARGE_WEIGHTS:
        text = f"the weights of {name} have {sizes[WEIGHTS] / 2**30:.1f} GB."
        warnings.warn(Note(text), stacklevel=4)


def push_model(
    model: Model,
    repo: str,
    *,
    private: bool = True,
    revision: str | None = None,
    message: str = "",
    force: bool = False,
) -> Pushed:
    """Send a model to the hub: weights, description and card, in one commit.

    Fingerprints of training molecules, by which a model tells how far new ones are from them, are
    left out: they would say which molecules these were. What else it keeps of its data are numbers:
    classes, errors and states of rows (:class:`~gsina.models.uncertainty.reference.Reference`),
    means and spreads of features and targets, thresholds of trees. And names of columns and
    classes.

    Args:
        model: The model.
        repo: ``user/name``; made if it does not exist.
        private: Whether a new repository is to be seen by its owner only.
        revision: A branch that exists; by default the main one.
        message: What the commit says.
        force: Whether to push into a repository that holds something else.

    Raises:
        MissingPackageError: ``huggingface-hub`` is not installed.
        DownloadError: There is no permission, or the hub cannot be reached.
        InputError: The name is none, or the repository holds something else than a model of gsina.
    """
    check_repository(repo)
    hub, name = _hub(), HubName(repo, revision)
    if model.reference is not None:
        kept = replace(model.reference, train_bits=None, bit_distances=None)
        model = replace(model, reference=kept)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        save_model(folder, model)
        save_text(folder / CARD, hub_card(model, str(HubName(repo))))
        files = {file: folder / file for file in (WEIGHTS, META, CARD)}
        with _sentences(str(name)):
            api = hub.HfApi()
            url = str(api.create_repo(repo, private=private, exist_ok=True))
            there = api.model_info(repo, revision=revision)
            if private and there.private is False:
                raise InputError(
                    f"{name} is there and everybody can see it; choose another name, or push with "
                    "--public."
                )
            known = {one.rfilename for one in there.siblings}
            if known - ALWAYS and META not in known and not force:
                raise InputError(
                    f"{name} holds {len(known)} files and no model of gsina; choose another name, "
                    "or push beside them with --force."
                )
            api.create_commit(
                repo,
                [hub.CommitOperationAdd(file, str(path)) for file, path in files.items()],
                commit_message=message or f"Push {model.data.get('name') or 'a model'}",
                revision=revision,
            )
        return Pushed({file: path.stat().st_size for file, path in files.items()}, url)


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError:
        raise MissingPackageError(
            "models on the Hugging Face hub need the package huggingface-hub; install it with "
            'pip install "gsina[hub]".'
        ) from None
    return huggingface_hub


@contextlib.contextmanager
def _sentences(name: str) -> Iterator[None]:
    """Turn what the hub's library raises into one sentence, and keep its retries off the screen."""
    import huggingface_hub.errors as problems
    from huggingface_hub.utils import logging as log

    before = log.get_verbosity()  # sets its loggers up, which would undo a level set before
    log.set_verbosity_error()
    login = "log in with `hf auth login`, or set HF_TOKEN"
    try:
        yield
    except InputError:
        raise
    except problems.GatedRepoError as error:
        raise DownloadError(
            f"{name} is for those who asked its owner; do so on its page."
        ) from error
    except problems.RepositoryNotFoundError as error:
        raise DownloadError(
            f"there is no {name} on the hub, or you may not see it; check the name, or {login}."
        ) from error
    except problems.RevisionNotFoundError as error:
        raise DownloadError(f"{name}: there is no such branch, tag or commit; check it.") from error
    except problems.LocalEntryNotFoundError as error:
        raise DownloadError(_unreachable(name, error)) from error
    except problems.EntryNotFoundError as error:
        raise InputError(
            f"{name} holds no model of gsina: expected the files {META} and {WEIGHTS}; check the "
            "name."
        ) from error
    except problems.HfHubHTTPError as error:
        status = getattr(error.response, "status_code", None)
        if status in (401, 403):
            raise DownloadError(
                f"the hub does not permit this with {name} (status {status}); {login}, with a "
                "token that may write."
            ) from error
        raise DownloadError(
            f"the hub answered {name} with status {status}; try again later."
        ) from error
    except Exception as error:
        raise DownloadError(_unreachable(name, error)) from error
    finally:
        log.set_verbosity(before)


def _unreachable(name: str, error: Exception) -> str:
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return (
        f"the hub cannot be reached for {name} ({reason_of(cause)}); check the network, and try "
        "again."
    )
