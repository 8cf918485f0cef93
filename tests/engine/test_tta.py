"""Views of a picture become one."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from swin_mm.engine.tta import InstanceTTAModel

HEIGHT, WIDTH = 8, 12  # px


@pytest.fixture
def structures() -> SimpleNamespace:
    """MMDetection's containers."""
    pytest.importorskip("mmcv.ops")
    data = pytest.importorskip("mmengine.structures").InstanceData
    return SimpleNamespace(
        sample=pytest.importorskip("mmdet.structures").DetDataSample, instances=data
    )


class Finder(nn.Module):
    """A detector that finds in each view what it is told to."""

    def __init__(self, found: list) -> None:
        super().__init__()
        self.found = iter(found)
        self.flips: list[bool] = []

    def test_step(self, data: dict) -> list:
        """Return the next view's instances."""
        self.flips += [sample.flip for sample in data["data_samples"]]
        for sample in data["data_samples"]:
            sample.pred_instances = next(self.found)
        return data["data_samples"]


def mask(box: tuple[int, int, int, int]) -> torch.Tensor:
    left, top, right, bottom = box
    pixels = torch.zeros(HEIGHT, WIDTH, dtype=torch.bool)
    pixels[top:bottom, left:right] = True
    return pixels


def found(structures: SimpleNamespace, *instances: tuple, masks: bool = True):
    """Instances of (box, score, label), or (box, score, label, box of the mask)."""
    made = structures.instances(
        bboxes=torch.tensor([one[0] for one in instances], dtype=torch.float32).reshape(-1, 4),
        scores=torch.tensor([one[1] for one in instances]),
        labels=torch.tensor([one[2] for one in instances], dtype=torch.long),
    )
    if masks:
        pixels = [mask(one[-1] if len(one) == 4 else one[0]) for one in instances]
        made.masks = torch.stack(pixels) if pixels else torch.zeros(0, HEIGHT, WIDTH) > 0
    return made


def merge(structures: SimpleNamespace, *views: tuple, **options: float):
    """Merge views of (instances, direction of the flip)."""
    finder = Finder([instances for instances, _ in views])
    model = InstanceTTAModel(finder, **options)
    samples = []
    for _, direction in views:
        flip = {"flip": direction is not None, "flip_direction": direction}
        samples.append([structures.sample(metainfo={"ori_shape": (HEIGHT, WIDTH), **flip})])
    (merged,) = model.test_step({"inputs": [[None]] * len(views), "data_samples": samples})
    return merged.pred_instances, finder


@pytest.mark.parametrize(
    ("direction", "seen"),
    [
        ("horizontal", (8, 1, 11, 4)),
        ("vertical", (1, 4, 4, 7)),
        ("diagonal", (8, 4, 11, 7)),
    ],
)
def test_what_a_flipped_view_finds_is_the_same_instance(
    structures: SimpleNamespace, direction: str, seen: tuple
) -> None:
    plain = found(structures, ((1, 1, 4, 4), 0.6, 3))
    flipped = found(structures, (seen, 0.9, 3))  # and so the mask that is taken
    merged, finder = merge(structures, (plain, None), (flipped, direction))
    assert merged.bboxes.tolist() == [[1, 1, 4, 4]]
    assert merged.scores.tolist() == pytest.approx([0.9])
    assert torch.equal(merged.masks[0], mask((1, 1, 4, 4)))
    assert finder.flips == [False, False]  # else MMDetection's cascades undo it too


def test_what_one_view_alone_finds_is_kept_best_first(structures: SimpleNamespace) -> None:
    first = found(structures, ((0, 0, 4, 4), 0.5, 0), ((6, 2, 9, 8), 0.2, 1))
    second = found(structures, ((6, 2, 9, 8), 0.7, 2))
    merged, _ = merge(structures, (first, None), (second, None))
    assert merged.labels.tolist() == [2, 0, 1]
    assert merged.scores.tolist() == pytest.approx([0.7, 0.5, 0.2])


def test_masks_are_put_to_the_vote_of_what_their_box_stands_for(
    structures: SimpleNamespace,
) -> None:
    box = (0, 0, 6, 6)
    views = [
        (found(structures, (box, 0.9, 0, (0, 0, 6, 3))), None),
        (found(structures, (box, 0.6, 0, (0, 0, 3, 6))), None),
        (found(structures, (box, 0.6, 0, (0, 0, 3, 6)), (box, 1.0, 1, (4, 4, 6, 6))), None),
    ]
    merged, _ = merge(structures, *views)
    of_class = merged[merged.labels == 0]
    # 0.9 against 1.2: the second and third together outvote the first.
    assert torch.equal(of_class.masks[0], mask((0, 0, 3, 6)))
    assert torch.equal(merged[merged.labels == 1].masks[0], mask((4, 4, 6, 6)))


def test_a_detector_without_masks_is_merged_too(structures: SimpleNamespace) -> None:
    view = found(structures, ((0, 0, 4, 4), 0.5, 0), masks=False)
    merged, _ = merge(structures, (view, None), (view.clone(), None))
    assert len(merged) == 1
    assert "masks" not in merged


def test_nothing_found_stays_nothing(structures: SimpleNamespace) -> None:
    merged, _ = merge(structures, (found(structures), None), (found(structures), "horizontal"))
    assert len(merged) == 0
    assert merged.masks.shape == (0, HEIGHT, WIDTH)


def test_threshold_and_number_are_obeyed(structures: SimpleNamespace) -> None:
    views = [
        (found(structures, ((0, 0, 6, 6), 0.9, 0)), None),
        (found(structures, ((0, 0, 6, 4), 0.8, 0)), None),  # overlaps by two thirds
    ]
    assert len(merge(structures, *views)[0]) == 1
    views = [(view.clone(), flip) for view, flip in views]
    assert len(merge(structures, *views, iou_threshold=0.7)[0]) == 2
    views = [(view.clone(), flip) for view, flip in views]
    assert merge(structures, *views, iou_threshold=0.7, max_per_img=1)[0].scores.tolist() == [
        pytest.approx(0.9)
    ]


@pytest.mark.parametrize("options", [{"iou_threshold": 0.0}, {"max_per_img": 0}])
def test_a_setting_out_of_range_is_an_error(options: dict) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        InstanceTTAModel(Finder([]), **options)
