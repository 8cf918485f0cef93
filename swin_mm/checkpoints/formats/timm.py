"""The names of timm since 0.9: Microsoft's, but merging starts a stage, and no buffers are kept."""

from __future__ import annotations

from dataclasses import replace

from swin_mm.checkpoints.formats.layout import Layout
from swin_mm.checkpoints.formats.microsoft import (
    ATTENTION_V1,
    ATTENTION_V2,
    COMMON,
    FINAL_NORM,
    LAST_MERGING,
    SIGNATURE,
    merging_rows,
)

_MERGING = "layers.{i+1}.downsample"
_COMMON = tuple(
    replace(row, writes=False) if row.our_names[0].endswith("_index") else row for row in COMMON
)
_V2 = tuple(row for row in ATTENTION_V2 if not row.our_names[0].endswith("_table"))

TIMM = Layout(
    name="timm",
    version=1,
    rows=(*_COMMON, *ATTENTION_V1, *merging_rows(_MERGING, version=1), FINAL_NORM),
    signature=SIGNATURE,
    head="head.fc.{t}",
    needs=(LAST_MERGING,),
    forbids=("layers.0.downsample.reduction.weight",),  # both: not of one origin
    ignores=(r"head\..*", r".*\.attn_mask"),
    oblong=True,
)

TIMM_V2 = replace(
    TIMM,
    version=2,
    rows=(*_COMMON, *_V2, *merging_rows(_MERGING, version=2), FINAL_NORM),
)
