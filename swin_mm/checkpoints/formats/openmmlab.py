"""The names of MMDetection, MMSegmentation and MMPretrain, which are our own.

SwinV2 exists in MMPretrain alone, where merging starts a stage; ours ends one, as in SwinV1, so
that freezing and learning rates count stages alike. Its files are the layout ``mmpretrain``.
"""

from __future__ import annotations

from dataclasses import replace

from swin_mm.checkpoints.formats.layout import Layout, Row
from swin_mm.checkpoints.formats.rules import TOKENS

BLOCK = "stages.{i}.blocks.{j}"
MSA = f"{BLOCK}.attn.w_msa"
FFN = f"{BLOCK}.ffn.layers"
MERGING = "stages.{i}.downsample"

_COMMON = (
    "patch_embed.projection.{t}",
    "patch_embed.norm.{t}",
    f"{BLOCK}.norm1.{{t}}",
    f"{MSA}.qkv.weight",
    f"{MSA}.proj.{{t}}",
    f"{BLOCK}.norm2.{{t}}",
    f"{FFN}.0.0.{{t}}",
    f"{FFN}.1.{{t}}",
    "norm{k}.{t}",
)
_V1 = tuple(
    f"{MSA}.{name}"
    for name in ("qkv.bias", "relative_position_bias_table", "relative_position_index")
)
_V2 = tuple(f"{MSA}.{name}" for name in ("q_bias", "v_bias", "logit_scale", "cpb_mlp.{m}.{t}"))
_BUFFERS_OF_V2 = (f"{MSA}.relative_position_index", f"{MSA}.relative_coords_table")
_MERGING = ("norm.{t}", "reduction.weight")


def _rows(
    names: tuple[str, ...], merging: str, *, unsaved: tuple[str, ...] = ()
) -> tuple[Row, ...]:
    return (
        Row("absolute_pos_embed", "absolute_pos_embed", TOKENS),
        *(Row(name, name) for name in names),
        *(Row(name, name, writes=False) for name in unsaved),
        *(Row(f"{merging}.{name}", f"{MERGING}.{name}") for name in _MERGING),
        # Converted ImageNet files keep the classifier's norm under its old name.
        Row("norm.{t}", "norm{last}.{t}", writes=False),
    )


OPENMMLAB = Layout(
    name="openmmlab",
    version=1,
    rows=_rows(_COMMON + _V1, MERGING),
    signature=f"{MSA}.qkv.weight",
    head="head.fc.{t}",
    ignores=(r"(head|head_dense|fc|classifier)\..*", r".*\.attn_mask", "mask_token"),
    oblong=True,
)

_LAST_MERGING = "stages.{last}.downsample.reduction.weight"

OPENMMLAB_V2 = replace(
    OPENMMLAB,
    version=2,
    rows=_rows(_COMMON + _V2, MERGING, unsaved=_BUFFERS_OF_V2),
    forbids=(_LAST_MERGING,),
)

MMPRETRAIN_V2 = replace(
    OPENMMLAB_V2,
    name="mmpretrain",
    rows=_rows(_COMMON + _V2, "stages.{i+1}.downsample", unsaved=_BUFFERS_OF_V2),
    needs=(_LAST_MERGING,),
    forbids=(),
    oblong=False,
)
