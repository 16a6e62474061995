"""Where raw files come from: the data folder, or a download into it.

A download goes to ``<name>.part`` beside its target, is resumed where it stopped, checked, and only
then moved into place: a file in place is complete. ``GSINA_OFFLINE=1`` forbids the network.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import IO

from gsina.datasets.raw.known_files import KNOWN
from gsina.errors import DownloadError, InputError, MissingFileError
from gsina.files import data_dir, is_at, open_here, write_aside

try:
    import fcntl
except ImportError:  # Windows: two processes that download one file at once are not kept apart.
    fcntl = None  # type: ignore[assignment]

#: Called with the work done and in total (``None`` if unknown); bytes of a download.
OnProgress = Callable[[int, int | None], None]

TIMEOUT = 30.0
ATTEMPTS = 5
CHUNK = 1 << 18
#: What the system says when a folder cannot be written to, or a file stands in its place.
NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST)


@dataclass(frozen=True)
class RawFile:
    """One file of an official download.

    Attributes:
        path: Where it lies below the data folder, in the official layout: ``"tu/NCI1.zip"``.
        url: Where to download it, ``None`` if it has to be put there by hand.
        sha256: Checksums of the known good versions; empty if none is known.
        origin: Where a file without an address comes from, in words.
    """

    path: str
    url: str | None = None
    sha256: tuple[str, ...] = ()
    origin: str = ""

    @property
    def target(self) -> Path:
        """The place of the file on this machine, whether it exists or not."""
        return data_dir() / self.path


def at_hand(*files: RawFile) -> bool:
    """Whether all files are in the data folder."""
    return all(file.target.is_file() for file in files)


def offline() -> bool:
    """Whether ``GSINA_OFFLINE`` forbids downloads."""
    value = os.environ.get("GSINA_OFFLINE", "").strip().lower()
    return value not in ("", "0", "false", "no", "off")


def raw_file(file: RawFile, *, progress: OnProgress | None = None) -> Path:
    """The path of a raw file, downloaded if it is missing.

    Args:
        file: The file.
        progress: Called with the bytes done and the total (or ``None``) as they come in.

    Raises:
        MissingFileError: If the file is missing and cannot be downloaded; says where to put it.
        InputError: If a download has the wrong checksum.
    """
    target = file.target
    if target.is_file():
        return target
    if file.url is None:
        origin = f" ({file.origin})" if file.origin else ""
        raise MissingFileError(
            f"{file.path} is missing and has no address to download it from{origin}; put it at "
            f"{target}, or point GSINA_DATA to a folder that has it."
        )
    if offline():
        raise MissingFileError(
            f"{file.path} is missing and GSINA_OFFLINE is set; put it at {target}, or unset "
            f"GSINA_OFFLINE to download it from {file.url}."
        )
    try:
        with _locked_part(target) as part:
            if not target.is_file():  # Another process may have been quicker.
                _download(file, part, progress)
                _check_part(file, Path(part.name))
                part.flush()
                os.fsync(part.fileno())
                os.replace(part.name, target)
    except urllib.error.URLError as error:
        # Before OSError, of which it is a kind: the network is at fault here, not the disk.
        raise _not_downloaded(file, _reason(error)) from error
    except OSError as error:
        if error.errno not in NOT_WRITABLE:
            raise _not_downloaded(file, _reason(error)) from error
        raise MissingFileError(
            f"{file.path} is missing and the data folder {data_dir()} cannot be written to "
            f"({error.strerror}); download {file.url} to {target} yourself, or point GSINA_DATA "
            f"to a folder that can be written to."
        ) from error
    return target


#: Most bytes of a file that is taken out of an archive.
LARGEST_MEMBER = 1 << 34


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verify(path: Path, file: RawFile) -> None:
    """Check a file against its known checksums; nothing happens where none is known.

    Meant for the moment a dataset is prepared, not for every time it is loaded.

    Raises:
        InputError: If the file is none of the known good versions.
    """
    if file.sha256 and (found := sha256(path)) not in file.sha256:
        again = f" from {file.url}" if file.url else ""
        raise InputError(
            f"{path} is truncated or altered: its SHA-256 is {found}, expected "
            f"{' or '.join(file.sha256)}; delete it and fetch it again{again}."
        )


def checksum_notes(*files: RawFile) -> list[str]:
    """A note if files differ from the known versions: altered, or repacked."""
    others = [
        f"{file.target} with SHA-256 {found}, expected {KNOWN[file.path]}"
        for file in files
        if file.path in KNOWN
        and at_hand(file)
        and (found := sha256(file.target)) != KNOWN[file.path]
    ]
    if not others:
        return []
    return [f"Not the known version, so altered or repacked: {'; '.join(others)}."]


@contextlib.contextmanager
def names_checksum(*files: RawFile) -> Iterator[None]:
    """Add the expected checksums to an error about the content of files."""
    try:
        yield
    except MissingFileError:
        raise  # A missing file has no content.
    except ValueError as error:
        raise InputError(" ".join([str(error), *checksum_notes(*files)])) from error


def unpack(archive: Path, members: Mapping[str, Path]) -> None:
    """Take single files out of a zip archive, each written whole or not at all.

    Only the caller says where to write, so nothing in the archive can lead outside.

    Args:
        archive: The zip file.
        members: Target of each member; a member is named by the end of its path in the archive,
            so that ``mapping/mol.csv.gz`` finds ``hiv/mapping/mol.csv.gz``.

    Raises:
        InputError: If the file is not a complete zip archive or lacks a member.
        MissingFileError: If the folder cannot be written to; says what to do.
    """
    try:
        with zipfile.ZipFile(archive) as opened:
            names = opened.namelist()
            for member, target in members.items():
                found = [name for name in names if f"/{name}".endswith(f"/{member}")]
                if not found:
                    raise InputError(
                        f"{archive} has no {member}; delete it and fetch the official archive."
                    )
                # The shortest path is the official one; longer ones are copies further down.
                name = min(found, key=len)
                if opened.getinfo(name).file_size > LARGEST_MEMBER:
                    raise InputError(
                        f"{archive} has a {member} of more than {LARGEST_MEMBER >> 30} GiB; delete "
                        "it and fetch the official archive."
                    )
                with opened.open(name) as source, write_aside(target) as out:
                    shutil.copyfileobj(source, out)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise InputError(
            f"{archive} is not a complete zip archive ({error}); delete it and fetch it again."
        ) from error
    except OSError as error:
        folder = os.path.commonpath([target.parent for target in members.values()])
        raise MissingFileError(
            f"{archive} cannot be unpacked to {folder} ({error.strerror or error}); unpack it "
            f"there yourself, or point GSINA_DATA to a folder that can be written to."
        ) from error


@contextlib.contextmanager
def _locked_part(target: Path) -> Iterator[IO[bytes]]:
    """Open ``<target>.part`` for appending; one process at a time."""
    part = target.with_name(f"{target.name}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open(part, "ab", opener=open_here) as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            # While this process waited, the one before may have moved or deleted its file.
            if target.is_file() or is_at(file, part):
                try:
                    yield file
                finally:
                    # An empty part has nothing to resume from.
                    if is_at(file, part) and os.fstat(file.fileno()).st_size == 0:
                        part.unlink()
                return


def _download(file: RawFile, part: IO[bytes], progress: OnProgress | None) -> None:
    """Fill ``part``; resume after a broken connection as long as data come in."""
    for attempt in range(1, ATTEMPTS + 1):
        before = _size(part)
        try:
            return _fetch(file, part, progress)
        except urllib.error.HTTPError:
            raise  # The server has answered; asking again changes nothing.
        except OSError:
            if _size(part) <= before or attempt == ATTEMPTS:
                raise
    return None


def _fetch(file: RawFile, part: IO[bytes], progress: OnProgress | None) -> None:
    """Append the rest of the file to ``part`` in one request."""
    assert file.url is not None
    start = _size(part)
    request = urllib.request.Request(file.url, headers={"User-Agent": "gsina"})
    if start:
        request.add_header("Range", f"bytes={start}-")
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE or not start:
            raise
        error.close()
        if error.headers.get("Content-Range") == f"bytes */{start}":
            return None  # Nothing was missing.
        part.truncate(0)  # Left over from another version of the file.
        return _fetch(file, part, progress)
    with answer:
        if answer.status != HTTPStatus.PARTIAL_CONTENT:
            part.truncate(0)  # The server does not resume.
            start = 0
        length = answer.headers.get("Content-Length")
        total = start + int(length) if length is not None else None
        _copy(answer, part, start, total, progress)
    return None


def _copy(
    answer: IO[bytes], part: IO[bytes], done: int, total: int | None, progress: OnProgress | None
) -> None:
    """Append a server's answer to ``part``, which holds ``done`` bytes of ``total``."""
    if progress:
        progress(done, total)
    try:
        while chunk := answer.read(CHUNK):
            part.write(chunk)
            done += len(chunk)
            if progress:
                progress(done, total)
    except HTTPException as error:
        raise DownloadError(f"the transfer broke off: {error}") from error
    if total is not None and done != total:
        raise DownloadError(f"the transfer stopped at {done} of {total} bytes")


def _size(part: IO[bytes]) -> int:
    part.flush()
    return os.fstat(part.fileno()).st_size


def _check_part(file: RawFile, part: Path) -> None:
    """Like :func:`verify`, for a finished download, which is deleted if it is wrong."""
    if file.sha256 and (found := sha256(part)) not in file.sha256:
        part.unlink()
        raise InputError(
            f"the download of {file.path} from {file.url} has SHA-256 {found}, expected "
            f"{' or '.join(file.sha256)}; it was deleted: try again, or put the right file at "
            f"{file.target}."
        )


def _not_downloaded(file: RawFile, reason: str) -> MissingFileError:
    return MissingFileError(
        f"{file.path} is missing and could not be downloaded from {file.url} ({reason}); try "
        f"again (a broken transfer resumes where it stopped), or put it at {file.target}."
    )


def _reason(error: OSError) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    reason = getattr(error, "reason", None) or error.strerror or error
    return str(reason)
