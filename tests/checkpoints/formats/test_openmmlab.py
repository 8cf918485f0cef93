import torch

from swin_mm.checkpoints import load_pretrained, to_layout


def test_our_own_files_are_openmmlabs(build, same_tensors):
    source, model = build(seed=1), build(seed=2)
    report = load_pretrained(model, source.state_dict())
    assert same_tensors(source.state_dict(), model.state_dict()) == []
    assert report.layout == "openmmlab"
    assert report.reordered == report.resized == report.surprises == ()


def test_a_converted_classifiers_norm_is_the_last_stages(build):
    source, model = build(seed=1), build(seed=2)
    file = {name: value for name, value in source.state_dict().items() if "norm2." not in name[:6]}
    file |= {"norm.weight": torch.full((32,), 2.0), "norm.bias": torch.full((32,), 3.0)}
    file["stages.0.blocks.1.attn_mask"] = torch.zeros(1)
    report = load_pretrained(model, file)
    assert torch.equal(model.norm2.weight, torch.full((32,), 2.0))
    assert report.new == report.surprises == ()


def test_the_last_norms_own_name_goes_before_the_classifiers(build, same_tensors):
    source, model = build(seed=1), build(seed=2)
    extra = {"norm.weight": torch.full((32,), 2.0), "norm.bias": torch.full((32,), 3.0)}
    for file in ({**extra, **source.state_dict()}, {**source.state_dict(), **extra}):
        load_pretrained(model, file)
        assert same_tensors(source.state_dict(), model.state_dict()) == []


def test_writing_changes_nothing(build, same_tensors):
    tensors = build().state_dict()
    assert same_tensors(to_layout(tensors, "openmmlab"), tensors) == []
