import cv2
import numpy as np

from swin_mm.data.contact_sheet import contact_sheet, explained


def test_the_sheet_has_a_cell_for_every_scene(scenes):
    page = contact_sheet(scenes[:7], columns=3)
    assert page.shape == (4 + 3 * 244, 4 + 3 * 324, 3)
    assert (page[-244:, -2 * 324 :] == 255).all()  # two cells are left over
    assert page[4:244, 4:324].std() > 5


def test_outlines_and_names_are_drawn_on_things_and_nowhere_else(scenes):
    scene = next(scene for scene in scenes if len(scene.things) == 1 and scene.image.ndim == 3)
    plain = cv2.resize(scene.image, (320, 240), interpolation=cv2.INTER_CUBIC)
    drawn = np.argwhere((explained(scene) != plain).any(axis=2))
    row, height = scene.things[0].corner[1], len(scene.things[0].cover)
    assert len(drawn) > 200
    assert drawn[:, 0].min() >= min(2 * row, 240 - 20) - 4
    assert drawn[:, 0].max() <= max(2 * (row + height), 2 * row + 20) + 4


def test_gray_scenes_are_explained_too(scenes):
    scene = next(scene for scene in scenes if scene.image.ndim == 2)
    assert explained(scene).shape == (240, 320, 3)


def test_the_written_sheet_is_a_picture(world):
    assert cv2.imread(str(world.contact_sheet)).shape == (4 + 4 * 244, 4 + 5 * 324, 3)
