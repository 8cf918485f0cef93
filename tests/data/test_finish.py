import numpy as np

from swin_mm.data.finish import finish


def test_a_finished_picture_is_uneven_and_noisy_but_the_same_picture():
    grey = np.full((120, 160, 3), 128, np.uint8)
    done = finish(np.random.default_rng(0), grey, 1.0)
    assert done.shape == grey.shape
    assert done.dtype == np.uint8
    assert done.std() > 1
    assert abs(done.mean() - 128) < 40


def test_exposure_differs_from_picture_to_picture():
    grey = np.full((60, 80, 3), 128, np.uint8)
    means = [finish(np.random.default_rng(seed), grey, 1.0).mean() for seed in range(10)]
    assert np.ptp(means) > 10
