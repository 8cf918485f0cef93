"""The names of microsoft/Swin-Transformer and of the authors' detectors and segmentors.

timm before 0.9 and the backbone files of Mask2Former are named likewise; SimMIM's and MoBY's have a
prefix more.
"""

from __future__ import annotations

from dataclasses import replace

from swin_mm.checkpoints.formats.layout import Layout, Row, same
from swin_mm.checkpoints.formats.openmmlab import BLOCK, FFN, MERGING, MSA
from swin_mm.checkpoints.formats.rules import CONCATENATED, IMAGE, TOKENS

_BLOCK = "layers.{i}.blocks.{j}"
_ATTENTION = f"{_BLOCK}.attn"

COMMON = (
    Row("patch_embed.proj.{t}", "patch_embed.projection.{t}"),
    Row("patch_embed.norm.{t}", "patch_embed.norm.{t}"),
    *same(_BLOCK, BLOCK, "norm1.{t}", "norm2.{t}"),
    *same(_ATTENTION, MSA, "qkv.weight", "proj.{t}", "relative_position_index"),
    Row(f"{_BLOCK}.mlp.fc1.{{t}}", f"{FFN}.0.0.{{t}}"),
    Row(f"{_BLOCK}.mlp.fc2.{{t}}", f"{FFN}.1.{{t}}"),
)
ATTENTION_V1 = same(_ATTENTION, MSA, "qkv.bias", "relative_position_bias_table")
ATTENTION_V2 = (
    *same(_ATTENTION, MSA, "q_bias", "v_bias", "logit_scale", "cpb_mlp.{m}.{t}"),
    *same(_ATTENTION, MSA, "relative_coords_table"),
    Row(f"{_ATTENTION}.rpe_mlp.{{m}}.{{t}}", f"{MSA}.cpb_mlp.{{m}}.{{t}}", writes=False),  # SimMIM
)
FINAL_NORM = Row("norm.{t}", "norm{last}.{t}")
_OUTPUT_NORMS = Row("norm{k}.{t}", "norm{k}.{t}")
_POSITIONS = Row("absolute_pos_embed", "absolute_pos_embed", TOKENS)
_IMAGE_OF_POSITIONS = replace(_POSITIONS, rule=IMAGE)


def merging_rows(merging: str, *, version: int) -> tuple[Row, ...]:
    """Rows of a merging that concatenates; SwinV2's norm follows the reduction and has no order."""
    rule = CONCATENATED if version == 1 else None
    return (
        Row(f"{merging}.norm.{{t}}", f"{MERGING}.norm.{{t}}", rule),
        Row(f"{merging}.reduction.weight", f"{MERGING}.reduction.weight", CONCATENATED),
    )


SIGNATURE = f"{_ATTENTION}.qkv.weight"
LAST_MERGING = "layers.{last}.downsample.reduction.weight"  # timm since 0.9 alone has one there
_MERGING = "layers.{i}.downsample"

MICROSOFT = Layout(
    name="microsoft",
    version=1,
    rows=(
        _POSITIONS,
        *COMMON,
        *ATTENTION_V1,
        *merging_rows(_MERGING, version=1),
        FINAL_NORM,
    ),
    signature=SIGNATURE,
    head="head.{t}",
    forbids=(LAST_MERGING, "norm{k}.weight"),
    ignores=(r"(head|head_dense)\..*", r".*\.attn_mask", "mask_token"),
)

MICROSOFT_V2 = replace(
    MICROSOFT,
    version=2,
    rows=(
        _POSITIONS,
        *COMMON,
        *ATTENTION_V2,
        *merging_rows(_MERGING, version=2),
        FINAL_NORM,
    ),
)


def _dense(layout: Layout) -> Layout:
    """The same network in a detector: a norm for each output, positions kept as an image."""
    rows = {FINAL_NORM: _OUTPUT_NORMS, _POSITIONS: _IMAGE_OF_POSITIONS}
    return replace(
        layout,
        name="microsoft-dense",
        rows=tuple(rows.get(row, row) for row in layout.rows),
        head=None,
        needs=("norm{k}.weight",),
        forbids=(LAST_MERGING,),
    )


MICROSOFT_DENSE, MICROSOFT_DENSE_V2 = _dense(MICROSOFT), _dense(MICROSOFT_V2)
