"""Fetching data over a loopback server: whole files or none, and a digest that decides."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rdiv.sources import data_files, fetching
from rdiv.sources.data_files import DATA_FILES, DataFile, arrays_digest, data_file
from rdiv.sources.downloads import Piece, check_address
from rdiv.sources.fetching import RECIPES, Recipe, fetch, prepare_higgs

NUMBERS = np.arange(12.0).reshape(3, 4)
HOST = "https://files.example.org"


def prepare(folder: Path) -> dict[str, Any]:
    return {"x": np.loadtxt(folder / "a.csv", delimiter=","), "y": np.load(folder / "b.npy")}


def bodies() -> dict[str, bytes]:
    """The two pieces."""
    text, array = BytesIO(), BytesIO()
    np.savetxt(text, NUMBERS, delimiter=",")
    np.save(array, np.arange(3))
    return {"a.csv": text.getvalue(), "b.npy": array.getvalue()}


class Served:
    """What the server gives out by path, and what it was asked for."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.cut = False  # promise more bytes than come
        self.moved: dict[str, str] = {}
        self.address = ""


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    served = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            body = served.content.get(self.path)
            if self.path in served.moved:
                self.send_response(302)
                self.send_header("Location", served.moved[self.path])
                self.end_headers()
                return
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body) * (1 + served.cut)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        served.address = f"http://127.0.0.1:{listening.server_address[1]}"
        thread = threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        for name, body in bodies().items():
            served.content[f"/public/{name}"] = body
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setenv("RDIV_DATA_ORIGIN", served.address)
        yield served
        listening.shutdown()
        thread.join()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """A data file of two pieces, known as tiny."""
    pieces = {
        name: Piece(f"{HOST}/public/{name}", len(body), sha256(body).hexdigest())
        for name, body in bodies().items()
    }
    digest = arrays_digest({"x": NUMBERS, "y": np.arange(3)})
    monkeypatch.setitem(DATA_FILES, "tiny", DataFile("tiny.npz", "twelve numbers", digest))
    monkeypatch.setitem(RECIPES, "tiny", Recipe(pieces, prepare))


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


@pytest.mark.usefixtures("tiny")
def test_file_is_downloaded_prepared_and_whole(server: Served, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "on demand"
    path = fetch("tiny", folder)
    assert path == folder / "tiny.npz" == data_file("tiny", folder)
    assert leftovers(folder) == ["tiny.npz"]
    with np.load(path) as arrays:
        np.testing.assert_array_equal(arrays["x"], NUMBERS)
    assert server.asked == ["/public/a.csv", "/public/b.npy"]


@pytest.mark.usefixtures("tiny")
def test_whole_file_is_left_alone_and_a_damaged_one_replaced(
    server: Served, tmp_path: Path
) -> None:
    path = fetch("tiny", tmp_path)
    before = path.stat().st_mtime_ns
    assert fetch("tiny", tmp_path).stat().st_mtime_ns == before
    assert len(server.asked) == 2
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(ValueError, match="wrong checksum"):
        data_file("tiny", tmp_path)
    assert fetch("tiny", tmp_path) == data_file("tiny", tmp_path)
    assert len(server.asked) == 4


@pytest.mark.usefixtures("tiny")
def test_origin_may_be_given(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RDIV_DATA_ORIGIN")
    monkeypatch.setenv("RDIV_DATA", str(tmp_path))
    assert fetch("tiny", origin=server.address + "/") == tmp_path / "tiny.npz"


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "body", [b"0,1,2,3\n4,5,6,7\n8,9,10,12\n", b"<html>busy</html>", b"", b"\0\1\2"]
)
def test_other_contents_are_not_kept(server: Served, tmp_path: Path, body: bytes) -> None:
    server.content["/public/a.csv"] = body
    with pytest.raises(ValueError, match=r"a.csv has a wrong checksum and was not kept"):
        fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("tiny", "server")
def test_pieces_of_another_preparation_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATA_FILES, "tiny", DataFile("tiny.npz", "twelve numbers", "0" * 64))
    with pytest.raises(ValueError, match="tiny has a wrong checksum and was not kept"):
        fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("tiny")
def test_nothing_is_read_before_its_digest_was_found_right(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.content["/public/b.npy"] = b"\x93NUMPY" + bytes(len(bodies()["b.npy"]) - 6)
    recipe = RECIPES["tiny"]
    read: list[Path] = []

    def prepare(folder: Path) -> dict[str, Any]:
        read.append(folder)
        return {}

    monkeypatch.setitem(RECIPES, "tiny", Recipe(recipe.pieces, prepare))
    with pytest.raises(ValueError, match=r"b.npy has a wrong checksum"):
        fetch("tiny", tmp_path)
    assert not read


@pytest.mark.usefixtures("tiny")
def test_more_bytes_than_there_should_be_are_not_taken(server: Served, tmp_path: Path) -> None:
    server.content["/public/a.csv"] = bytes(10**7)
    with pytest.raises(ValueError, match=r"a.csv was not kept: it is larger than it should be"):
        fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize(
    "origin", ["http://files.example.org", "ftp://a", "file:///etc", "http://[", "x"]
)
def test_only_https_is_asked(server: Served, tmp_path: Path, origin: str) -> None:
    with pytest.raises(ValueError, match="over https only"):
        fetch("tiny", tmp_path, origin=origin)
    assert server.asked == []
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("tiny")
def test_a_redirect_to_plain_http_is_not_followed(server: Served, tmp_path: Path) -> None:
    server.moved["/public/a.csv"] = "http://files.example.org/a.csv"
    with pytest.raises(ValueError, match=r"over https only, got 'http://files.example.org/a.csv'"):
        fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("tiny")
def test_pickled_objects_are_not_loaded(server: Served, tmp_path: Path) -> None:
    place = tmp_path / "objects.npy"
    np.save(place, np.array([{}], dtype=object), allow_pickle=True)
    server.content["/public/b.npy"] = place.read_bytes()
    place.unlink()
    with pytest.raises(ValueError, match="was not kept"):
        fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("tiny")
def test_absent_piece_names_the_address(server: Served, tmp_path: Path) -> None:
    del server.content["/public/b.npy"]
    with pytest.raises(OSError, match=r"/public/b.npy could not be downloaded .*answers 404"):
        fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("tiny")
def test_download_that_breaks_off_leaves_nothing(server: Served, tmp_path: Path) -> None:
    server.cut = True
    with pytest.raises(OSError, match="could not be downloaded"):
        fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("tiny", "server")
def test_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"could not be downloaded .*check the connection"):
        fetch("tiny", tmp_path, origin="http://127.0.0.1:1")
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("tiny", "server")
@pytest.mark.parametrize("moment", ["download", "_prepared"])
def test_interrupt_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    def interrupt(*arguments: Any) -> None:
        if moment == "download":
            arguments[-1].write_bytes(b"half a f")
        raise KeyboardInterrupt

    monkeypatch.setattr(fetching, moment, interrupt)
    with pytest.raises(KeyboardInterrupt):
        fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == []


@pytest.mark.usefixtures("tiny", "server")
def test_failure_keeps_the_file_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tiny.npz").write_bytes(b"damaged")

    def full(*arguments: Any, **arrays: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(OSError, match=r"tiny.npz cannot be written: No space left on device;"):
        fetch("tiny", tmp_path)
    assert leftovers(tmp_path) == ["tiny.npz"]


@pytest.mark.usefixtures("tiny")
def test_folder_that_cannot_be_made_is_one_sentence(server: Served, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"cannot be written: .*choose another folder"):
        fetch("tiny", tmp_path / "file" / "below")
    assert server.asked == []


@pytest.mark.usefixtures("tiny")
def test_missing_pooch_is_named(
    server: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r'needs pooch; .*pip install "rdiv\[data\]"'):
        fetch("tiny", tmp_path / "folder")
    assert leftovers(tmp_path) == []
    assert server.asked == []


def test_every_data_file_has_a_recipe_or_a_reason() -> None:
    assert set(RECIPES) == {name for name, known in DATA_FILES.items() if known.made is None}
    for name, recipe in RECIPES.items():
        for piece in recipe.pieces.values():
            check_address(piece.address)
            assert piece.address.startswith("https://")
            assert piece.sha256 is not None or name == "pacs"  # whose contents have a digest


def write_pieces(folder: Path, parts: list[Any], labels: list[Any], names: list[str]) -> None:
    """The four parts of HIGGS in the formats of their origins."""
    np.savetxt(folder / "train_5K", np.c_[labels[0], parts[0]], delimiter="\t")
    for name, i in (("val", 1), ("test", 2)):
        np.save(folder / f"X_num_{name}.npy", parts[i])
        np.save(folder / f"y_{name}.npy", labels[i])
    last, header = np.c_[parts[3], labels[3]], ",".join([*names, "label"])
    np.savetxt(folder / "higgs.csv", last, delimiter=",", fmt="%.9g", header=header, comments="")


def test_higgs_recipe_drops_duplicates_and_keeps_the_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 28)).astype(np.float32) for n in (5, 6, 7, 8)]
    labels = [rng.integers(2, size=len(part)) for part in parts]
    parts[3][2] = parts[0][4] + 1e-7  # the same event, with other digits
    labels[3][2] = labels[0][4]
    write_pieces(tmp_path, parts, labels, [f"c{i}" for i in range(28)])
    made = prepare_higgs(tmp_path)
    sources = np.concatenate([made["background_source"], made["signal_source"]])
    assert np.bincount(sources).tolist() == [5, 6, 7, 7]
    rows = np.concatenate([made["background"], made["signal"]])
    assert (rows == parts[0][4]).all(axis=1).sum() == 1
    assert len(made["signal"]) == np.concatenate(labels).sum() - labels[0][4]
    assert made["columns"].tolist() == [f"c{i}" for i in range(28)]


def original_order(arrays: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Rows, labels and sources as they were before the shuffle of the recipe was undone.

    The order of the sources is known; background and signal rows are woven together to fit it.
    """
    background, signal = arrays["background_source"], arrays["signal_source"]
    counts = np.bincount(np.concatenate([background, signal]))
    source = np.repeat(np.arange(4, dtype=np.uint8), counts)
    order = np.random.default_rng(0).permutation(len(source))
    reached: list[set[int]] = [{0}]  # how many background rows may have come so far
    for i, kind in enumerate(source[order]):
        taken = {k + 1 for k in reached[-1] if k < len(background) and background[k] == kind}
        passed = {k for k in reached[-1] if i - k < len(signal) and signal[i - k] == kind}
        reached.append(taken | passed)
    is_signal, k = np.ones(len(source), dtype=bool), len(background)
    for i in reversed(range(len(source))):
        if k and k - 1 in reached[i] and background[k - 1] == source[order[i]]:
            k -= 1
            is_signal[i] = False
    shuffled = np.empty((len(source), 28), dtype=np.float32)
    shuffled[is_signal], shuffled[~is_signal] = arrays["signal"], arrays["background"]
    rows, labels = np.empty_like(shuffled), np.empty(len(source), dtype=int)
    rows[order], labels[order] = shuffled, is_signal
    return rows, labels, counts


@pytest.mark.data
def test_higgs_recipe_gives_the_file_that_studies_use(data_dir: Path, tmp_path: Path) -> None:
    with np.load(data_file("higgs", data_dir)) as data:
        arrays = {name: data[name] for name in data.files}
    rows, labels, counts = original_order(arrays)
    cuts = np.cumsum(counts)[:-1]
    parts, marks = np.split(rows, cuts), np.split(labels, cuts)
    parts[2] = np.concatenate([parts[2], parts[0][:50], parts[1][:50]])  # duplicates, to be dropped
    marks[2] = np.concatenate([marks[2], marks[0][:50], marks[1][:50]])
    write_pieces(tmp_path, parts, marks, arrays["columns"].tolist())
    assert arrays_digest(prepare_higgs(tmp_path)) == data_files.DATA_FILES["higgs"].digest
