import numpy as np
import pytest

from swin_mm.data.noise import cloud_sheet, clouds, cut, grain, grain_sheet


@pytest.mark.parametrize("sheet", [cloud_sheet, grain_sheet])
def test_a_sheet_is_centred_and_repeats_without_a_seam(sheet):
    noise = sheet().astype(float)
    side = len(noise) - 512
    assert abs(noise.mean() - 128) < 2
    assert np.array_equal(noise[:512], noise[side:])
    inner = np.abs(np.diff(noise, axis=0)).mean(axis=(1, *range(2, noise.ndim)))
    assert inner[side - 1] < 1.5 * inner.mean()  # the step over the seam is like any other


@pytest.mark.parametrize("shape", [(7, 5), (600, 30), (1100, 2000)])
def test_a_cut_of_any_size_is_a_piece_of_the_repeated_sheet(shape):
    piece = cut(grain_sheet(), np.random.default_rng(1), shape)
    assert piece.shape == (*shape, 3)
    assert 30 < piece.std() < 50


def test_clouds_and_grain_have_the_asked_shape():
    rng = np.random.default_rng(0)
    assert clouds(rng, (31, 47), across=2.5, down=0.7).shape == (31, 47)
    assert grain(rng, (31, 47)).shape == (31, 47)


def test_stretched_clouds_change_more_slowly_along_the_stretch():
    pattern = clouds(np.random.default_rng(0), (200, 200), across=6, down=1).astype(float)
    down, across = (np.abs(np.diff(pattern, axis=axis)).mean() for axis in (0, 1))
    assert down > 2 * across
