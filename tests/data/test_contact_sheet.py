import cv2
import numpy as np

from swin_mm.data.contact_sheet import contact_sheet, explained


def test_the_sheet_has_a_cell_for_every_scene(scenes):
    page = contact_sheet(scenes[:7], columns=3)
    assert page.shape == (4 + 3 * 244, 4 + 3 * 324, 3)
    assert (page[-244:, -2 * 324 :] == 255).all()  # two cells are left over
    assert page[4:244, 4:324].std() > 5


def test_outlines_follow_the_rim_of_things_and_nothing_else_is_painted_but_names(scenes):
    for scene in [s for s in scenes if len(s.things) == 1 and s.image.ndim == 3][:5]:
        plain = cv2.resize(scene.image, (320, 240), interpolation=cv2.INTER_CUBIC)
        changed = (explained(scene) != plain).any(axis=2)
        mask = cv2.resize(scene.things[0].mask(scene.size).astype(np.uint8), (320, 240))
        rim = cv2.morphologyEx(mask, cv2.MORPH_GRADIENT, np.ones((3, 3))) > 0
        near = cv2.dilate(rim.astype(np.uint8), np.ones((9, 9))) > 0
        assert changed[rim].mean() > 0.9
        assert (changed & ~near).sum() < 20 * 120  # the plate with the name


def test_gray_scenes_are_explained_too(scenes):
    scene = next(scene for scene in scenes if scene.image.ndim == 2)
    assert explained(scene).shape == (240, 320, 3)


def test_the_written_sheet_is_a_picture(world):
    assert cv2.imread(str(world.contact_sheet)).shape == (4 + 4 * 244, 4 + 5 * 324, 3)
