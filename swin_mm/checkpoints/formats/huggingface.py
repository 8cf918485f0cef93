"""The names of HuggingFace's transformers: queries, keys and values apart.

``save_pretrained`` writes the names of its fourth version, in the fifth too, whose modules in
memory have names of their own (``huggingface-5``), for SwinV1 alone. A backbone (``SwinBackbone``)
has a norm for each output, and in the fifth version a final one too, which it does not use;
SwinV2's has no norms at all. MaskFormer's own Swin has them beside it, numbered from 0.
"""

from __future__ import annotations

from dataclasses import replace

from swin_mm.checkpoints.formats.layout import Layout, Row, same
from swin_mm.checkpoints.formats.microsoft import merging_rows
from swin_mm.checkpoints.formats.openmmlab import BLOCK, FFN, MSA
from swin_mm.checkpoints.formats.rules import CLASS_TOKEN, IN_PARTS

_BLOCK = "encoder.layers.{i}.blocks.{j}"
_ATTENTION = f"{_BLOCK}.attention.self"
_MERGING = "encoder.layers.{i}.downsample"
_PARTS = ("query", "key", "value")


def _joined(attention: str, parts: tuple[str, ...], kind: str) -> Row:
    """The row of queries, keys and values, weights or biases."""
    return Row(tuple(f"{attention}.{part}.{kind}" for part in parts), f"{MSA}.qkv.{kind}", IN_PARTS)


_EMBEDDINGS = (
    # Never written: their number of positions changes with the version.
    Row("embeddings.position_embeddings", "absolute_pos_embed", CLASS_TOKEN, writes=False),
    Row("embeddings.patch_embeddings.projection.{t}", "patch_embed.projection.{t}"),
    Row("embeddings.norm.{t}", "patch_embed.norm.{t}"),
)
_NORMS = (
    Row(f"{_BLOCK}.layernorm_before.{{t}}", f"{BLOCK}.norm1.{{t}}"),
    Row(f"{_BLOCK}.layernorm_after.{{t}}", f"{BLOCK}.norm2.{{t}}"),
)
_COMMON = (
    *_EMBEDDINGS,
    *_NORMS,
    _joined(_ATTENTION, _PARTS, "weight"),
    Row(f"{_BLOCK}.attention.output.dense.{{t}}", f"{MSA}.proj.{{t}}"),
    Row(f"{_BLOCK}.intermediate.dense.{{t}}", f"{FFN}.0.0.{{t}}"),
    Row(f"{_BLOCK}.output.dense.{{t}}", f"{FFN}.1.{{t}}"),
)
_V1 = (
    *_COMMON,
    _joined(_ATTENTION, _PARTS, "bias"),
    *same(_ATTENTION, MSA, "relative_position_bias_table", "relative_position_index"),
    *merging_rows(_MERGING, version=1),
)
_FINAL_NORM = Row("layernorm.{t}", "norm{last}.{t}")
_OUTPUT_NORMS = Row("hidden_states_norms.stage{k+1}.{t}", "norm{k}.{t}")
_AN_OUTPUT_NORM = "hidden_states_norms.stage{k+1}.weight"

HUGGINGFACE = Layout(
    name="huggingface",
    version=1,
    rows=(*_V1, _FINAL_NORM),
    signature=f"{_ATTENTION}.query.weight",
    head="classifier.{t}",
    beside=(Row("hidden_states_norms.{k}.{t}", "norm{k}.{t}"),),
    forbids=(_AN_OUTPUT_NORM,),
    ignores=(r"classifier\..*", r"embeddings\.mask_token", r"pooler\..*"),
)

HUGGINGFACE_BACKBONE = replace(
    HUGGINGFACE,
    name="huggingface-backbone",
    rows=(*_V1, _OUTPUT_NORMS),
    head=None,
    beside=(),
    needs=(_AN_OUTPUT_NORM,),
    forbids=(),
    ignores=(*HUGGINGFACE.ignores, r"(swin\.)?layernorm\..*"),
)

HUGGINGFACE_V2 = replace(
    HUGGINGFACE,
    version=2,
    beside=(),
    rows=(
        *_COMMON,
        Row(f"{_ATTENTION}.query.bias", f"{MSA}.q_bias"),
        Row(f"{_ATTENTION}.value.bias", f"{MSA}.v_bias"),
        Row(f"{_ATTENTION}.logit_scale", f"{MSA}.logit_scale"),
        Row(
            f"{_ATTENTION}.continuous_position_bias_mlp.{{m}}.{{t}}",
            f"{MSA}.cpb_mlp.{{m}}.{{t}}",
        ),
        *(
            Row(f"{_ATTENTION}.{name}", f"{MSA}.{name}", writes=False)
            for name in ("relative_position_index", "relative_coords_table")
        ),
        *merging_rows(_MERGING, version=2),
        _FINAL_NORM,
    ),
)

_ATTENTION_5 = f"{_BLOCK}.attention"
_PARTS_5 = ("q_proj", "k_proj", "v_proj")
_TABLE_5 = f"{_ATTENTION_5}.relative_position_bias.relative_position_bias_table"

HUGGINGFACE_5 = replace(
    HUGGINGFACE,
    name="huggingface-5",
    rows=(
        *_EMBEDDINGS,
        *_NORMS,
        _joined(_ATTENTION_5, _PARTS_5, "weight"),
        _joined(_ATTENTION_5, _PARTS_5, "bias"),
        Row(f"{_ATTENTION_5}.o_proj.{{t}}", f"{MSA}.proj.{{t}}"),
        Row(_TABLE_5, f"{MSA}.relative_position_bias_table"),
        Row(f"{_BLOCK}.mlp.fc1.{{t}}", f"{FFN}.0.0.{{t}}"),
        Row(f"{_BLOCK}.mlp.fc2.{{t}}", f"{FFN}.1.{{t}}"),
        *merging_rows(_MERGING, version=1),
        _FINAL_NORM,
    ),
    beside=(_OUTPUT_NORMS,),
    signature=f"{_ATTENTION_5}.q_proj.weight",
    forbids=(),
)
