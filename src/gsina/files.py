"""Where files live, and writing them so that a crash loses nothing."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import math
import os
import secrets
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gsina.errors import InputError, Note

if TYPE_CHECKING:
    import torch
    from torch import Tensor


#: Under which name a safetensors file holds the digest of its content.
DIGEST = "sha256"
#: Bytes of the largest description of a run or a model that is read.
LARGEST_TEXT = 1 << 28


def _home(variable: str, folder: str) -> Path:
    if value := os.environ.get(variable):
        return Path(value).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "gsina" / folder


def data_dir() -> Path:
    """Folder of raw downloads: ``GSINA_DATA``, or a folder in the user's cache directory."""
    return _home("GSINA_DATA", "data")


def cache_dir() -> Path:
    """Folder of prepared data: ``GSINA_CACHE``, or a folder in the user's cache directory."""
    return _home("GSINA_CACHE", "cache")


@contextlib.contextmanager
def write_aside(path: Path) -> Iterator[IO[bytes]]:
    """Open a file beside ``path`` and move it there when all is written and on disk.

    If the block raises, or the process dies, ``path`` is as it was before. What a process that
    died has left beside it is removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent, path.name)
    handle, name = _new_file(path)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "posix":  # while it is locked, so that nobody takes it for a leftover
                os.replace(name, path)
        if os.name != "posix":  # where an open file cannot be moved
            os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    with contextlib.suppress(OSError):  # Some file systems cannot sync a folder.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _new_file(path: Path) -> tuple[int, Path]:
    """A new file beside ``path``, locked for as long as it is open."""
    while True:
        name = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)  # the umask applies
        with contextlib.suppress(ImportError, OSError):  # some file systems have no locks
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return handle, name
        os.close(handle)  # taken for a leftover, in the moment before it was locked


def remove_leftovers(folder: Path, name: str = "*") -> None:
    """Remove what processes that were killed while writing have left in a folder.

    A file that a living process writes is locked, and stays; so does any other file.

    Args:
        folder: The folder; those inside are not looked at.
        name: The file that was to be written, by default any.
    """
    try:
        import fcntl
    except ImportError:
        return  # one cannot know whose they are
    pattern = f".{name if name == '*' else glob.escape(name)}.{'[0-9a-f]' * 16}"
    for path in folder.glob(pattern):
        with contextlib.suppress(OSError, InputError):
            handle = open_here(str(path), os.O_WRONLY)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(handle)


def to_json(value: Any, indent: int | None = None) -> str:
    """``value`` as JSON; NaN and infinities, which JSON does not have, become ``null``."""
    return json.dumps(_without_nan(value), indent=indent, ensure_ascii=False, allow_nan=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(part) for part in value]
    return value


def parse_json(text: str | bytes) -> Any:
    """What a text of JSON says; brackets in brackets without end are an error as others are.

    Raises:
        ValueError: It is not JSON.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None


def load_text(path: Path, encoding: str = "utf-8") -> str:
    """Read a description (JSON or TOML) in a folder that may come from anywhere.

    Raises:
        OSError: There is none.
        InputError: It is a pipe or a device, whose reading may never end, or too large.
        UnicodeDecodeError: It is no text.
    """
    refuse_special(path)
    with path.open("rb") as file:
        content = file.read(LARGEST_TEXT + 1)
    if len(content) > LARGEST_TEXT:
        raise InputError(
            f"{path} has more than {LARGEST_TEXT:,} bytes, and no description of a run or a model "
            "is as long; copy or make it again."
        )
    return content.decode(encoding)


def save_text(path: Path, text: str) -> None:
    """Write ``text`` as UTF-8, atomically."""
    with write_aside(path) as file:
        file.write(text.encode())


def save_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON, atomically; NaN becomes ``null``."""
    save_text(path, to_json(value, indent=2) + "\n")


def save_tensors(
    path: Path, tensors: dict[str, Tensor], meta: dict[str, Any] | None = None
) -> None:
    """Write tensors and a JSON-able ``meta`` as one safetensors file, atomically."""
    from safetensors.torch import save

    # Tensors that share memory are copied: safetensors refuses shared storage.
    copies = {name: value.detach().contiguous().clone() for name, value in tensors.items()}
    about = {"gsina": json.dumps(meta or {})}
    with write_aside(path) as file:
        file.write(save(copies, metadata=about | {DIGEST: _digest(copies, about["gsina"])}))


def _digest(tensors: dict[str, Tensor], meta: str) -> str:
    """SHA-256 of tensors, with their names, types and shapes, and of what goes with them."""
    import torch

    found = hashlib.sha256(meta.encode())
    for name in sorted(tensors):
        value = tensors[name].cpu().contiguous()
        found.update(f"{name} {value.dtype} {list(value.shape)};".encode())
        found.update(value.view(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


def load_tensors(
    path: Path, device: str | torch.device = "cpu"
) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what :func:`save_tensors` wrote; files of version 0.1 have no digest to check.

    Raises:
        InputError: If the file is not a complete safetensors file, or was changed.
    """
    with _opened(path, str(device)) as file:
        about = file.metadata() or {}
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    text = about.get("gsina", "{}")
    if DIGEST in about and about[DIGEST] != _digest(tensors, text):
        raise InputError(f"{path} was changed after it was written; delete it and make it again.")
    try:
        return tensors, dict(parse_json(text))
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} has damaged metadata; delete it and make it again.") from error


def load_header(path: Path) -> dict[str, tuple[int, ...]]:
    """The shapes of the tensors in a safetensors file, without reading these.

    Raises:
        InputError: If the file is not a complete safetensors file.
    """
    with _opened(path) as file:
        return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118


@contextlib.contextmanager
def _opened(path: Path, device: str = "cpu") -> Iterator[Any]:
    """A safetensors file, with one sentence if it is none."""
    import safetensors

    refuse_special(path)
    try:
        with safetensors.safe_open(str(path), framework="pt", device=device) as file:
            yield file
    except safetensors.SafetensorError as error:
        raise InputError(
            f"{path} is not a complete safetensors file ({error}); delete it and make it again."
        ) from error


def load_prepared(path: Path, *, old: bool = False) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read prepared data from the cache, which is never trusted without a digest.

    Args:
        path: The file.
        old: Whether to take a file of version 0.1, without a digest; for data that take hours.

    Raises:
        InputError: The data must be made again; a :class:`~gsina.errors.Note` says so, unless
            they are just of version 0.1.
    """
    try:
        tensors, meta = load_tensors(path)
        with _opened(path) as file:
            checked = DIGEST in (file.metadata() or {})
    except ValueError as error:
        why = str(error).split(";")[0]
        warnings.warn(Note(f"prepared data are made again, as {why}."), stacklevel=3)
        raise
    if not checked and not old:
        raise InputError(f"{path} has no digest; delete it and make it again.")
    return tensors, meta


def refuse_link(path: Path) -> None:
    """Refuse to write through a symbolic link, which may lead out of the folder it lies in.

    Raises:
        InputError: ``path`` is a symbolic link.
    """
    if path.is_symlink():
        raise InputError(
            f"{path} is a symbolic link to {os.readlink(path)}, and nothing is written through "
            "links; remove it, or choose another folder."
        )


def refuse_special(path: Path) -> None:
    """Refuse a pipe, a socket or a device, of which a read may wait or go on for ever.

    Raises:
        InputError: ``path`` is one.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        raise InputError(
            f"{path} is a pipe or a device, expected a file; remove it, or write its content to a "
            "file first."
        )


def open_here(path: str, flags: int) -> int:
    """Open a file as ``os.open`` does, but never through a symbolic link; an ``opener``."""
    refuse_special(Path(path))
    try:
        return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0), 0o666)  # the umask applies
    except OSError:
        refuse_link(Path(path))
        raise


@contextlib.contextmanager
def locked(path: Path) -> Iterator[bool]:
    """Hold a lock file between processes; yields whether it was free.

    The operating system frees the lock when the process ends, however that happens. A system
    without such locks (Windows) always counts it as free. What the file holds is left alone.

    Raises:
        InputError: ``path`` is a symbolic link.
    """
    try:
        import fcntl
    except ImportError:
        yield True
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        with open(path, "ab", opener=open_here) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield False
                return
            if not is_at(file, path):  # the process before has just removed it
                continue
            try:
                yield True
            finally:
                with contextlib.suppress(OSError):
                    path.unlink()
            return


def is_locked(path: Path) -> bool:
    """Whether another process holds a lock file just now; always no on a system without locks."""
    try:
        import fcntl

        with open(path, "rb", opener=open_here) as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (ImportError, FileNotFoundError, InputError):
        return False
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def is_at(file: IO[bytes], path: Path) -> bool:
    """Whether an open file is still the one at ``path``."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
