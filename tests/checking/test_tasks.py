"""Samples are drawn from a seed, in the order of the data."""

from swin_mm.checking.tasks import Wishes, draw


def test_a_sample_is_in_order_and_has_no_doubles():
    drawn = draw(list(range(1000)), Wishes(sample=64))
    assert len(set(drawn)) == 64 and drawn == sorted(drawn)


def test_a_seed_draws_the_same_and_another_does_not():
    things = list(range(1000))
    first = draw(things, Wishes(sample=5, seed=1))
    assert first == draw(things, Wishes(sample=5, seed=1))
    assert first != draw(things, Wishes(sample=5, seed=2))


def test_few_are_all_drawn():
    assert draw([1, 2], Wishes(sample=5)) == draw([1, 2], Wishes()) == [1, 2]
    assert draw([1, 2], Wishes(sample=0)) == []
