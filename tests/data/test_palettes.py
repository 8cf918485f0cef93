import numpy as np

from swin_mm.data.palettes import Tone, draw_contrasting_palette, draw_palettes, from_hsv


def test_hues_turn_from_red_over_green_to_blue():
    colours = from_hsv(np.array([[0, 1, 1], [1 / 3, 1, 1], [2 / 3, 1, 1], [0, 0, 0.5]]))
    assert colours.tolist() == [[0, 0, 255], [0, 255, 0], [255, 0, 0], [128, 128, 128]]


def test_body_and_accent_differ_in_lightness_and_either_is_the_bright_one():
    value = draw_palettes(np.random.default_rng(0), 200).max(axis=2).astype(int)
    apart = value[:, Tone.BODY] - value[:, Tone.ACCENT]
    assert np.abs(apart).min() >= 50
    assert 60 < (apart > 0).sum() < 140


def test_the_body_stands_out_from_what_is_behind():
    behind = np.array([255, 255, 255])
    bodies = [
        draw_contrasting_palette(np.random.default_rng(seed), behind)[Tone.BODY]
        for seed in range(50)
    ]
    others = draw_palettes(np.random.default_rng(0), 50)[:, Tone.BODY]
    assert np.mean(bodies) < others.mean() - 20
