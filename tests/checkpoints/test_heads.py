import pytest
import torch

from swin_mm.checkpoints import detect, to_layout
from swin_mm.checkpoints.heads import head_of


@pytest.mark.parametrize(
    ("layout", "backbone", "head"),
    [
        ("microsoft", "", "head."),
        ("microsoft", "module.", "module.head."),
        ("timm", "", "head.fc."),
        ("torchvision", "", "head."),
        ("huggingface", "swin.", "classifier."),
        ("huggingface", "module.swin.", "module.classifier."),
        ("huggingface", "", "classifier."),
        ("openmmlab", "backbone.", "head.fc."),
        ("openmmlab", "module.backbone.", "module.head.fc."),
    ],
)
def test_a_head_is_found_beside_or_behind_the_prefix(build, layout, backbone, head):
    state = to_layout(build(out_indices=(2,)).state_dict(), layout)
    file = {backbone + key: tensor for key, tensor in state.items()}
    file |= {f"{head}weight": torch.ones(5, 32), f"{head}bias": torch.ones(5)}
    found = head_of(file, detect(file))
    assert found == {"head.fc.weight": f"{head}weight", "head.fc.bias": f"{head}bias"}


def test_other_heads_are_not_taken_for_a_classifiers(build):
    file = to_layout(build(out_indices=(2,)).state_dict(), "microsoft")
    file |= {"head.mlp.0.weight": torch.ones(5, 32), "head.bias": torch.ones(5)}
    assert head_of(file, detect(file)) == {}
