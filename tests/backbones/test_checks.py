import pytest

from swin_mm import SwinClassifier, SwinTransformer, SwinTransformerV2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"depths": (2, 2)}, r"got 2 depths \(2, 2\) and 4 heads \(3, 6, 12, 24\)"),
        ({"embed_dims": 97}, "stage 0 has 97 channels .* and 3 heads"),
        ({"num_heads": (3, 6, 12, 23)}, "stage 3 has 768 channels .* and 23 heads"),
        ({"out_indices": (0, 4)}, r"from 0 to 3, got \(0, 4\)"),
        ({"out_indices": (-1,)}, r"from 0 to 3, got \(-1,\)"),
        ({"out_indices": ()}, r"got \(\)"),
        ({"out_indices": (1, 1)}, r"each stage once, got \(1, 1\)"),
        ({"strides": (4, 2, 2)}, r"each of the 4 stages, got \(4, 2, 2\)"),
        ({"strides": (2, 2, 2, 2)}, r"strides\[0\] must equal patch_size.* got 2 and 4 x 4"),
        ({"strides": (4, 2, 2, 0)}, "whole numbers >= 1"),
        ({"frozen_stages": 5}, "to 4 .all stages., got 5"),
        ({"frozen_stages": -2}, "got -2"),
        ({"small_maps": "shrink"}, "small_maps must be one of .* got 'shrink'"),
        ({"variant": "huge"}, "tiny, small, base, large, got 'huge'"),
        ({"norm_cfg": {"type": "BN"}}, "got type='BN'"),
        ({"act_cfg": {"type": "GLEU"}}, "got type='GLEU'"),
        ({"pretrain_img_size": (1, 2, 3), "use_abs_pos_embed": True}, "pretrain_img_size"),
    ],
    ids=str,
)
def test_arguments_that_contradict_each_other_are_refused_with_the_numbers(arguments, message):
    with pytest.raises(ValueError, match=message):
        SwinTransformer(**arguments)


@pytest.mark.parametrize("kind", [SwinTransformer, SwinTransformerV2])
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"depths": 3}, "depths must have a whole number"),
        ({"num_heads": (3, 6, 0, 24)}, "num_heads must have a whole number"),
        ({"embed_dims": 0}, "embed_dims must be a whole number"),
        ({"in_channels": 0}, "in_channels must be a whole number"),
        ({"in_channels": True}, "in_channels must be a whole number"),
        ({"window_size": True}, "window_size must be a whole number"),
        ({"mlp_ratio": -1}, "mlp_ratio must leave"),
        ({"mlp_ratio": 0}, "mlp_ratio must leave"),
        ({"mlp_ratio": "4"}, "mlp_ratio must leave"),
        ({"drop_path_rate": 2}, "drop_path_rate must be from 0 to 1"),
        ({"drop_rate": -0.1}, "drop_rate must be from 0 to 1"),
        ({"attn_drop_rate": None}, "attn_drop_rate must be from 0 to 1"),
    ],
)
def test_numbers_that_are_none_are_refused_by_name(kind, changes, said):
    with pytest.raises(ValueError, match=said):
        kind(**changes)


@pytest.mark.parametrize("changes", [{"version": [1]}, {"version": True}, {"num_classes": True}])
def test_a_classifiers_numbers_are_numbers(changes):
    with pytest.raises(ValueError, match="must be"):
        SwinClassifier(**changes)
