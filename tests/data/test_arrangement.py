import numpy as np
import pytest

from swin_mm.data.arrangement import draw_groups
from swin_mm.data.grounds import Stage

SIZE = (320, 240)


def stage(horizon: int, *, indoors: bool = True) -> Stage:
    return Stage(np.zeros((240, 320, 3), np.uint8), np.ones((240, 320), np.uint8), horizon, indoors)


def draw(place: Stage, count: int = 200):
    return [draw_groups(np.random.default_rng(seed), place, SIZE, 1.0) for seed in range(count)]


def test_most_scenes_hold_one_to_five_things_and_a_few_hold_none():
    counts = [sum(len(group.poses) == 1 for group in groups) for groups in draw(stage(0), 400)]
    assert set(counts) == {0, 1, 2, 3, 4, 5}
    assert 1 <= counts.count(0) <= 20


def test_a_crowd_is_one_group_of_many_small_things_of_a_kind_behind_all_others():
    crowded = [groups for groups in draw(stage(0)) if groups and len(groups[0].poses) > 1]
    assert 3 <= len(crowded) <= 30
    for crowd, *others in crowded:
        assert 6 <= len(crowd.poses) <= 12
        assert max(pose.side for pose in crowd.poses) < 45
        assert all(len(group.poses) == 1 for group in others)


def test_seen_from_above_things_lie_at_any_angle():
    poses = [pose for groups in draw(stage(0)) for group in groups for pose in group.poses]
    assert not any(pose.standing for pose in poses)
    assert np.histogram([pose.turn for pose in poses], 4, (0, 2 * np.pi))[0].min() > 50


def test_seen_from_the_side_nearer_things_come_last_and_stand_lower():
    for groups in draw(stage(100)):
        feet = [
            group.poses[0].middle[1] + group.poses[0].side / 2
            for group in groups
            if group.poses[0].standing and len(group.poses) == 1
        ]
        assert feet == sorted(feet)
        assert all(foot > 100 for foot in feet)


@pytest.mark.parametrize("indoors", [True, False])
def test_what_hangs_in_the_air_has_a_wall_to_shade_only_indoors(indoors):
    groups = [group for scene in draw(stage(100, indoors=indoors)) for group in scene]
    hanging = [group.poses[0] for group in groups if not group.poses[0].standing]
    assert len(hanging) > 30
    assert all((pose.height > 0) == indoors for pose in hanging)
