from __future__ import annotations

import errno
import hashlib
import os
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gsina.datasets.raw import sources
from gsina.datasets.raw.sources import (
    RawFile,
    at_hand,
    checksum_notes,
    names_checksum,
    raw_file,
    sha256,
    unpack,
    verify,
)

CONTENT = bytes(range(256)) * 4000
GOOD = hashlib.sha256(CONTENT).hexdigest()


class Server(ThreadingHTTPServer):
    """Serves CONTENT under any name but /gone; remembers the ranges that were asked for."""

    daemon_threads = True
    ranges: list[str | None]
    resumes = True
    stop_after: int | None = None  # Bytes of each answer before the connection breaks.
    says_length = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        asked = self.headers.get("Range")
        self.server.ranges.append(asked)
        if self.path == "/gone":
            self.send_error(404)
            return
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
        if asked and self.server.resumes and start >= len(CONTENT):
            self.send_response(416)
            self.send_header("Content-Range", f"bytes */{len(CONTENT)}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        if asked and self.server.resumes:
            body = CONTENT[start:]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(CONTENT) - 1}/{len(CONTENT)}")
        else:
            body = CONTENT
            self.send_response(200)
        if self.server.says_length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: self.server.stop_after])


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        server.ranges = []
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GSINA_DATA", str(tmp_path / "data"))
    monkeypatch.delenv("GSINA_OFFLINE", raising=False)
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "data"


def some_file(server: Server, sha256: tuple[str, ...] = (GOOD,)) -> RawFile:
    return RawFile("tu/A.zip", f"{server.url}/A.zip", sha256)


def put_part(folder: Path, content: bytes) -> Path:
    part = folder / "tu" / "A.zip.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(content)
    return part


def one_sentence(error: pytest.ExceptionInfo[BaseException]) -> str:
    text = str(error.value)
    assert "\n" not in text
    assert text.endswith(".")
    return text


def test_download_then_reuse(server: Server, folder: Path) -> None:
    file = some_file(server)
    assert not at_hand(file)
    seen: list[tuple[int, int | None]] = []
    path = raw_file(file, progress=lambda done, total: seen.append((done, total)))
    assert path == folder / "tu" / "A.zip"
    assert path.read_bytes() == CONTENT
    assert [entry.name for entry in path.parent.iterdir()] == ["A.zip"]
    assert seen[0] == (0, len(CONTENT))
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert seen == sorted(seen)
    assert at_hand(file)
    raw_file(file)
    assert server.ranges == [None]


def test_resumes_a_part(server: Server, folder: Path) -> None:
    part = put_part(folder, CONTENT[:1000])
    assert raw_file(some_file(server)).read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-"]
    assert not part.exists()


def test_server_that_does_not_resume(server: Server, folder: Path) -> None:
    server.resumes = False
    put_part(folder, b"wrong" * 10)
    assert raw_file(some_file(server, ())).read_bytes() == CONTENT


@pytest.mark.parametrize("extra", [b"", b"more than there is"])
def test_part_that_is_complete_or_too_long(server: Server, folder: Path, extra: bytes) -> None:
    put_part(folder, CONTENT + extra)
    assert raw_file(some_file(server)).read_bytes() == CONTENT


def test_broken_connections_are_taken_up_again(server: Server) -> None:
    server.stop_after = 300_000
    assert raw_file(some_file(server)).read_bytes() == CONTENT
    assert server.ranges == [None, "bytes=300000-", "bytes=600000-", "bytes=900000-"]


def test_truncated_for_good_keeps_the_part(server: Server, folder: Path) -> None:
    server.stop_after = 1000
    with pytest.raises(FileNotFoundError, match=r"stopped at 5000 of 1024000 bytes") as error:
        raw_file(some_file(server))
    assert "resumes where it stopped" in one_sentence(error)
    assert (folder / "tu" / "A.zip.part").read_bytes() == CONTENT[:5000]
    assert not at_hand(some_file(server))
    server.stop_after = None
    assert raw_file(some_file(server)).read_bytes() == CONTENT


def test_truncated_without_resuming_gives_up(server: Server) -> None:
    server.resumes, server.stop_after = False, 1000
    with pytest.raises(FileNotFoundError, match="stopped at 1000 of 1024000"):
        raw_file(some_file(server))
    assert len(server.ranges) == 2


def test_truncation_is_seen_by_the_checksum_where_no_length_is_told(server: Server) -> None:
    server.says_length, server.stop_after = False, 1000
    with pytest.raises(ValueError, match=GOOD):
        raw_file(some_file(server))


def test_wrong_checksum_is_deleted(server: Server, folder: Path) -> None:
    with pytest.raises(ValueError, match="expected abc or def") as error:
        raw_file(some_file(server, ("abc", "def")))
    assert "tu/A.zip" in one_sentence(error)
    assert list((folder / "tu").iterdir()) == []


@pytest.mark.parametrize("value", ["1", "true", "yes"])
def test_offline(server: Server, monkeypatch: pytest.MonkeyPatch, value: str, folder: Path) -> None:
    monkeypatch.setenv("GSINA_OFFLINE", value)
    with pytest.raises(FileNotFoundError, match="GSINA_OFFLINE is set") as error:
        raw_file(some_file(server))
    text = one_sentence(error)
    assert str(folder / "tu" / "A.zip") in text
    assert server.url in text
    assert server.ranges == []
    assert not folder.exists()


@pytest.mark.parametrize("value", ["", "0", "false", "No"])
def test_not_offline(server: Server, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("GSINA_OFFLINE", value)
    assert raw_file(some_file(server)).is_file()


def test_no_address(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"x/y\.npz is missing") as error:
        raw_file(RawFile("x/y.npz"))
    assert f"put it at {folder / 'x' / 'y.npz'}" in one_sentence(error)


def test_not_on_the_server(server: Server, folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="HTTP 404"):
        raw_file(RawFile("tu/A.zip", f"{server.url}/gone"))
    assert len(server.ranges) == 1
    assert list((folder / "tu").iterdir()) == []


def test_no_server() -> None:
    with pytest.raises(FileNotFoundError, match="could not be downloaded") as error:
        raw_file(RawFile("tu/A.zip", "http://127.0.0.1:1/A.zip"))
    one_sentence(error)


def test_server_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(sources, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/A.zip"
        with pytest.raises(FileNotFoundError, match="timed out"):
            raw_file(RawFile("tu/A.zip", url))


def read_only(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o500)


def blocked_by_a_file(folder: Path) -> None:
    folder.write_bytes(b"")


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(read_only, marks=pytest.mark.skipif(os.geteuid() == 0, reason="root writes")),
        blocked_by_a_file,
    ],
)
def test_data_folder_that_cannot_be_written(
    server: Server, folder: Path, block: Callable[[Path], None]
) -> None:
    block(folder)
    with pytest.raises(FileNotFoundError, match="cannot be written to") as error:
        raw_file(some_file(server))
    assert str(folder) in one_sentence(error)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_permission_denied(server: Server, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "mkdir", refuse)
    reason = os.strerror(number)
    with pytest.raises(FileNotFoundError, match=rf"cannot be written to \({reason}\)"):
        raw_file(some_file(server))


def test_several_at_once_download_one_file_once(server: Server) -> None:
    file = some_file(server)
    with ThreadPoolExecutor(6) as pool:
        paths = list(pool.map(lambda _: raw_file(file), range(6)))
    assert all(path.read_bytes() == CONTENT for path in paths)
    assert server.ranges == [None]


def test_verify(tmp_path: Path) -> None:
    path = tmp_path / "A.zip"
    path.write_bytes(CONTENT)
    verify(path, RawFile("tu/A.zip", sha256=("0" * 64, GOOD)))
    verify(path, RawFile("tu/A.zip"))
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(ValueError, match=f"expected {GOOD}; delete it and fetch it") as error:
        verify(path, RawFile("tu/A.zip", "http://example.org/A.zip", (GOOD,)))
    assert "http://example.org/A.zip" in one_sentence(error)


def test_other_versions_of_known_files_are_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, missing = RawFile("tu/A.zip"), RawFile("tu/B.zip")
    monkeypatch.setattr(sources, "KNOWN", {file.path: GOOD, missing.path: GOOD})
    file.target.parent.mkdir(parents=True, exist_ok=True)
    file.target.write_bytes(CONTENT)
    assert checksum_notes(file, missing, RawFile("tu/C.zip")) == []
    with pytest.raises(ValueError, match=r"^too short\.$"), names_checksum(file):
        raise ValueError("too short.")
    file.target.write_bytes(CONTENT[:-1])
    (note,) = checksum_notes(file, missing)
    assert f"{file.target} with SHA-256 {sha256(file.target)}, expected {GOOD}." in note
    message = rf"^too short\. Not the known version.*expected {GOOD}"
    with pytest.raises(ValueError, match=message), names_checksum(file):
        raise ValueError("too short.")


def make_zip(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return path


def test_unpack(tmp_path: Path) -> None:
    members = {"hiv/mapping/mol.csv": "right", "hiv/old/mapping/mol.csv": "wrong", "a": "b"}
    archive = make_zip(tmp_path / "x.zip", **members)
    unpack(archive, {"mapping/mol.csv": tmp_path / "out" / "mol.csv"})
    assert (tmp_path / "out" / "mol.csv").read_text() == "right"
    assert [entry.name for entry in (tmp_path / "out").iterdir()] == ["mol.csv"]


def test_unpack_stays_where_it_is_told(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "x.zip", **{"../../split/a.csv": "evil"})
    unpack(archive, {"split/a.csv": tmp_path / "in" / "a.csv"})
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in", "x.zip"]


def test_unpack_refuses_a_member_that_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "LARGEST_MEMBER", 1 << 10)
    archive = make_zip(tmp_path / "x.zip", **{"a.csv": " " * (1 << 11)})
    with pytest.raises(ValueError, match=r"has a a\.csv of more than .* fetch the official"):
        unpack(archive, {"a.csv": tmp_path / "in" / "a.csv"})
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.zip"]


def test_unpack_lacks_a_member(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "x.zip", **{"xa.csv": "other name"})
    with pytest.raises(ValueError, match=r"has no a\.csv"):
        unpack(archive, {"a.csv": tmp_path / "a.csv"})


@pytest.mark.parametrize("cut", [10, 60])
def test_unpack_truncated(tmp_path: Path, cut: int) -> None:
    archive = make_zip(tmp_path / "x.zip", **{"a.csv": "1,2,3" * 100})
    archive.write_bytes(archive.read_bytes()[:-cut])
    with pytest.raises(ValueError, match="not a complete zip archive"):
        unpack(archive, {"a.csv": tmp_path / "a.csv"})


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_unpack_altered(tmp_path: Path, method: int) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w", method) as opened:
        opened.writestr("a.csv", "".join(f"{i * i}," for i in range(300)))
    archive = tmp_path / "x.zip"
    content = bytearray(archive.read_bytes())
    content[100:110] = b"\xff" * 10
    archive.write_bytes(content)
    with pytest.raises(ValueError, match="not a complete zip archive"):
        unpack(archive, {"a.csv": tmp_path / "a.csv"})
    assert not (tmp_path / "a.csv").exists()
