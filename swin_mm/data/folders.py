"""Fill a folder all at once: write beside it, then rename; never remove a stranger's file."""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MARKER = "swin_mm_scenes.json"  # says that a folder is ours, and what was asked for


def check_replaceable(
    folder: Path, expected: Callable[[dict[str, Any]], set[str]], *, force: bool
) -> None:
    """Refuse to write to a folder that has something in it which is not ours to remove.

    Args:
        folder: where scenes shall go.
        expected: from what a marker says to the files that belong to it.
        force: the user agrees that scenes written before are replaced.

    Raises:
        FileExistsError: the folder has content, and `force` is not set, or no
            marker is in it, or files that no run of ours wrote.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise FileExistsError(f"Scenes go to a folder, but {folder} is a file: name another place.")
    if not any(folder.iterdir()):
        return
    try:
        ours = expected(json.loads((folder / MARKER).read_text()))
    except (OSError, ValueError, KeyError, TypeError):
        raise FileExistsError(
            f"Only scenes are ever replaced, but {folder} holds something else (it has no "
            f"readable {MARKER}): name another place."
        ) from None
    if not force:
        raise FileExistsError(
            f"Scenes are not overwritten unasked, but {folder} holds some: name another place, "
            "or replace them with --force."
        )
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if strange := sorted(found - ours):
        raise FileExistsError(
            f"Only what was written with the scenes is replaced, but {folder} also holds "
            f"{len(strange)} other file(s), {strange[0]} for one: move them away first."
        )


@contextmanager
def fill_folder(folder: Path) -> Iterator[Path]:
    """Give a new folder to write to, which takes the place of `folder` when all went well.

    Whatever goes wrong, `folder` stays as it was and the new one is removed.
    """
    folder = folder.resolve()  # beside a link's target, so that renaming stays on one disk
    folder.parent.mkdir(parents=True, exist_ok=True)
    bench = Path(tempfile.mkdtemp(prefix=f".{folder.name}.partial-", dir=folder.parent))
    draft, old = bench / "new", bench / "old"
    try:
        draft.mkdir()
        yield draft
        if folder.exists():
            os.rename(folder, old)
        try:
            os.rename(draft, folder)
        except OSError:
            if old.exists():
                os.rename(old, folder)
            raise
    finally:
        shutil.rmtree(bench, ignore_errors=True)
