"""The names of MMDetection, MMSegmentation and MMPretrain, which are our own."""

from __future__ import annotations

from swin_mm.checkpoints.formats.layout import Layout, Row

_BLOCK = "stages.{i}.blocks.{j}"

OUR_NAMES = (
    "absolute_pos_embed",
    "patch_embed.projection.{t}",
    "patch_embed.norm.{t}",
    f"{_BLOCK}.norm1.{{t}}",
    f"{_BLOCK}.attn.w_msa.relative_position_bias_table",
    f"{_BLOCK}.attn.w_msa.relative_position_index",
    f"{_BLOCK}.attn.w_msa.qkv.{{t}}",
    f"{_BLOCK}.attn.w_msa.proj.{{t}}",
    f"{_BLOCK}.norm2.{{t}}",
    f"{_BLOCK}.ffn.layers.0.0.{{t}}",
    f"{_BLOCK}.ffn.layers.1.{{t}}",
    "stages.{i}.downsample.norm.{t}",
    "stages.{i}.downsample.reduction.weight",
    "norm{k}.{t}",
)

OPENMMLAB = Layout(
    name="openmmlab",
    rows=(
        *(Row(name, name) for name in OUR_NAMES),
        # MMSegmentation's converted ImageNet files keep the classifier's norm under its old name.
        Row("norm.{t}", "norm{last}.{t}", writes=False),
    ),
    signature=f"{_BLOCK}.attn.w_msa.qkv.weight",
    # MMPretrain's SwinV2, whose merging stands at the start of the next stage.
    forbids=(f"{_BLOCK}.attn.w_msa.logit_scale",),
    ignores=(r"(head|fc|classifier)\..*", r".*\.attn_mask"),
)
