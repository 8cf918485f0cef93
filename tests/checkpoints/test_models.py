import pytest

from swin_mm.checkpoints.models import prefix_of_model, prefix_of_swin, without_module

SWIN = ("stages.0.blocks.0.attn.w_msa.qkv.weight", "norm0.weight")


@pytest.mark.parametrize("name", ["a.b", "module.a.b", "module.module.a.b"])
def test_ddps_mark_is_taken_off_as_often_as_it_is_there(name):
    assert without_module(name) == "a.b"


@pytest.mark.parametrize(
    ("prefix", "swin", "model"),
    [
        ("", "", None),
        ("backbone.", "backbone.", ""),
        ("detector.backbone.", "detector.backbone.", "detector."),
        ("my_backbone.", "my_backbone.", None),
        ("encoder.", "encoder.", None),
    ],
)
def test_a_model_is_what_has_a_swin_as_its_backbone(prefix, swin, model):
    names = [prefix + name for name in SWIN] + ["neck.weight"]
    assert prefix_of_swin(names) == swin
    assert prefix_of_model(names) == model


def test_a_file_without_a_swin_or_with_two_has_none():
    assert prefix_of_swin(["conv.weight"]) is prefix_of_model([]) is None
    assert prefix_of_swin([f"{owner}.{name}" for owner in "ab" for name in SWIN]) is None
