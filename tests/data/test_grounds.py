import numpy as np
import pytest

from swin_mm.data.grounds import stage_from_above, stage_from_the_side
from swin_mm.data.textures import FAR, GROUNDS, SKY, WALLS

SIZE = (96, 72)
GROUND_IDS = {surface.ade_id for surface in GROUNDS}


@pytest.mark.parametrize("make", [stage_from_above, stage_from_the_side])
def test_a_stage_fills_the_picture_and_labels_all_of_it(make):
    for seed in range(20):
        stage = make(np.random.default_rng(seed), SIZE, 0.3)
        assert stage.image.shape == (72, 96, 3)
        assert stage.stuff.shape == (72, 96)
        assert stage.stuff.min() >= 1


def test_from_above_one_sees_grounds_alone():
    stages = [stage_from_above(np.random.default_rng(seed), SIZE, 0.3) for seed in range(20)]
    assert all(set(np.unique(stage.stuff)) <= GROUND_IDS for stage in stages)
    assert any(len(np.unique(stage.stuff)) == 2 for stage in stages)


def test_from_the_side_a_backdrop_ends_at_the_horizon():
    walls = {surface.ade_id for surface in WALLS}
    outdoors = {surface.ade_id for surface in (*FAR, SKY)}
    seen = set()
    for seed in range(30):
        stage = stage_from_the_side(np.random.default_rng(seed), SIZE, 0.3)
        above, below = (set(np.unique(part)) for part in np.split(stage.stuff, [stage.horizon]))
        assert above <= (walls if stage.indoors else outdoors)
        assert len(below) == 1
        assert below <= GROUND_IDS
        seen |= above
    assert len(seen & walls) == 2
    assert SKY.ade_id in seen
