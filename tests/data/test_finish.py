import numpy as np

from swin_mm.data.finish import finish


def test_a_finished_picture_is_uneven_and_noisy_but_the_same_picture():
    grey = np.full((120, 160, 3), 128, np.uint8)
    done = finish(np.random.default_rng(0), grey, 1.0)
    assert done.shape == grey.shape
    assert done.dtype == np.uint8
    assert done.std() > 1
    assert abs(done.mean() - 128) < 40


def test_exposure_and_the_fall_of_light_differ_from_picture_to_picture():
    # Uneven light leaves black as it is; contrast and brightness do not.
    for grey in (0, 128):
        flat = np.full((60, 80, 3), grey, np.uint8)
        done = [finish(np.random.default_rng(seed), flat, 1.0) for seed in range(10)]
        assert np.ptp([picture.mean() for picture in done]) > 10


def test_noise_differs_in_strength():
    flat = np.full((60, 80, 3), 128, np.uint8)
    done = [finish(np.random.default_rng(seed), flat, 1.0).astype(float) for seed in range(10)]
    strengths = [np.diff(picture, axis=1).std() for picture in done]
    assert max(strengths) > 2 * min(strengths)
