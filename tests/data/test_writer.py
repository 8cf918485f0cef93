from contextlib import nullcontext
from pathlib import Path

import pytest

from swin_mm.data import coco, write_scenes

SIZE = (64, 64)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_the_bytes_do_not_depend_on_the_number_of_jobs(tmp_path):
    for jobs in (1, 2):
        write_scenes(tmp_path / str(jobs), train=30, val=3, seed=2, size=SIZE, jobs=jobs)
    one, two = contents(tmp_path / "1"), contents(tmp_path / "2")
    assert len(one) == 33 * 3 + 4
    assert one == two


def test_more_pictures_begin_with_the_same_ones(tmp_path):
    for count in (3, 6):
        write_scenes(tmp_path / str(count), train=count, val=count, seed=2, size=SIZE)
    few, many = (contents(tmp_path / count) for count in ("3", "6"))
    pictures = [name for name in few if name.endswith(".jpg") or "/annotations/" in name]
    assert len(pictures) == 18
    assert all(few[name] == many[name] for name in pictures)


def test_held_out_pictures_are_others(world):
    train, val = (
        {path.read_bytes() for path in (world.root / folder).iterdir()}
        for folder in ("train2017", "val2017")
    )
    assert (len(train), len(val)) == (40, 20)
    assert not train & val


def test_another_seed_is_another_world(tmp_path, world):
    write_scenes(tmp_path / "out", train=2, val=1, seed=6, size=(160, 120))
    name = "train2017/000000000001.jpg"
    assert (tmp_path / "out" / name).read_bytes() != (world.root / name).read_bytes()


def test_written_scenes_are_replaced_only_when_asked(tmp_path):
    out = tmp_path / "out"
    write_scenes(out, train=2, val=1, seed=0, size=SIZE)
    with pytest.raises(FileExistsError, match="--force"):
        write_scenes(out, train=1, val=1, seed=0, size=SIZE)
    write_scenes(out, train=1, val=1, seed=0, size=SIZE, force=True)
    assert len(list((out / "train2017").iterdir())) == 1


def test_a_strangers_picture_among_ours_is_not_removed(tmp_path):
    out = tmp_path / "out"
    write_scenes(out, train=1, val=1, seed=0, size=SIZE)
    stranger = out / "train2017" / "holiday.jpg"
    stranger.write_bytes(b"sun")
    with pytest.raises(FileExistsError, match=r"holiday\.jpg"):
        write_scenes(out, train=1, val=1, seed=0, size=SIZE, force=True)
    assert stranger.read_bytes() == b"sun"


def test_a_failure_half_way_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(coco, "instances", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_scenes(tmp_path / "out", train=1, val=1, seed=0, size=SIZE)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        ({"train": 0}, "1 to 999999, not 0"),
        ({"val": 1_000_000}, "1 to 999999, not 1000000"),
        ({"seed": -1}, "0 or more, not -1"),
        ({"jobs": 0}, "1 or more, not 0"),
        ({"size": (63, 64)}, "64 to 4096 px, not 63x64"),
        ({"size": (64, 5000)}, "64 to 4096 px, not 64x5000"),
    ],
)
def test_arguments_out_of_range_are_refused_before_anything_is_made(tmp_path, wrong, rule):
    arguments = {"train": 1, "val": 1, "seed": 0, "size": SIZE, "jobs": 1} | wrong
    with pytest.raises(ValueError, match=rule):
        write_scenes(tmp_path / "out", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_bar_is_told_what_is_written(tmp_path):
    told = []

    class Bar(nullcontext):
        def __init__(self, what, total):
            super().__init__(self)
            told.append((what, total))

        def advance(self, pieces):
            told.append(pieces)

    write_scenes(tmp_path / "out", train=30, val=3, seed=2, size=SIZE, bars=Bar)
    assert told == [("scenes", 33), 25, 5, 3]
