"""What users of other ports reported about weights, positions and features, one test a thread.

The threads are public issues; each docstring names them. The mechanisms are tested elsewhere, file
for file: here is what a user saw, and must not see again.
"""

import subprocess
import sys

import pytest
import torch
from mmengine.config import ConfigDict
from mmengine.logging import HistoryBuffer, MessageHub
from random_weights import randomise, worst_difference

import swin_mm
from swin_mm.checkpoints import CheckpointError, load_pretrained, read_checkpoint, to_layout

SIZES = {"embed_dims": 8, "depths": (2, 2, 2, 2), "num_heads": (1, 2, 4, 8), "window_size": 3}
PICTURE = torch.randn(1, 3, 49, 66, generator=torch.Generator().manual_seed(0))
RESNET = {
    "conv1.weight": torch.ones(64, 3, 7, 7),
    "layer1.0.conv1.weight": torch.ones(64, 64, 1, 1),
}


def build(seed=0, **changes):
    return randomise(swin_mm.SwinTransformer(**{**SIZES, **changes}), seed).eval()


def microsofts(network):
    """As the authors' classifier is saved: one norm, buffers, a head."""
    written = to_layout(network.state_dict(), "microsoft", allow_loss=True)
    written["head.weight"] = torch.ones(10, 64)
    written["layers.0.blocks.1.attn_mask"] = torch.zeros(4, 9, 9)
    return {"model": written}


def same_maps(one, other):
    return all(map(torch.equal, one(PICTURE), other(PICTURE)))


@pytest.mark.parametrize("prefix", ["", "backbone."])
def test_files_with_and_without_prefix_load(prefix):
    """mmdet#6871: an IndexError where the names had no prefix."""
    source, network = build(1), build(2)
    load_pretrained(network, {prefix + n: t for n, t in source.state_dict().items()})
    assert same_maps(network, source)


@pytest.mark.parametrize(
    "file", [{}, RESNET, {"state_dict": RESNET}, {"x.norm.weight": torch.ones(1)}]
)
def test_a_file_without_a_swin_is_an_error_that_names_its_first_keys(file):
    """mmdet#6871, #7402, #7727, PR#5748: an IndexError, or a long list and training goes on."""
    with pytest.raises(CheckpointError) as error:
        load_pretrained(build(), file)
    first = next(iter(file.get("state_dict", file)), "nothing")
    assert first in str(error.value)


def test_the_backbone_of_a_whole_detector_is_found():
    """mmdet#6186, #7822: a detector's file with convert_weights=True garbled the keys."""
    source, network = build(1), build(2)
    file = {
        f"backbone.{n}": t for n, t in to_layout(source.state_dict(), "microsoft-dense").items()
    }
    file |= {"neck.lateral.weight": torch.ones(1), "roi_head.fc.weight": torch.ones(1)}
    report = load_pretrained(network, {"state_dict": file})
    assert same_maps(network, source)
    assert report.surprises == ()


def test_a_deeper_networks_file_says_which_depth():
    """mmdet#6667, #7176, mmpretrain#945: a KeyError from the loop over the tables."""
    deeper = build(depths=(2, 2, 18, 2)).state_dict()
    for file in (deeper, to_layout(deeper, "microsoft-dense")):
        with pytest.raises(CheckpointError, match="depth 18 in stage 2, the model 2"):
            load_pretrained(build(), file)


@pytest.mark.parametrize("kind", [dict, ConfigDict])
def test_init_cfg_may_be_any_dictionary(tmp_path, kind):
    """mmdet#8112: 'dict' object has no attribute 'checkpoint'."""
    source = build(1)
    torch.save(source.state_dict(), tmp_path / "a.pth")
    cfg = kind(type="Pretrained", checkpoint=str(tmp_path / "a.pth"))
    network = swin_mm.SwinTransformer(**SIZES, init_cfg=cfg).eval()
    network.init_weights()
    assert same_maps(network, source)


def test_harmless_leftovers_are_quiet_and_new_norms_are_said():
    """mmseg#2509, #1816: alarming lists of norm.weight, attn_mask and missing norm0."""
    report = load_pretrained(build(), microsofts(build(1)))
    assert report.surprises == report.missing == ()
    assert str(report).endswith("new: norm0, norm1, norm2")


@pytest.mark.parametrize("layout", ["microsoft", "timm", "torchvision", "huggingface"])
def test_where_merging_stands_makes_no_difference(layout):
    """Swin-Transformer#143, timm#2150: size mismatch for stages.0.downsample.norm.weight."""
    source, network = build(1, out_indices=(3,)), build(2, out_indices=(3,))
    load_pretrained(network, to_layout(source.state_dict(), layout))
    assert same_maps(network, source)


@pytest.mark.parametrize(("old", "new"), [(7, 12), (12, 7), (3, (4, 7))])
def test_another_window_loads_and_computes(old, new):
    """Swin-Transformer#117, mmdet's table that is resized beside an index that is not."""
    network = build(2, window_size=new)
    report = load_pretrained(network, microsofts(build(1, window_size=old)))
    assert {entry.how.partition(" ")[0] for entry in report.resized} == {"window"}
    assert all(bool(found.isfinite().all()) for found in network(PICTURE))


def test_channels_are_those_before_merging():
    """mmpretrain#946, timm#1438, #1455: channels doubled; which layout, which stride."""
    network = build()
    maps = network(PICTURE)
    assert network.out_channels == [found.shape[1] for found in maps] == [8, 16, 32, 64]
    assert network.out_strides == [4, 8, 16, 32]
    assert [tuple(found.shape[2:]) for found in maps] == [(13, 17), (7, 9), (4, 5), (2, 3)]


def test_mmengines_own_checkpoint_is_read_without_running_anything(tmp_path):
    """mmengine#1655: HistoryBuffer and NumPy's numbers cannot be unpickled with weights_only."""
    hub = MessageHub("a run")
    hub.update_scalar("train/loss", 0.5)
    file = {"state_dict": build(1).state_dict(), "message_hub": hub.state_dict()}
    torch.save(file | {"meta": ConfigDict(epoch=1)}, tmp_path / "epoch_1.pth")
    read = read_checkpoint(tmp_path / "epoch_1.pth")
    assert isinstance(read["message_hub"]["log_scalars"]["train/loss"], HistoryBuffer)
    load_pretrained(build(), read)


def test_windows_are_resized_without_scipy():
    """mmpretrain's interp2d: gone in SciPy 1.14."""
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "from swin_mm.checkpoints.resize import resize_bias_table; import torch\n"
        "for method in ('bicubic', 'geometric'):\n"
        "    print(resize_bias_table(torch.ones(25, 1), (3, 3), (4, 4), method=method).shape)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.count("torch.Size([49, 1])") == 2, run.stderr


@pytest.mark.parametrize("channels", [1, 4, 6])
def test_pictures_of_other_channels_are_taken(channels):
    """MONAI research-contributions PR#202: a mismatch in the first convolution."""
    source, network = build(1), build(2, in_channels=channels)
    load_pretrained(network, microsofts(source))
    grey = torch.randn(1, 1, 40, 40)
    if channels in (1, 6):  # a grey picture is one whose colours are equal; six are them twice
        for norm in ("norm0", "norm1", "norm2"):
            getattr(network, norm).load_state_dict(getattr(source, norm).state_dict())
        ours = network(grey.expand(1, channels, 40, 40))
        theirs = source(grey.expand(1, 3, 40, 40))
        assert max(map(worst_difference, ours, theirs)) < 1e-4
    else:
        assert network(grey.expand(1, channels, 40, 40))[0].isfinite().all()


@pytest.mark.parametrize("layout", ["openmmlab", "microsoft-dense"])
@pytest.mark.parametrize("trained_on", [32, 64])
def test_absolute_positions_load_and_serve_any_size(layout, trained_on):
    """mmdet#8187, #8616: four names for three dimensions; a shape error at other sizes."""
    source = build(1, use_abs_pos_embed=True, pretrain_img_size=trained_on)
    network = build(2, use_abs_pos_embed=True, pretrain_img_size=64)
    load_pretrained(network, to_layout(source.state_dict(), layout))
    assert all(bool(found.isfinite().all()) for found in network(PICTURE))
    if trained_on == 64:
        assert same_maps(network, source)


def test_fresh_bias_tables_are_drawn_not_zero():
    """mmdet's PR#6432, mmseg's PR#1067: initialisation as the authors'."""
    network = swin_mm.SwinTransformer(window_size=12, variant="tiny", out_indices=(0,))
    table = network.stages[0].blocks[0].attn.w_msa.relative_position_bias_table
    assert abs(float(table.detach().std()) - 0.02) < 0.002


def test_there_is_a_swin_v2():
    """mmdet#7453, #7992: SwinV2 as a backbone for detectors and segmentors."""
    network = randomise(swin_mm.SwinTransformerV2(**SIZES)).eval()
    assert [found.shape[1] for found in network(PICTURE)] == [8, 16, 32, 64]
