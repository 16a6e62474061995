"""Names of models on the Hugging Face hub; nothing here needs torch."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from gsina.errors import InputError, readable

#: ``hf://user/name@revision``; of a `Path` one slash is left.
_NAME = re.compile(r"hf:/{1,2}(?P<repo>[^@]*)(?:@(?P<revision>.*))?", re.DOTALL)
_REVISION = re.compile(r"\w[\w.-]*(?:/\w[\w.-]*)*", re.ASCII)
_REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*", re.ASCII)


class HubName(NamedTuple):
    """A model on the hub: ``user/name``, and a branch, tag or commit."""

    repo: str
    revision: str | None = None

    def __str__(self) -> str:
        return f"hf://{self.repo}" + (f"@{self.revision}" if self.revision else "")


def hub_name(given: Path | str) -> HubName | None:
    """The name on the hub that a user means; ``None`` for a folder.

    Raises:
        InputError: It begins as one does, and is none.
    """
    found = _NAME.fullmatch(str(given))
    if found is None:
        return None
    revision = found["revision"]
    if revision is not None and not _REVISION.fullmatch(revision):
        raise InputError(
            f"got the revision {readable(revision)!r} of a model on the hub, expected the name of "
            "a branch or tag, or a commit, such as hf://user/name@main."
        )
    return HubName(check_repository(found["repo"]), revision)


def check_repository(name: str) -> str:
    """Return ``name`` if a model could be called so.

    Raises:
        InputError: It could not.
    """
    if not _REPOSITORY.fullmatch(name):
        raise InputError(
            f"got the name {readable(name)!r} of a model on the hub, expected user/name, in "
            "letters, digits, dots, dashes and underscores."
        )
    return name
