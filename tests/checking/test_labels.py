"""Labels mean what MMSegmentation makes of them, number by number."""

import numpy as np
import pytest
from PIL import Image

from swin_mm.checking.labels import Meaning, look_at_labels
from swin_mm.checking.reading import BrokenFile
from swin_mm.checking.sources import Reader

PILLOW = Reader("unchanged", "pillow", 1)
PLAIN = Meaning.of(3, reduce_zero=False, ignore=255, mapped=None)


def saved(folder, image):
    image = image if isinstance(image, Image.Image) else Image.fromarray(image)
    image.save(folder / "labels.png")
    return str(folder / "labels.png")


@pytest.mark.parametrize("reduce_zero", [False, True])
@pytest.mark.parametrize("mapped", [None, {0: 1, 1: 255, 2: 0, 3: 255}])
def test_every_number_means_what_mmsegmentation_makes_of_it(tmp_path, reduce_zero, mapped):
    from mmseg.datasets.transforms import LoadAnnotations

    every = np.arange(256, dtype=np.uint8).reshape(16, 16)
    results = {"seg_map_path": saved(tmp_path, every), "reduce_zero_label": reduce_zero}
    results |= {"label_map": mapped, "seg_fields": []}
    loaded = LoadAnnotations()(results)["gt_seg_map"].ravel()
    classes = 2 if mapped else 4
    meaning = Meaning.of(classes, reduce_zero=reduce_zero, ignore=255, mapped=mapped)
    assert (meaning.void == (loaded == 255)).all()
    assert (meaning.fit == ((loaded < classes) | (loaded == 255))).all()


def test_the_rule_is_told_in_words():
    assert PLAIN.rule == "0 to 2 are classes; ignored: 255"
    reduced = Meaning.of(150, reduce_zero=True, ignore=255, mapped=None)
    assert reduced.rule == "1 to 150 are classes; ignored: 0 and 255"
    other = Meaning.of(3, reduce_zero=False, ignore=7, mapped=None)
    assert other.rule == "0 to 2 are classes; ignored: 7" and not other.fit[255]


@pytest.mark.parametrize(
    ("labels", "labelled"), [([[0, 1], [2, 255]], True), ([[255, 255]], False), ([[0]], True)]
)
def test_sound_labels_are_measured(tmp_path, labels, labelled):
    array = np.array(labels, np.uint8)
    path = saved(tmp_path, array)
    assert look_at_labels(path, PILLOW, PLAIN) == (array.shape[::-1], labelled)


def test_a_palette_is_read_as_numbers_by_pillow_and_as_colours_by_opencv(tmp_path):
    image = Image.fromarray(np.array([[0, 1], [2, 1]], np.uint8)).convert("P")
    image.putpalette([200, 10, 10, 10, 200, 10, 10, 10, 200])
    path = saved(tmp_path, image)
    assert look_at_labels(path, PILLOW, PLAIN) == ((2, 2), True)
    with pytest.raises(BrokenFile, match="3 channels as cv2 reads it") as broken:
        look_at_labels(path, Reader("unchanged", "cv2", 1), PLAIN)
    assert broken.value.rule == "label-colours"


@pytest.mark.parametrize(
    ("array", "rule", "met"),
    [
        (np.zeros((4, 4, 3), np.uint8), "label-colours", "3 channels"),
        (np.array([[0, 3], [3, 4]], np.uint8), "label-beyond", "3 on 2 px, 4 on 1 px; 0 to 2"),
        (np.array([[0, 256], [1, 2]], np.uint16), "label-beyond", "256 on 1 px"),
    ],
)
def test_what_is_no_class_is_an_error(tmp_path, array, rule, met):
    with pytest.raises(BrokenFile, match=met) as broken:
        look_at_labels(saved(tmp_path, array), PILLOW, PLAIN)
    assert broken.value.rule == rule


def test_numbers_with_a_fraction_are_an_error(tmp_path):
    Image.fromarray(np.full((4, 4), 0.5, np.float32)).save(tmp_path / "labels.tif")
    with pytest.raises(BrokenFile, match="float32"):
        look_at_labels(str(tmp_path / "labels.tif"), PILLOW, PLAIN)
