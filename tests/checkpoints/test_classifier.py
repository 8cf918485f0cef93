import pytest
import torch

import swin_mm
from swin_mm.checkpoints import CheckpointError, convert, load_classifier, load_pretrained


@pytest.fixture
def build_classifier():
    """Return a function that builds a classifier of 8 channels, every parameter random."""

    def make(*, seed=0, version=1, **changes):
        sizes = {"embed_dims": 8, "depths": (1, 2), "num_heads": (1, 2), "strides": (4, 2)}
        arguments = {**sizes, "window_size": 3, "num_classes": 5, "version": version}
        model = swin_mm.SwinClassifier(**{**arguments, **changes})
        generator = torch.Generator().manual_seed(seed)
        for parameter in model.parameters():
            parameter.data.normal_(std=0.3, generator=generator)
        return model.eval()

    return make


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("to", ["microsoft", "timm", "torchvision", "huggingface", "openmmlab"])
def test_a_file_of_any_layout_gives_the_same_classes(build_classifier, to, version):
    source, model = (build_classifier(seed=seed, version=version) for seed in (1, 2))
    file = convert(source.state_dict(), to, window=(3, 3)).content
    report = load_classifier(model, file)
    picture = torch.randn(1, 3, 20, 31)
    assert torch.equal(model(picture), source(picture))
    assert report.new == report.missing == report.surprises == ()
    assert {name for name, _ in model.named_parameters()} == set(report.loaded)
    assert report.layout == to


def test_a_file_is_loaded_by_its_path(build_classifier, tmp_path):
    source, model = build_classifier(seed=1), build_classifier(seed=2)
    torch.save(convert(source.state_dict(), "microsoft").content, tmp_path / "swin.pth")
    assert load_classifier(model, tmp_path / "swin.pth").container == "model"
    assert torch.equal(model.head.fc.weight, source.head.fc.weight)


def test_other_classes_are_one_error_with_both_cures(build_classifier, same_tensors):
    model = build_classifier(num_classes=7)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    file = build_classifier(seed=1).state_dict()
    with pytest.raises(CheckpointError, match=r"has 5 classes, the model's 7.*num_classes=5"):
        load_classifier(model, file)
    assert same_tensors(model.state_dict(), before) == []
    load_pretrained(model.backbone, file)
    assert torch.equal(model.backbone.norm1.weight, file["backbone.norm1.weight"])


@pytest.mark.parametrize("shape", [(5,), (5, 4), (5, 16, 1)])
def test_a_head_that_is_no_linear_layer_of_these_channels_is_one_error(build_classifier, shape):
    file = build_classifier().state_dict()
    file["head.fc.weight"] = torch.ones(shape)
    with pytest.raises(CheckpointError, match="a head must be a linear layer from 16 channels"):
        load_classifier(build_classifier(), file)


def test_a_file_without_a_head_leaves_the_models_and_says_so(build_classifier):
    source, model = build_classifier(seed=1), build_classifier(seed=2)
    head = model.head.fc.weight.clone()
    report = load_classifier(model, source.backbone.state_dict())
    assert torch.equal(model.head.fc.weight, head)
    assert report.new == ("head.fc.weight", "head.fc.bias")
    assert "new: head.fc" in str(report)
