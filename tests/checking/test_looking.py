"""A picture's size is compared with what was annotated, turned or not."""

import pytest
from PIL import Image

from swin_mm.checking.labels import Meaning
from swin_mm.checking.looking import Look
from swin_mm.checking.sources import Reader
from swin_mm.checking.tasks import Task

LOOK = Look("file.json", Reader())


def photo(folder, orientation=1):
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.new("RGB", (64, 48), (90, 120, 30)).save(folder / "photo.jpg", exif=exif)
    return str(folder / "photo.jpg")


@pytest.mark.parametrize(
    ("orientation", "size", "rules"),
    [
        (1, (64, 48), []),
        (1, (48, 64), ["picture-size"]),
        (1, None, []),
        (3, (64, 48), ["picture-exif"]),
        (6, (48, 64), ["picture-exif"]),
        (6, (64, 48), ["picture-turned"]),
        (6, (640, 480), ["picture-size"]),
        (6, None, ["picture-exif"]),
    ],
)
def test_sizes_are_compared_as_the_loader_reads(tmp_path, orientation, size, rules):
    faults = LOOK(Task(photo(tmp_path, orientation), "image 5", size))
    assert [fault.rule for fault in faults] == rules
    assert all(fault.record == "image 5" for fault in faults)


@pytest.mark.parametrize(("orientation", "rules"), [(1, []), (6, ["picture-exif"])])
def test_a_turned_picture_whose_labels_fit_is_noted(tmp_path, orientation, rules):
    size = (64, 48) if orientation == 1 else (48, 64)
    Image.new("L", size).save(tmp_path / "label.png")
    meaning = Meaning.of(2, reduce_zero=False, ignore=255, mapped=None)
    look = Look("", Reader(), Reader("unchanged", "pillow", 1), meaning)
    task = Task(photo(tmp_path, orientation), label=str(tmp_path / "label.png"))
    assert [fault.rule for fault in look(task)] == rules


def test_masks_of_a_broken_picture_are_still_checked(tmp_path):
    bow_tie = [10.0, 10.0, 40.0, 30.0, 40.0, 10.0, 10.0, 30.0]
    masks = [(77, [bow_tie]), (78, {"size": [48, 64], "counts": [3072]})]
    faults = LOOK(Task(str(tmp_path / "none.jpg"), "image 5", (64, 48), masks))
    assert [(fault.rule, fault.record) for fault in faults] == [
        ("file-missing", "image 5"),
        ("polygon-crossing", "annotation 77 of image 5"),
    ]
