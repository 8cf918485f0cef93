import pytest
import torch
from mmengine.config import ConfigDict
from mmengine.model.weight_init import PretrainedInit
from random_weights import randomise

from swin_mm import SwinTransformer, SwinTransformerV2
from swin_mm.backbones.pretrained import load_options, split_init_cfg
from swin_mm.checkpoints import CheckpointError, to_layout

NARROW = {"embed_dims": 8, "depths": (2, 1), "num_heads": (1, 2), "strides": (4, 2)}
NARROW |= {"out_indices": (0, 1)}


@pytest.fixture
def checkpoint(tmp_path):
    """A file of another network's weights."""
    model = randomise(SwinTransformer(**NARROW))
    torch.save({"state_dict": model.state_dict()}, tmp_path / "other.pth")
    return str(tmp_path / "other.pth"), model


@pytest.mark.parametrize("kind", ["Pretrained", PretrainedInit])
def test_init_cfg_reads_a_checkpoint(checkpoint, kind):
    path, other = checkpoint
    model = SwinTransformer(**NARROW, init_cfg=ConfigDict(type=kind, checkpoint=path))
    model.init_weights()
    x = torch.randn(1, 3, 40, 40)
    assert torch.equal(model.eval()(x)[1], other.eval()(x)[1])


def test_pretrained_does_the_same_with_a_note(checkpoint):
    path, other = checkpoint
    with pytest.warns(FutureWarning, match="say init_cfg="):
        model = SwinTransformer(**NARROW, pretrained=path)
    model.init_weights()
    assert torch.equal(model.norm1.weight, other.norm1.weight)


def test_weights_for_a_part_go_on_top_of_other_initialisations(checkpoint):
    path, other = checkpoint
    cfgs = [
        {"type": "Pretrained", "checkpoint": path},
        {"type": "Constant", "layer": "Linear", "val": 3.0},
    ]
    model = SwinTransformer(**NARROW, init_cfg=cfgs)
    model.init_weights()
    assert torch.equal(model.norm1.weight, other.norm1.weight)
    weight = model.stages[0].blocks[0].attn.w_msa.qkv.weight
    assert torch.equal(weight, other.stages[0].blocks[0].attn.w_msa.qkv.weight)


def test_both_names_at_once_are_refused():
    with pytest.raises(ValueError, match="either init_cfg or pretrained"):
        SwinTransformer(
            **NARROW, pretrained="a", init_cfg={"type": "Pretrained", "checkpoint": "b"}
        )


def test_convert_weights_is_accepted_with_one_note():
    with pytest.warns(FutureWarning, match="convert_weights is not needed") as notes:
        SwinTransformer(**NARROW, convert_weights=True)
    assert len(notes) == 1


def test_a_checkpoint_must_be_named():
    with pytest.raises(ValueError, match="must name a file or URL"):
        split_init_cfg({"type": "Pretrained"})


def test_starting_from_scratch_is_said(monkeypatch):
    said = []
    monkeypatch.setattr(
        "swin_mm.backbones.initialisation.print_log", lambda text, **_: said.append(text)
    )
    SwinTransformer(**NARROW).init_weights()
    assert said == ["SwinTransformer has no pretrained weights: it starts from scratch"]


def test_init_cfg_chooses_among_backbones_and_ways_to_resize(tmp_path):
    networks = {name: randomise(SwinTransformer(**NARROW), seed) for seed, name in enumerate("ab")}
    both = {
        f"{name}.{key}": tensor
        for name, network in networks.items()
        for key, tensor in network.state_dict().items()
    }
    torch.save(both, tmp_path / "both.pth")
    tables = []
    for method in ("bicubic", "geometric"):
        cfg = {"type": "Pretrained", "checkpoint": str(tmp_path / "both.pth"), "prefix": "b"}
        model = SwinTransformer(**NARROW, window_size=9, init_cfg={**cfg, "resize_bias": method})
        model.init_weights()
        assert torch.equal(model.norm1.weight, networks["b"].norm1.weight)
        tables.append(model.stages[0].blocks[0].attn.w_msa.relative_position_bias_table)
    assert not torch.allclose(*tables)


def test_init_cfg_overrules_the_layout(tmp_path):
    tensors = randomise(SwinTransformer(**NARROW)).state_dict()
    written = to_layout(tensors, "microsoft-dense")
    written["layers.1.downsample.reduction.weight"] = torch.ones(32, 64)  # of no known family
    torch.save(written, tmp_path / "odd.pth")
    cfg = {"type": "Pretrained", "checkpoint": str(tmp_path / "odd.pth")}
    with pytest.raises(CheckpointError, match="names of one layout"):
        SwinTransformer(**NARROW, init_cfg=cfg).init_weights()
    model = SwinTransformer(**NARROW, init_cfg={**cfg, "layout": "microsoft-dense"})
    model.init_weights()
    assert torch.equal(model.norm1.bias, tensors["norm1.bias"])


def test_a_misspelt_option_of_init_cfg_is_refused():
    cfg = {
        "type": "Pretrained",
        "checkpoint": "x.pth",
        "map_location": "cpu",
        "resize": "geometric",
    }
    with pytest.raises(ValueError, match=r"takes checkpoint, prefix, .*, got resize"):
        load_options(cfg)
    del cfg["resize"]
    assert load_options({**cfg, "unsafe": True}) == {"unsafe": True}


@pytest.mark.parametrize("kind", [SwinTransformer, SwinTransformerV2])
@pytest.mark.parametrize("older", [{"pretrained": "a.pth"}, {"convert_weights": True}])
def test_notes_point_at_the_users_own_line(kind, older):
    with pytest.warns(FutureWarning) as notes:
        kind(**NARROW, **older)
    assert [note.filename for note in notes] == [__file__]
