"""The names of microsoft/Swin-Transformer and of the authors' detectors and segmentors.

timm before 0.9 and the backbone files of Mask2Former are named likewise.
"""

from __future__ import annotations

from swin_mm.checkpoints.formats.layout import Layout, Row
from swin_mm.checkpoints.formats.merging import CONCATENATED

_THEIRS, _OURS = "layers.{i}.blocks.{j}", "stages.{i}.blocks.{j}"

_ROWS = (
    Row("absolute_pos_embed", "absolute_pos_embed"),
    Row("patch_embed.proj.{t}", "patch_embed.projection.{t}"),
    Row("patch_embed.norm.{t}", "patch_embed.norm.{t}"),
    Row(f"{_THEIRS}.norm1.{{t}}", f"{_OURS}.norm1.{{t}}"),
    Row(f"{_THEIRS}.attn.qkv.{{t}}", f"{_OURS}.attn.w_msa.qkv.{{t}}"),
    Row(f"{_THEIRS}.attn.proj.{{t}}", f"{_OURS}.attn.w_msa.proj.{{t}}"),
    *(
        Row(f"{_THEIRS}.attn.{name}", f"{_OURS}.attn.w_msa.{name}")
        for name in ("relative_position_bias_table", "relative_position_index")
    ),
    Row(f"{_THEIRS}.norm2.{{t}}", f"{_OURS}.norm2.{{t}}"),
    Row(f"{_THEIRS}.mlp.fc1.{{t}}", f"{_OURS}.ffn.layers.0.0.{{t}}"),
    Row(f"{_THEIRS}.mlp.fc2.{{t}}", f"{_OURS}.ffn.layers.1.{{t}}"),
    Row("layers.{i}.downsample.norm.{t}", "stages.{i}.downsample.norm.{t}", CONCATENATED),
    Row(
        "layers.{i}.downsample.reduction.weight",
        "stages.{i}.downsample.reduction.weight",
        CONCATENATED,
    ),
)

_SIGNATURE = f"{_THEIRS}.attn.qkv.weight"
_NEIGHBOURS = (
    f"{_THEIRS}.attn.logit_scale",  # SwinV2
    "layers.{last}.downsample.reduction.weight",  # timm since 0.9: merging starts the next stage
)
_LEFTOVERS = (r"head\..*", r".*\.attn_mask", "mask_token")

MICROSOFT = Layout(
    name="microsoft",
    rows=(*_ROWS, Row("norm.{t}", "norm{last}.{t}")),
    signature=_SIGNATURE,
    forbids=(*_NEIGHBOURS, "norm{k}.weight"),
    ignores=_LEFTOVERS,
)

MICROSOFT_DENSE = Layout(
    name="microsoft-dense",
    rows=(*_ROWS, Row("norm{k}.{t}", "norm{k}.{t}")),
    signature=_SIGNATURE,
    needs=("norm{k}.weight",),
    forbids=_NEIGHBOURS,
    ignores=_LEFTOVERS,
)
