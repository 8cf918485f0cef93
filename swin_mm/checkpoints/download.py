"""Fetch weight files by URL, once."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import ParseResult, unquote, urlparse
from urllib.request import Request, urlopen

import torch

from swin_mm.checkpoints.errors import CheckpointError

# name-1a2b3c4d.pth bears the start of its SHA-256; name-20220317.pth bears a date.
_HASH = re.compile(r"-(?!20\d{6}\.)([0-9a-f]{8,64})\.[^.]+$")

# MMSegmentation's publishing tool names a file by the hash of what it was made from.
_HASH_OF_ANOTHER_FILE = ("/mmsegmentation/",)

# File systems take 255 bytes; while a file is fetched its name is longer.
_LONGEST_NAME = 200

# A server that says nothing for so long, s, is given up.
_PATIENCE = 60


def is_url(source: str | os.PathLike) -> bool:
    """Say whether a source has to be fetched."""
    return isinstance(source, str) and source.startswith(("http://", "https://"))


def download(url: str) -> Path:
    """Fetch a file into torch.hub's folder of checkpoints, unless it is there already.

    It gets its name when it is as long as the server said, and its hash, if the name bears one, is
    right. A name without hash may be another address's too (``model.safetensors``): such a file
    lies in a folder of its address. One that torch.hub or its user has put beside the others is
    taken as it is. Of several processes that want it at once, as those of a training do, one
    fetches it and the others wait.

    Raises:
        CheckpointError: if it cannot be fetched, or is not what its name says.
    """
    address, name = _parts(url)
    folder = Path(torch.hub.get_dir()) / "checkpoints"
    origin = f"{address.netloc}{address.path.rpartition('/')[0]}"
    site = hashlib.sha256(origin.encode()).hexdigest()[:8]
    path, shared = folder / site / name, folder / name
    if (shared.is_file() and not path.is_file()) or _HASH.search(address.path):
        path = shared
    if path.is_file():
        return path
    partial = folder / f".{site}.{name}.{os.getpid()}.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder / f".{site}.{name}.lock"):
            if path.is_file():  # another process has fetched it meanwhile
                return path
            print(f"Fetching {url} to {path}", file=sys.stderr)
            _fetch(url, partial)
            check_hash(partial, url)
            path.parent.mkdir(exist_ok=True)
            partial.replace(path)
    except CheckpointError:
        raise
    except Exception as error:  # the network, the server, the disk: urllib has many ways to fail
        raise CheckpointError(
            f"cannot fetch {url}: {error}. Check the network and the address, or fetch it "
            f"elsewhere and put it at {path}"
        ) from error
    finally:
        with contextlib.suppress(OSError):  # a folder that is none has no files
            partial.unlink()
    return path


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let processes do something one after the other.

    Args:
        lock: a file that is there meanwhile. Whoever comes as it goes may find another: so what is
            done must bear being done twice.
    """
    with lock.open("wb") as file:
        with contextlib.suppress(ImportError, OSError):  # some systems and disks know no locks
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # it is gone, or in use where that keeps it
                lock.unlink()


def _fetch(url: str, path: Path) -> None:
    """Write what a URL gives, all of it.

    torch.hub's own function takes a connection that broke for the end of the file.

    Raises:
        CheckpointError: if less came than the server said.
        OSError: if nothing came, or it could not be written.
    """
    request = Request(url, headers={"User-Agent": "torch.hub"})
    with urlopen(request, timeout=_PATIENCE) as answer, path.open("wb") as file:
        announced = answer.headers.get("Content-Length")
        length = int(announced) if announced is not None else None
        quiet = not sys.stderr.isatty()
        with torch.hub.tqdm(total=length, disable=quiet, unit="B", unit_scale=True) as bar:
            while piece := answer.read(1 << 20):
                file.write(piece)
                bar.update(len(piece))
        if length is not None and file.tell() != length:
            raise CheckpointError(
                f"{url} has {length} bytes, {file.tell()} came before the connection broke. Try "
                "again"
            )


def _parts(url: str) -> tuple[ParseResult, str]:
    """Take a URL apart, and find the name that its file gets here."""
    try:
        address = urlparse(url)
    except ValueError as error:
        raise CheckpointError(f"no URL: {url} ({error}). Check the address") from error
    name = Path(unquote(address.path)).name
    if name in ("", "..") or not name.isprintable():
        raise CheckpointError(f"the URL of a checkpoint must end in a file's name, got {url}")
    if len(name.encode()) > _LONGEST_NAME:
        raise CheckpointError(
            f"a file's name may have {_LONGEST_NAME} bytes here, that of {url} has "
            f"{len(name.encode())}. Fetch it yourself and give the path"
        )
    return address, name


def check_hash(path: Path, url: str) -> None:
    """Compare a file with the start of its SHA-256 in a URL's file name, if it bears one.

    Raises:
        CheckpointError: if they differ.
    """
    wanted = _HASH.search(urlparse(url).path)
    if wanted is None or any(place in url for place in _HASH_OF_ANOTHER_FILE):
        return
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    if not digest.hexdigest().startswith(wanted[1]):
        raise CheckpointError(
            f"the SHA-256 of {url} must start with {wanted[1]}, what came starts with "
            f"{digest.hexdigest()[: len(wanted[1])]}. Try again; if you trust it as it is, fetch "
            "it yourself and give the path"
        )
