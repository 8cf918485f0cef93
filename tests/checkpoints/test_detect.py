import pytest

from swin_mm.checkpoints import CheckpointError, detect

QKV = "layers.{}.blocks.0.attn.qkv.weight"
MICROSOFT = [QKV.format(0), QKV.format(1), "layers.0.downsample.reduction.weight", "norm.weight"]
DENSE = [*MICROSOFT[:3], "norm0.weight", "norm1.weight"]
OURS = ["stages.0.blocks.0.attn.w_msa.qkv.weight", "norm0.weight"]
V2 = [*MICROSOFT, "layers.0.blocks.0.attn.logit_scale"]
NEWER_TIMM = [QKV.format(0), QKV.format(1), "layers.1.downsample.reduction.weight"]
RESNET = ["conv1.weight", "bn1.weight", "layer1.0.conv1.weight"]


@pytest.mark.parametrize(
    ("keys", "layout"),
    [(MICROSOFT, "microsoft"), (DENSE, "microsoft-dense"), (OURS, "openmmlab")],
)
@pytest.mark.parametrize("prefix", ["", "backbone.", "module.backbone.", "encoder.", "x.y.z."])
def test_layout_and_prefix_are_told_by_the_names(keys, layout, prefix):
    found = detect([*(prefix + key for key in keys), "neck.conv.weight"])
    assert (found.layout.name, found.prefix) == (layout, prefix)


def test_the_last_stage_is_counted():
    assert detect(MICROSOFT).last == 1


@pytest.mark.parametrize("keys", [RESNET, []], ids=["resnet", "none"])
def test_another_networks_file_is_refused_not_guessed(keys):
    with pytest.raises(CheckpointError, match="no Swin found"):
        detect(keys)


def test_where_merging_stands_tells_timm_from_microsoft():
    assert detect(NEWER_TIMM).layout.name == "timm"
    both = [*NEWER_TIMM, "layers.0.downsample.reduction.weight"]
    with pytest.raises(CheckpointError, match=r"of microsoft or .* or timm, beside"):
        detect(both)
    assert detect(both, layout="microsoft").layout.name == "microsoft"


def test_where_merging_stands_tells_mmpretrain_from_ours():
    block = "stages.{}.blocks.0.attn.w_msa.{}"
    keys = [block.format(i, name) for i in (0, 1) for name in ("qkv.weight", "logit_scale")]
    assert detect([*keys, "stages.0.downsample.reduction.weight"]).layout.name == "openmmlab"
    assert detect([*keys, "stages.1.downsample.reduction.weight"]).layout.name == "mmpretrain"


@pytest.mark.parametrize("asked", [None, "microsoft"])
def test_the_version_is_told_by_the_scale_of_the_scores(asked):
    assert detect(MICROSOFT, layout=asked).layout.version == 1
    assert detect(V2, layout=asked).layout.version == 2


def test_a_scale_outside_the_backbone_says_nothing():
    assert detect([*MICROSOFT, "logit_scale", "text.logit_scale"]).layout.version == 1


@pytest.mark.parametrize(
    ("copy", "network"),
    [
        ("encoder_k.", "encoder."),
        ("ema_model.backbone.", "model.backbone."),
        ("ema_backbone.", "backbone."),
        ("model_ema.module.", "module."),
    ],
)
def test_of_a_network_and_its_moving_average_the_network_is_taken(copy, network):
    keys = [owner + key for owner in (copy, network) for key in MICROSOFT]
    assert detect(keys).prefix == network
    assert detect(keys, prefix=copy).prefix == copy
    assert detect(keys[: len(MICROSOFT)]).prefix == copy


def test_a_refusal_names_the_first_names():
    with pytest.raises(CheckpointError, match=r"'conv1\.weight', 'bn1\.weight'"):
        detect(RESNET)


def test_two_layouts_in_one_place_are_refused():
    with pytest.raises(CheckpointError, match="fits openmmlab, microsoft"):
        detect([*OURS[:1], *MICROSOFT])


def test_two_layouts_in_one_place_can_be_overruled():
    assert detect([*OURS[:1], *MICROSOFT], layout="microsoft").layout.name == "microsoft"


def test_signs_of_a_neighbour_can_be_overruled():
    assert detect(DENSE, layout="microsoft").layout.name == "microsoft"


def test_two_backbones_are_refused_until_one_is_chosen():
    keys = [f"{owner}.backbone.{key}" for owner in ("student", "teacher") for key in MICROSOFT]
    with pytest.raises(CheckpointError, match=r"under 'student\.backbone\.', 'teacher\.backbone"):
        detect(keys)
    assert detect(keys, prefix="teacher.backbone").prefix == "teacher.backbone."


def test_a_prefix_without_a_backbone_is_refused():
    with pytest.raises(CheckpointError, match=r"no Swin found under 'neck'"):
        detect(MICROSOFT, prefix="neck")


def test_an_unknown_layout_is_refused_with_the_known_ones():
    with pytest.raises(CheckpointError, match=r"openmmlab, mmpretrain, microsoft, .*, got 'timn'"):
        detect(MICROSOFT, layout="timn")
