"""Every table against itself: what it writes is recognised, and read back to the bit."""

import re

import pytest
import torch

from swin_mm.checkpoints import LAYOUTS, detect, to_layout
from swin_mm.checkpoints.formats.layout import place_in_ours, place_in_theirs
from swin_mm.checkpoints.rename import to_our_names

TABLES = [(name, version) for name, tables in LAYOUTS.items() for version in tables]
DENSE = ("openmmlab", "mmpretrain", "microsoft-dense", "huggingface-backbone")


def weights(model):
    """A backbone's tensors without buffers, which every model makes for itself."""
    return {name: t for name, t in model.state_dict().items() if not name.endswith("_index")}


def source(build_either, name, version):
    outputs = {} if name in DENSE else {"out_indices": (2,)}
    return weights(build_either(version, **outputs))


@pytest.mark.parametrize("prefix", ["", "backbone.", "module.backbone."])
@pytest.mark.parametrize(("name", "version"), TABLES)
def test_what_is_written_is_recognised(build_either, name, version, prefix):
    written = to_layout(source(build_either, name, version), name)
    found = detect(prefix + key for key in written)
    assert (found.layout.name, found.layout.version) == (name, version)
    assert (found.prefix, found.last) == (prefix, 2)


@pytest.mark.parametrize(("name", "version"), TABLES)
def test_what_is_written_is_read_back_to_the_bit(build_either, same_tensors, name, version):
    tensors = source(build_either, name, version)
    written = to_layout(tensors, name)
    renamed = to_our_names(written, detect(written))
    assert same_tensors(renamed.tensors, tensors) == []
    assert renamed.dropped == []


@pytest.mark.parametrize(("name", "version"), TABLES)
def test_no_two_rows_read_the_same_name(build_either, name, version):
    table = LAYOUTS[name][version]
    for key in to_layout(source(build_either, name, version), name):
        hits = [row for row in table.rows if _reads(row, table, key)]
        assert len(hits) == 1, (key, hits)


@pytest.mark.parametrize(("name", "version"), TABLES)
def test_a_head_is_no_part_of_the_backbone(name, version):
    table = LAYOUTS[name][version]
    assert (table.head is None) == (name in ("microsoft-dense", "huggingface-backbone"))
    key = (table.head or "").replace("{t}", "weight")
    assert place_in_ours(table, key, 3) is None


@pytest.mark.parametrize("version", [1, 2])
def test_parts_of_queries_keys_and_values_stand_in_that_order(build_either, version):
    tensors = source(build_either, "huggingface", version)
    written = to_layout(tensors, "huggingface")
    whole = tensors["stages.1.blocks.0.attn.w_msa.qkv.weight"]
    for part, rows in zip(("query", "key", "value"), whole.split(16), strict=True):
        key = f"encoder.layers.1.blocks.0.attention.self.{part}.weight"
        assert torch.equal(written[key], rows)


def test_torchvisions_key_bias_is_zero_and_not_read(build_v2):
    tensors = source(lambda _, **changes: build_v2(**changes), "torchvision", 2)
    written = to_layout(tensors, "torchvision")
    bias = written["features.3.1.attn.qkv.bias"]
    assert torch.equal(bias[:16], tensors["stages.1.blocks.1.attn.w_msa.q_bias"])
    assert torch.equal(bias[16:32], torch.zeros(16))
    assert torch.equal(bias[32:], tensors["stages.1.blocks.1.attn.w_msa.v_bias"])
    bias[16:32] = 5.0
    renamed = to_our_names(written, detect(written))
    assert torch.equal(
        renamed.tensors["stages.1.blocks.1.attn.w_msa.v_bias"],
        tensors["stages.1.blocks.1.attn.w_msa.v_bias"],
    )


@pytest.mark.parametrize(("name", "version"), TABLES)
def test_merging_is_reordered_where_tokens_are_concatenated(build_either, name, version):
    written = to_layout(source(build_either, name, version), name)
    renamed = to_our_names(written, detect(written))
    merging = {n for n in renamed.reordered if ".downsample." in n}
    wanted = {"weight": "stages.0.downsample.reduction.weight"}
    if name in ("openmmlab", "mmpretrain"):
        assert merging == set()
        return
    assert wanted["weight"] in merging
    norms = {n for n in merging if re.search(r"downsample\.norm", n)}
    assert bool(norms) == (version == 1)  # SwinV2's norm has 2 C channels, behind the reduction


def test_merging_starts_the_next_stage_in_timm_and_mmpretrain(build_v2):
    tensors = weights(build_v2(out_indices=(2,)))
    assert "layers.1.downsample.norm.weight" in to_layout(tensors, "timm")
    assert "layers.0.downsample.norm.weight" not in to_layout(tensors, "timm")
    assert "stages.2.downsample.reduction.weight" in to_layout(tensors, "mmpretrain")
    assert "stages.0.downsample.reduction.weight" not in to_layout(tensors, "mmpretrain")


def test_simmims_older_name_of_the_bias_network_is_read(build_v2, same_tensors):
    tensors = weights(build_v2(out_indices=(2,)))
    written = {
        f"encoder.{key.replace('cpb_mlp', 'rpe_mlp')}": tensor
        for key, tensor in to_layout(tensors, "microsoft").items()
    }
    written["encoder.mask_token"] = torch.zeros(1, 1, 8)
    renamed = to_our_names(written, detect(written))
    assert same_tensors(renamed.tensors, tensors) == []
    assert [entry.expected for entry in renamed.dropped] == [True]


@pytest.mark.parametrize(("name", "version"), TABLES)
def test_what_is_read_alone_is_never_written(name, version):
    table = LAYOUTS[name][version]
    for row in table.rows:
        if not row.writes:
            ours = row.our_names[0].replace("{last}", "3")
            for field, value in {"i": "1", "j": "1", "k": "1", "m": "0", "t": "weight"}.items():
                ours = ours.replace(f"{{{field}}}", value)
            place = place_in_theirs(table, ours, 3)
            assert place is None or place.row.writes


def _reads(row, table, key):
    place = place_in_ours(type(table)("one", 1, (row,), table.signature), key, 2)
    return place is not None
