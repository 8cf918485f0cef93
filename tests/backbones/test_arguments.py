import inspect
import warnings

import pytest

from swin_mm import SwinTransformer
from swin_mm.backbones.arguments import (
    as_pair,
    takes_arguments_of,
    understands_official_names,
    windows_by_stage,
)

NARROW = {"depths": (1, 1, 1, 1), "num_heads": (1, 2, 2, 4)}


def test_the_official_repositories_names_are_understood_with_a_note():
    with pytest.warns(FutureWarning, match="'embed_dim' .* 'embed_dims'"):
        model = SwinTransformer(**NARROW, embed_dim=8)
    assert model.num_features[0] == 8
    with pytest.warns(FutureWarning, match="'in_chans'"):
        model = SwinTransformer(**NARROW, embed_dims=8, in_chans=4)
    assert model.patch_embed.projection.in_channels == 4
    with pytest.warns(FutureWarning, match="'ape'"):
        model = SwinTransformer(**NARROW, embed_dims=8, ape=True)
    assert model.absolute_pos_embed.shape == (1, 56 * 56, 8)
    with pytest.warns(FutureWarning, match="'use_checkpoint'"):
        model = SwinTransformer(**NARROW, embed_dims=8, use_checkpoint=True)
    assert model.stages[0].blocks[0].with_cp


def test_one_argument_by_two_names_is_refused():
    with pytest.raises(TypeError, match="got 'embed_dims' twice, once as 'embed_dim'"):
        SwinTransformer(**NARROW, embed_dims=8, embed_dim=16)
    with pytest.raises(TypeError, match="twice"):
        SwinTransformer(**NARROW, embed_dim=16, embed_dims=8)


def test_a_misspelt_argument_gets_the_near_names():
    with pytest.raises(TypeError, match=r"no argument 'window_sise'; did you mean window_size\?"):
        SwinTransformer(window_sise=7)


def test_an_unheard_argument_gets_all_names():
    with pytest.raises(TypeError, match=r"it has variant, .*init_cfg"):
        SwinTransformer(qqq=7)


@pytest.mark.parametrize("name", ["depth", "norm_eval", "style"])
def test_a_resnets_inherited_argument_gets_the_cure(name):
    with pytest.raises(TypeError, match=r"a ResNet's.*_delete_=True"):
        SwinTransformer(**{name: 50})


def test_our_own_names_raise_no_note():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SwinTransformer(**NARROW, embed_dims=8)


class First:
    def __init__(self, internal, *, near=1, far=2):
        self.given = near, far


class Second:
    def __init__(self, *, far=3, high=4):
        pass


class Third(First):
    @understands_official_names
    @takes_arguments_of(First, Second, without=["high"])
    def __init__(self, *, low=5, **shared):
        super().__init__("", **shared)


def test_arguments_that_are_passed_on_show_in_the_signature():
    parameters = inspect.signature(Third).parameters.values()
    assert {p.name: p.default for p in parameters} == {"near": 1, "far": 2, "low": 5}
    assert Third(far=9, low=1).given == (1, 9)


@pytest.mark.parametrize("name", ["high", "internal", "fat"])
def test_arguments_that_are_not_passed_on_are_refused(name):
    with pytest.raises(TypeError, match=f"Third has no argument '{name}'"):
        Third(**{name: 1})


def test_one_window_serves_all_stages_or_each_has_its_own():
    assert windows_by_stage(7, 3) == [(7, 7)] * 3
    assert windows_by_stage((7, 14), 3) == [(7, 14)] * 3
    assert windows_by_stage([7, (7, 14), 2], 3) == [(7, 7), (7, 14), (2, 2)]
    assert windows_by_stage((7, 14), 2) == [(7, 14)] * 2  # two numbers: height and width
    assert windows_by_stage([(7, 7), (14, 14)], 2) == [(7, 7), (14, 14)]


@pytest.mark.parametrize("window", [(7, 7, 7), [(7, 7), (7, 7)], 0, (7, 0), 7.5, "7"])
def test_other_windows_are_refused(window):
    with pytest.raises(ValueError, match="window_size"):
        windows_by_stage(window, 4)


def test_zero_is_allowed_where_it_means_something_and_errors_name_the_argument():
    assert windows_by_stage([0, (0, 3)], 2, name="x", least=0) == [(0, 0), (0, 3)]
    with pytest.raises(ValueError, match=r"x of a stage must be .* >= 0, .* got -1"):
        windows_by_stage([0, -1, 3], 3, name="x", least=0)


def test_a_pair_is_one_number_or_two():
    assert as_pair(3, "x") == as_pair([3], "x") == (3, 3)
    with pytest.raises(ValueError, match=r"x must be a whole number >= 1, .* got \(1, 2, 3\)"):
        as_pair((1, 2, 3), "x")
