import pytest
import torch

from swin_mm.checkpoints import TARGETS, CheckpointError, convert, describe, detect
from swin_mm.checkpoints.coordinates import COORDINATES

CLASSIFIERS = ("microsoft", "openmmlab", "timm", "torchvision", "huggingface")


@pytest.fixture
def classifier(build_either):
    """Return a function that gives a classifier's checkpoint in OpenMMLab's layout."""

    def make(version=1, **changes):
        backbone = build_either(version, out_indices=(2,), **changes).state_dict()
        head = {"head.fc.weight": torch.randn(5, 32), "head.fc.bias": torch.randn(5)}
        return {"state_dict": {**{f"backbone.{n}": t for n, t in backbone.items()}, **head}}

    return make


@pytest.fixture
def detector(build):
    """A detector's checkpoint in OpenMMLab's layout."""
    state = {f"backbone.{name}": tensor for name, tensor in build().state_dict().items()}
    heads = {"neck.conv.weight": torch.ones(3), "roi_head.fc.bias": torch.ones(2)}
    meta = {"dataset_meta": {"classes": ("cat",)}}
    return {"state_dict": {**state, **heads}, "meta": meta}


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("to", CLASSIFIERS)
def test_a_round_trip_is_equal_to_the_bit(classifier, same_tensors, to, version):
    start = classifier(version)
    there = convert(start, to, window=(3, 3))
    back = convert(there.content, "openmmlab")
    weights = {n: t for n, t in back.tensors.items() if not n.endswith(COORDINATES)}
    weights = {n: t for n, t in weights.items() if n in start["state_dict"]}
    assert same_tensors(weights, start["state_dict"]) == []
    assert there.lost == back.lost == ()


def test_mmpretrain_is_a_round_trip_too(classifier, same_tensors):
    start = classifier(2)
    there = convert(start, "mmpretrain")
    assert "backbone.stages.1.downsample.norm.weight" in there.content["state_dict"]
    back = convert(there.content, "openmmlab").tensors
    assert same_tensors(back, start["state_dict"]) == []


@pytest.mark.parametrize(
    ("to", "container", "names"),
    [
        ("microsoft", "model", ("patch_embed.proj.weight", "head.weight")),
        ("openmmlab", "state_dict", ("backbone.norm2.weight", "head.fc.weight")),
        ("timm", None, ("layers.1.downsample.norm.weight", "head.fc.weight")),
        ("torchvision", None, ("features.0.0.weight", "head.weight")),
        ("huggingface", None, ("swin.layernorm.weight", "classifier.weight")),
    ],
)
def test_names_and_containers_are_those_of_the_family(classifier, to, container, names):
    done = convert(classifier(), to)
    inside = done.content if container is None else done.content[container]
    assert set(names) <= inside.keys()
    assert inside.keys() == done.tensors.keys()


def test_a_detector_keeps_its_heads_between_openmmlab_and_the_authors(detector, same_tensors):
    there = convert(detector, "microsoft-dense")
    assert there.content["state_dict"]["neck.conv.weight"].shape == (3,)
    assert "backbone.layers.0.blocks.0.attn.qkv.weight" in there.tensors
    assert there.content["meta"] == detector["meta"]
    back = convert(there.content, "openmmlab")
    assert same_tensors(back.tensors, detector["state_dict"]) == []


@pytest.mark.parametrize("to", ["microsoft", "timm", "torchvision", "huggingface", "detectron2"])
def test_heads_of_a_detector_are_a_loss_elsewhere(detector, to):
    with pytest.raises(CheckpointError, match=r"beside the backbone \(neck, roi_head: 2 tensors"):
        convert(detector, to)
    done = convert(detector, to, allow_loss=True)
    assert not any("neck" in name for name in done.tensors)
    assert any("roi_head" in lost for lost in done.lost)


@pytest.mark.parametrize(
    ("changes", "to", "said"),
    [
        ({"window_size": (2, 4)}, "microsoft", r"oblong windows \(2x4\)"),
        ({"window_size": (2, 4)}, "huggingface", r"oblong windows \(2x4\)"),
        ({"use_abs_pos_embed": True}, "torchvision", "the absolute position embedding"),
        ({"use_abs_pos_embed": True}, "timm", "the absolute position embedding"),
        ({"use_abs_pos_embed": True}, "huggingface", "the absolute position embedding"),
    ],
)
def test_what_a_family_cannot_hold_is_refused_by_name(classifier, changes, to, said):
    file = classifier(pretrain_img_size=16, **changes)
    with pytest.raises(CheckpointError, match=f"cannot hold {said}.*--allow-loss"):
        convert(file, to)
    assert convert(file, to, allow_loss=True).lost


def test_torchvision_and_timm_hold_oblong_windows(classifier):
    file = classifier(window_size=(2, 4))
    assert convert(file, "torchvision").lost == convert(file, "timm").lost == ()


def test_norms_per_output_are_a_loss_for_classifiers(build):
    with pytest.raises(CheckpointError, match="norms per output"):
        convert(build().state_dict(), "timm")
    assert convert(build().state_dict(), "huggingface-backbone").lost == ()


def test_a_head_is_a_loss_where_there_are_no_classifiers(classifier):
    with pytest.raises(CheckpointError, match="the classifier's head"):
        convert(classifier(), "microsoft-dense")


def test_a_tensor_that_the_source_does_not_know_is_a_loss(classifier):
    file = classifier()
    file["state_dict"]["backbone.stages.0.blocks.0.gamma"] = torch.ones(8)
    with pytest.raises(CheckpointError, match="gamma"):
        convert(file, "microsoft")


def test_a_file_without_a_head_says_so(build):
    state = build(out_indices=(2,)).state_dict()
    assert convert(state, "torchvision").notes == ("the file has no classifier's head",)


def test_windows_and_channels_are_changed_on_the_way(classifier):
    done = convert(classifier(), "microsoft", window=(5, 5), in_channels=4)
    told = describe(done.content)
    assert {entry.window for entry in told.windows} == {(5, 5)}
    assert told.patch == (4, 4, 4)


def test_channels_that_are_no_colours_have_no_rule(classifier):
    with pytest.raises(CheckpointError, match=r"the file's is \(8, 4, 4, 4\)"):
        convert(classifier(in_channels=4), "microsoft", in_channels=6)
    assert convert(classifier(in_channels=4), "microsoft", in_channels=4).lost == ()


def test_torchvision_wants_to_know_the_window_of_a_swin_v2(classifier):
    with pytest.raises(CheckpointError, match="--window"):
        convert(classifier(2), "torchvision")
    done = convert(classifier(2), "torchvision", window=(3, 3))
    assert done.tensors["features.1.0.attn.relative_coords_table"].shape == (1, 5, 5, 2)
    assert done.tensors["features.1.0.attn.relative_position_index"].shape == (81,)


def test_timm_keeps_no_buffers(classifier):
    done = convert(classifier(2), "timm", window=(3, 3))
    assert not any("relative" in name for name in done.tensors)


def test_detectron2_gets_names_without_prefix_and_its_mark(build):
    done = convert(build().state_dict(), "detectron2")
    assert done.content["matching_heuristics"] is True
    assert "norm2.weight" in done.content["model"]
    assert detect(done.tensors).layout.name == "microsoft-dense"


def test_detectron2_has_no_swin_v2(build_v2):
    with pytest.raises(CheckpointError, match="no SwinV2"):
        convert(build_v2().state_dict(), "detectron2")


def test_an_unknown_target_is_refused(build):
    with pytest.raises(CheckpointError, match="must be one of"):
        convert(build().state_dict(), "keras")
    assert "detectron2" in TARGETS


def test_the_layout_and_the_prefix_can_be_overruled(build, as_microsoft):
    two = {
        f"{owner}.{name}": tensor
        for owner in ("a", "b")
        for name, tensor in as_microsoft(build(out_indices=(2,))).items()
    }
    with pytest.raises(CheckpointError, match="holds 2"):
        convert(two, "timm")
    done = convert(two, "timm", prefix="b", layout="microsoft-dense", allow_loss=True)
    assert done.source.prefix == "b."


@pytest.mark.parametrize("outer", ["module.", "detector."])
def test_what_stands_before_a_detector_is_taken_off_all_of_it(detector, same_tensors, outer):
    wrapped = {f"{outer}{name}": tensor for name, tensor in detector["state_dict"].items()}
    plain, done = (convert(file, "microsoft-dense").tensors for file in (detector, wrapped))
    assert same_tensors(plain, done) == []


def test_positions_of_a_detector_become_tokens_in_a_classifiers_file(build):
    tensors = build(use_abs_pos_embed=True, pretrain_img_size=16, out_indices=(2,)).state_dict()
    image = convert(tensors, "microsoft-dense").content
    assert image["state_dict"]["absolute_pos_embed"].shape == (1, 8, 4, 4)
    back = convert(image, "microsoft").content["model"]["absolute_pos_embed"]
    assert torch.equal(back, tensors["absolute_pos_embed"])


@pytest.mark.parametrize("to", ["openmmlab", "mmpretrain"])
def test_a_swin_v2_of_openmmlab_has_no_buffers_so_that_it_loads_strictly(build_v2, to):
    source, model = build_v2(seed=1), build_v2(seed=2)
    told = convert(source.state_dict(), "microsoft-dense", window=(3, 3)).content
    done = convert(told, to)
    assert not any("relative" in name for name in done.tensors)
    model.load_state_dict(done.tensors)  # strict
    assert torch.equal(model.norm0.weight, source.norm0.weight)


def test_the_windows_of_a_silent_swin_v2_can_be_told_stage_by_stage(classifier):
    file = convert(classifier(2), "timm").content
    done = convert(file, "microsoft", window=[(4, 4), (4, 4), (2, 2)])
    assert "pretrained windows, taken as those" in done.notes[0]
    windows = [entry.window for entry in describe(done.content).windows]
    assert windows == [(4, 4), (4, 4), (2, 2)]
    done = convert(file, "microsoft", window=(4, 4), pretrained_window=(2, 2))
    assert done.notes == ()
    assert {entry.pretrained for entry in describe(done.content).windows} == {(2, 2)}
    with pytest.raises(CheckpointError, match="needs none"):
        convert(done.content, "timm", pretrained_window=(3, 3))


def test_pretrained_windows_are_swin_v2s_alone(classifier):
    with pytest.raises(CheckpointError, match="--pretrained-window"):
        convert(classifier(1), "timm", pretrained_window=(3, 3))


@pytest.mark.parametrize("window", [(0, 3), [(3, 3)], [(3, 3)] * 4, (1000, 1000)])
def test_windows_that_are_none_are_one_error(classifier, window):
    with pytest.raises(CheckpointError, match="one for each of the 3 stages, of 1 to 64"):
        convert(classifier(), "microsoft", window=window)


@pytest.mark.parametrize("channels", [0, -1])
def test_pictures_without_channels_are_one_error(classifier, channels):
    with pytest.raises(CheckpointError, match="at least one channel"):
        convert(classifier(), "microsoft", in_channels=channels)


def test_a_detector_is_not_told_that_it_is_no_classifier(detector):
    assert convert(detector, "openmmlab").notes == ()


def test_a_change_of_windows_is_said(classifier):
    (note,) = convert(classifier(), "microsoft", window=(5, 5)).notes
    assert note == "window 3x3 -> 5x5, tables resized, bicubic"
    assert convert(classifier(), "microsoft", window=(3, 3)).notes == ()


def test_a_layout_that_does_not_record_windows_says_what_to_build(classifier):
    told = convert(classifier(2), "torchvision", window=(3, 3)).content
    changed, silent = convert(told, "timm", window=[(5, 5), (5, 5), (4, 4)]).notes
    assert changed == "window 3x3 -> 5x5, 5x5, 4x4"
    assert silent.startswith(
        "files of timm do not say a SwinV2's windows: build it with window 5x5"
    )
    assert silent.endswith("4x4, pretrained on 3x3")
    assert convert(told, "microsoft").notes == ()


def test_mmpretrains_first_version_is_pointed_to(classifier):
    with pytest.raises(CheckpointError, match="MMPretrain's SwinV1 is openmmlab"):
        convert(classifier(), "mmpretrain")
