import pytest
import torch

from swin_mm.checkpoints import CheckpointError, load_pretrained, to_layout


def test_a_classifiers_file_gives_the_same_maps(build, as_imagenet):
    source, model = build(seed=1), build(seed=2)
    report = load_pretrained(model, as_imagenet(source))
    for norm in ("norm0", "norm1"):  # the classifier has none of these
        getattr(model, norm).load_state_dict(getattr(source, norm).state_dict())
    picture = torch.randn(1, 3, 37, 50)
    assert all(map(torch.equal, model(picture), source(picture)))
    assert report.layout == "microsoft"
    assert report.new == ("norm0.weight", "norm0.bias", "norm1.weight", "norm1.bias")
    assert report.missing == () and report.surprises == ()


def test_a_detectors_file_gives_the_same_maps(build, as_microsoft):
    source, model = build(seed=1), build(seed=2)
    file = {f"backbone.{name}": tensor for name, tensor in as_microsoft(source).items()}
    file["roi_head.bbox_head.fc_cls.weight"] = torch.ones(3, 3)
    report = load_pretrained(model, {"state_dict": file, "meta": {"epoch": 12}})
    picture = torch.randn(1, 3, 37, 50)
    assert all(map(torch.equal, model(picture), source(picture)))
    assert report.layout == "microsoft-dense"
    assert report.new == report.missing == report.surprises == ()


@pytest.mark.parametrize("stage", [0, 1])
def test_each_merging_is_reordered_norm_and_weight(build, as_microsoft, stage):
    report = load_pretrained(build(), as_microsoft(build(seed=1)))
    merging = f"stages.{stage}.downsample"
    wanted = {f"{merging}.norm.weight", f"{merging}.norm.bias", f"{merging}.reduction.weight"}
    assert wanted <= set(report.reordered)


def test_writing_is_the_inverse_of_reading(build, as_microsoft, same_tensors):
    model = build()
    written = to_layout(model.state_dict(), "microsoft-dense")
    assert same_tensors(written, as_microsoft(model)) == []


def test_a_detector_keeps_positions_as_an_image(build, as_microsoft):
    source = build(use_abs_pos_embed=True, pretrain_img_size=16, seed=1)
    image = to_layout(source.state_dict(), "microsoft-dense")["absolute_pos_embed"]
    assert image.shape == (1, 8, 4, 4)
    assert torch.equal(image[0, :, 1, 2], source.absolute_pos_embed[0, 6])
    model = build(use_abs_pos_embed=True, pretrain_img_size=16, seed=2)
    report = load_pretrained(model, {**as_microsoft(source), "absolute_pos_embed": image})
    assert report.resized == () and "absolute_pos_embed" in report.reordered
    assert torch.equal(model.absolute_pos_embed, source.absolute_pos_embed)


def test_a_classifiers_layout_writes_its_one_norm(build, as_imagenet, same_tensors):
    model = build(out_indices=(2,))
    wanted = as_imagenet(model)["model"]
    del wanted["head.weight"], wanted["layers.0.blocks.1.attn_mask"]
    assert same_tensors(to_layout(model.state_dict(), "microsoft"), wanted) == []


def test_a_classifiers_layout_refuses_norms_it_cannot_hold(build):
    with pytest.raises(CheckpointError, match=r"none for norms per output \(norm0\.weight"):
        to_layout(build().state_dict(), "microsoft")


def test_the_absolute_embedding_of_a_detector_is_an_image(build, as_microsoft):
    source = build(use_abs_pos_embed=True, pretrain_img_size=(16, 24), seed=1)
    model = build(use_abs_pos_embed=True, pretrain_img_size=(16, 24), seed=2)
    file = as_microsoft(source)
    file["absolute_pos_embed"] = file["absolute_pos_embed"].mT.unflatten(2, (4, 6))
    load_pretrained(model, file)
    assert torch.equal(model.absolute_pos_embed, source.absolute_pos_embed)
