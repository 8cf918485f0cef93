import pytest
import torch

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
        ({"mlp_ratio": True}, "mlp_ratio must leave"),
        ({"mlp_ratio": "4"}, "mlp_ratio must leave"),
        ({"drop_path_rate": 2}, "drop_path_rate must be from 0 to 1"),
        ({"drop_rate": -0.1}, "drop_rate must be from 0 to 1"),
        ({"attn_drop_rate": None}, "attn_drop_rate must be from 0 to 1"),
        ({"drop_path_rate": True}, "drop_path_rate must be from 0 to 1"),
        ({"pretrain_img_size": "224"}, "pretrain_img_size must be a whole number"),
    ],
)
def test_numbers_that_are_none_are_refused_by_name(kind, changes, said):
    with pytest.raises(ValueError, match=said):
        kind(**changes)


@pytest.mark.parametrize("changes", [{"version": [1]}, {"version": True}, {"num_classes": True}])
def test_a_classifiers_numbers_are_numbers(changes):
    with pytest.raises(ValueError, match="must be"):
        SwinClassifier(**changes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"strides": 4}, "strides must have a number for each of the 4 stages, got 4"),
        ({"strides": (4, 2, True, 2)}, "strides of merging must be whole numbers"),
        ({"out_indices": 3}, "out_indices must name stages from 0 to 3, got 3"),
        ({"out_indices": (0.0, 1.0)}, r"out_indices must name stages .* got \(0.0, 1.0\)"),
        ({"frozen_stages": 1.0}, "frozen_stages must be from -1"),
        ({"small_maps": ["shift"]}, "small_maps must be one of"),
        ({"variant": []}, r"variant must be one of .* got \[\]"),
        ({"mlp_ratio": float("inf")}, "mlp_ratio must leave"),
        ({"mlp_ratio": float("nan")}, "mlp_ratio must leave"),
        ({"with_cp": "False"}, "with_cp must be True or False, got 'False'"),
        ({"mask_padding": None}, "mask_padding must be True or False, got None"),
        ({"qk_scale": float("nan")}, "qk_scale must be a number"),
        ({"qk_scale": "0.1"}, "qk_scale must be a number"),
        ({"qk_scale": True}, "qk_scale must be a number"),
        (
            {"pretrain_img_size": 3, "use_abs_pos_embed": True},
            "at least one patch, 4 x 4 px, got 3",
        ),
    ],
    ids=str,
)
def test_what_only_looks_like_an_argument_is_refused_by_name(changes, said):
    with pytest.raises(ValueError, match=said):
        SwinTransformer(**changes)


@pytest.mark.parametrize(
    ("cfg", "kind", "said"),
    [
        ({"norm_cfg": "LN"}, TypeError, "norm_cfg must be a dict with a type"),
        (
            {"norm_cfg": {"type": "LN", "epsilon": 1}},
            TypeError,
            "norm_cfg=.* does not work.*epsilon",
        ),
        ({"norm_cfg": {"type": "LN", "eps": float("nan")}}, ValueError, "norm_cfg must keep"),
        (
            {"norm_cfg": {"type": "LN", "requires_grad": None}},
            ValueError,
            "requires_grad of norm_cfg",
        ),
        ({"act_cfg": None}, TypeError, "act_cfg must be a dict with a type"),
        ({"act_cfg": {"type": "GELU", "inplace": True}}, TypeError, "act_cfg=.* does not work"),
        ({"act_cfg": {"type": "GLU"}}, ValueError, "act_cfg must keep the shape"),
        ({"init_cfg": "Pretrained"}, TypeError, "init_cfg must be dict"),
        ({"init_cfg": [{"checkpoint": "x"}]}, TypeError, "init_cfg must be dict"),
        ({"pretrained": 3}, TypeError, "pretrained must name a file or URL, got 3"),
    ],
    ids=str,
)
def test_a_config_that_no_layer_can_be_made_of_is_refused_by_name(cfg, kind, said):
    with pytest.raises(kind, match=said):
        SwinTransformer(**cfg)


SMALL = {"embed_dims": 4, "depths": (1,), "num_heads": (1,), "strides": (4,), "out_indices": (0,)}


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (None, "as a dense tensor .* got NoneType"),
        (torch.rand(1, 3, 8, 8).to_sparse(), "got a tensor of layout torch.sparse_coo"),
        (torch.ones(1, 3, 8, 8, dtype=torch.uint8), "floating-point numbers, got torch.uint8"),
        (torch.ones(1, 3, 8, 8, dtype=torch.float64), "got torch.float64 and torch.float32"),
    ],
    ids=["nothing", "sparse", "bytes", "double"],
)
def test_pictures_that_the_weights_cannot_meet_are_refused(x, said):
    with pytest.raises(TypeError, match=said):
        SwinTransformer(**SMALL)(x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_autocast_takes_pictures_of_any_dtype_and_weights_of_float32(dtype):
    net, x = SwinTransformer(**SMALL), torch.rand(1, 3, 8, 8, dtype=dtype)
    with torch.autocast("cpu", torch.bfloat16):
        assert net(x)[0].isfinite().all()
        with pytest.raises(
            TypeError, match=r"under autocast to torch.bfloat16 .* got torch.float16"
        ):
            net.half()(x)
