"""The names of torchvision: stages and mergings numbered alternately as ``features``."""

from __future__ import annotations

from dataclasses import replace

from swin_mm.checkpoints.formats.layout import Layout, Row, same
from swin_mm.checkpoints.formats.microsoft import FINAL_NORM, merging_rows
from swin_mm.checkpoints.formats.openmmlab import BLOCK, FFN, MSA
from swin_mm.checkpoints.formats.rules import FLAT_INDEX, KEY_BIAS

_BLOCK = "features.{2i+1}.{j}"
_ATTENTION = f"{_BLOCK}.attn"
_MERGING = "features.{2i+2}"

_COMMON = (
    Row("features.0.0.{t}", "patch_embed.projection.{t}"),
    Row("features.0.2.{t}", "patch_embed.norm.{t}"),
    *same(_BLOCK, BLOCK, "norm1.{t}", "norm2.{t}"),
    *same(_ATTENTION, MSA, "qkv.weight", "proj.{t}"),
    Row(f"{_ATTENTION}.relative_position_index", f"{MSA}.relative_position_index", FLAT_INDEX),
    Row(f"{_BLOCK}.mlp.0.{{t}}", f"{FFN}.0.0.{{t}}"),
    Row(f"{_BLOCK}.mlp.3.{{t}}", f"{FFN}.1.{{t}}"),
    FINAL_NORM,
)

TORCHVISION = Layout(
    name="torchvision",
    version=1,
    rows=(
        *_COMMON,
        *same(_ATTENTION, MSA, "qkv.bias", "relative_position_bias_table"),
        *merging_rows(_MERGING, version=1),
    ),
    signature=f"{_ATTENTION}.qkv.weight",
    head="head.{t}",
    ignores=(r"head\..*",),
    oblong=True,
)

TORCHVISION_V2 = replace(
    TORCHVISION,
    version=2,
    rows=(
        *_COMMON,
        Row(f"{_ATTENTION}.qkv.bias", (f"{MSA}.q_bias", f"{MSA}.v_bias"), KEY_BIAS),
        *same(_ATTENTION, MSA, "logit_scale", "cpb_mlp.{m}.{t}", "relative_coords_table"),
        *merging_rows(_MERGING, version=2),
    ),
)
