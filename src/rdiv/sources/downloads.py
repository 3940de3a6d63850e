"""Downloads that are checked before anything reads them: https, a largest size, a digest."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urljoin, urlsplit

from rdiv.errors import InputError, InputFileError, MissingExtraError

__all__ = ["Piece", "check_address", "download", "downloader", "file_digest"]

TIMEOUT = 60
"""Seconds without an answer after which a download is given up."""

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Piece:
    """One file to download.

    Parameters
    ----------
    address : str
        Its public address.
    size : int
        Its size in bytes, of which no more are taken; the largest size where ``sha256`` is None.
    sha256 : str, optional
        Digest of its bytes. None only for an archive that its origin packs anew each time; the
        recipe then checks the digest of what is in it before anything is decoded.
    """

    address: str
    size: int
    sha256: str | None = None


def check_address(address: str) -> None:
    """Refuse any address but https, or http on this machine.

    Examples
    --------
    >>> check_address("https://example.org/a"), check_address("http://127.0.0.1:8000/a")
    (None, None)
    >>> check_address("http://example.org/a")
    Traceback (most recent call last):
    ...
    rdiv.errors.InputError: data are fetched over https only, got 'http://example.org/a'; ...
    """
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:  # such as an unclosed bracket
        parts, host = urlsplit(""), None
    if (parts.scheme == "https" and host) or (parts.scheme == "http" and host in LOOPBACK):
        return
    raise InputError(
        f"data are fetched over https only, got {address!r}; give an https address of a mirror, "
        "or none."
    )


def downloader(decodes: bool) -> Any:
    """What downloads a file, following redirects to https alone."""
    try:
        from pooch import HTTPDownloader

        if decodes:
            import PIL.Image  # noqa: F401
    except ImportError as error:
        what = "pooch" if error.name == "pooch" else "Pillow"
        raise MissingExtraError(
            f'fetching data needs {what}; install it with pip install "rdiv[data]".'
        ) from None
    return HTTPDownloader(timeout=TIMEOUT, hooks={"response": _check_redirect})


def _check_redirect(response: Any, *_: object, **__: object) -> None:
    if response.is_redirect:
        check_address(urljoin(response.url, response.headers["location"]))


class _Capped:
    """A file that takes a number of bytes and no more."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self.stream, self.left = stream, most

    def write(self, data: bytes) -> int:
        self.left -= len(data)
        if self.left < 0:
            raise InputError("it is larger than it should be")
        return self.stream.write(data)

    def flush(self) -> None:
        self.stream.flush()


def download(fetch: Any, piece: Piece, address: str, place: Path) -> None:
    """Download a piece to a file, and refuse it unless size and digest are right.

    Parameters
    ----------
    fetch : callable
        What `downloader` returned.
    piece : Piece
    address : str
        Where to get it: that of the piece, or of a mirror.
    place : Path
    """
    check_address(address)
    try:
        with open(place, "wb") as stream:
            fetch(address, _Capped(stream, piece.size), None)
    except InputError as error:
        raise InputError(f"{address} was not kept: {error}; please report it.") from error
    except OSError as error:
        answer = getattr(error, "response", None)
        said = error.strerror or type(error).__name__
        reason = said if answer is None else f"the server answers {answer.status_code}"
        raise InputFileError(
            f"{address} could not be downloaded ({reason}) and nothing was kept; "
            "check the connection and try again."
        ) from error
    if piece.sha256 is not None and file_digest(place) != piece.sha256:
        raise InputError(
            f"{address} has a wrong checksum and was not kept; try again, and if that does not "
            "help, the public file has changed: please report it."
        )


def file_digest(path: Path) -> str:
    """SHA-256 of the bytes of a file."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
