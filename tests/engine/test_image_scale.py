"""Recipes on smaller pictures."""

from pathlib import Path

import pytest
from mmengine.config import Config

from swin_mm.engine.errors import UsageError
from swin_mm.engine.image_scale import scale_pictures
from swin_mm.engine.notes import Notes


def test_every_size_of_a_detectors_recipe_shrinks_once(detector: Config, notes: Notes) -> None:
    scale_pictures(detector, 0.25, notes)
    whole, cropped = detector.train_dataloader.dataset.pipeline[3].transforms
    shorts = [short for short, _ in whole[0].scales]
    assert shorts == [120, 128, 136, 144, 152, 160, 168, 176, 184, 192, 200]
    assert {long for _, long in whole[0].scales} == {333}
    assert cropped[0].scales == [(100, 333), (125, 333), (150, 333)]
    assert cropped[1].crop_size == (96, 150)
    assert cropped[2].scales == whole[0].scales
    assert detector.val_dataloader.dataset.pipeline[1].scale == (333, 200)
    assert detector.test_dataloader.dataset.pipeline[1].scale == (333, 200)


def test_a_segmentors_crop_and_its_padding_shrink_together(segmentor: Config, notes: Notes) -> None:
    scale_pictures(segmentor, 0.25, notes)
    steps = segmentor.train_dataloader.dataset.pipeline
    assert steps[2].scale == (512, 128)
    assert steps[2].ratio_range == (0.5, 2.0)
    assert steps[3].crop_size == segmentor.model.data_preprocessor["size"] == (128, 128)


@pytest.mark.parametrize(("factor", "crop", "padded"), [(0.25, 256, 256), (0.3, 307, 320)])
def test_what_a_batch_is_padded_to_holds_the_crop_padded_to_the_divisor(
    factor: float, crop: int, padded: int, root: Path, notes: Notes
) -> None:
    mask2former = Config.fromfile(root / "configs/mask2former_instance_swin_t.py")
    scale_pictures(mask2former, factor, notes)
    (padding,) = mask2former.model.data_preprocessor.batch_augments
    steps = mask2former.train_dataloader.dataset.pipeline
    assert steps[3].scale == steps[4].crop_size == (crop, crop)
    assert padding["size"] == (padded, padded)


def test_relative_crops_stay(detector: Config, notes: Notes) -> None:
    crop = detector.train_dataloader.dataset.pipeline[3].transforms[1][1]
    crop.crop_type, crop.crop_size = "relative_range", (0.5, 0.5)
    scale_pictures(detector, 0.25, notes)
    scaled = detector.train_dataloader.dataset.pipeline[3].transforms[1][1]
    assert scaled.crop_size == (0.5, 0.5)


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan")])
def test_a_factor_must_be_positive(factor: float, detector: Config, notes: Notes) -> None:
    with pytest.raises(UsageError, match="above 0"):
        scale_pictures(detector, factor, notes)
