import cv2
import numpy as np
import pytest

from swin_mm.data import KINDS, Scene, render_scene
from swin_mm.data.textures import FAR, GROUNDS, SKY, WALLS


def masks(scene: Scene) -> list[np.ndarray]:
    return [thing.mask(scene.size) for thing in scene.things]


def mean_colours(scenes: list[Scene]) -> tuple[np.ndarray, np.ndarray]:
    """The mean colour of each thing, (N, 3), and which kind it is of, (N,)."""
    colours, kinds = [], []
    for scene in scenes:
        if scene.image.ndim == 3:
            colours += [scene.image[mask].mean(axis=0) for mask in masks(scene)]
            kinds += [KINDS.index(thing.kind) for thing in scene.things]
    return np.array(colours), np.array(kinds)


def test_a_scene_is_the_same_every_time_on_any_number_of_threads():
    before = cv2.getNumThreads()
    try:
        drawn = []
        for threads in (1, 4):
            cv2.setNumThreads(threads)
            drawn.append([render_scene(3, index) for index in range(8)])
    finally:
        cv2.setNumThreads(before)
    for one, other in zip(*drawn, strict=True):
        assert np.array_equal(one.image, other.image)
        assert np.array_equal(one.labels(), other.labels())


def test_another_seed_or_index_is_another_scene():
    pictures = {render_scene(seed, k, (96, 72)).image.tobytes() for seed in (0, 1) for k in (0, 1)}
    assert len(pictures) == 4


def test_a_picture_has_the_asked_size_and_things_grow_with_it():
    small, large = (
        [render_scene(1, index, size) for index in range(15)] for size in ((96, 96), (384, 384))
    )
    assert all(scene.image.shape[:2] == (384, 384) for scene in large)
    areas = [np.mean([m.mean() for s in scenes for m in masks(s)]) for scenes in (small, large)]
    assert 0.7 < areas[0] / areas[1] < 1.4


@pytest.mark.parametrize("size", [(64, 64), (64, 640), (1200, 64), (4096, 64)])
def test_any_shape_of_picture_can_be_drawn(size):
    for index in range(6):
        scene = render_scene(4, index, size)
        assert scene.image.shape[:2] == scene.labels().shape == size[::-1]
        assert all(mask.any() for mask in masks(scene))


def test_all_kinds_occur_about_equally_often(scenes):
    count = np.bincount([KINDS.index(thing.kind) for scene in scenes for thing in scene.things])
    assert len(count) == len(KINDS)
    assert count.min() > 0.6 * count.max()


def test_there_are_crowds_and_empty_pictures_and_gray_ones(scenes):
    assert 5 <= sum(thing.crowd for scene in scenes for thing in scene.things) <= 40
    assert 1 <= sum(not scene.things for scene in scenes) <= 20
    assert 1 <= sum(scene.image.ndim == 2 for scene in scenes) <= 12


def test_visible_parts_never_share_a_pixel(scenes):
    for scene in scenes:
        total = np.sum([np.zeros(scene.stuff.shape), *masks(scene)], axis=0)
        assert total.max(initial=0) <= 1


def test_many_things_are_partly_hidden_by_others(scenes):
    touching = 0
    for scene in scenes[:100]:
        grown = [cv2.dilate(mask.astype(np.uint8), np.ones((5, 5))) for mask in masks(scene)]
        touching += np.sum([np.zeros(scene.stuff.shape), *grown], axis=0).max() > 1
    assert touching > 25


def test_things_are_pasted_where_their_masks_are():
    step, random = [], []
    for index in range(30):
        scene = render_scene(8, index)
        edges = cv2.magnitude(*(cv2.Sobel(scene.image, cv2.CV_32F, *d) for d in ((1, 0), (0, 1))))
        for mask in masks(scene):
            rim = cv2.morphologyEx(mask.astype(np.uint8), cv2.MORPH_GRADIENT, np.ones((3, 3)))
            step.append(edges[rim > 0].mean())
            random.append(edges.mean())
    assert np.mean(step) > 2 * np.mean(random)


def test_colour_does_not_give_the_kind_away(scenes):
    colours, kinds = mean_colours(scenes)
    half = len(kinds) // 2
    centres = [colours[:half][kinds[:half] == k].mean(axis=0) for k in range(len(KINDS))]
    guess = np.linalg.norm(colours[half:, None] - np.array(centres), axis=2).argmin(axis=1)
    chance = 1 / len(KINDS)
    assert (guess == kinds[half:]).mean() < chance + 0.1


def test_labels_are_things_over_stuff_in_ade20ks_numbers(scenes):
    stuff = {surface.ade_id for surface in (*GROUNDS, *WALLS, *FAR, SKY)}
    for scene in scenes[:100]:
        labels, free = scene.labels(), np.ones(scene.stuff.shape, bool)
        assert labels.dtype == np.uint8
        for thing, mask in zip(scene.things, masks(scene), strict=True):
            assert (labels[mask] == thing.kind.ade_id).all()
            free &= ~mask
        assert set(np.unique(labels[free])) <= stuff | {0}
        assert (labels == 0).mean() < 0.01


def test_a_pixel_that_nothing_covers_by_half_is_not_labelled(scenes):
    ambiguous = sum((scene.labels() == 0).sum() for scene in scenes)
    assert ambiguous > 0
