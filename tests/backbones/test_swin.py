"""What the first version does in its own way; what both do alike is in test_body.py."""

import pytest
import torch
from random_weights import randomise

from swin_mm import SwinTransformer

NARROW = {"embed_dims": 8, "depths": (2, 2, 2, 2), "num_heads": (1, 2, 2, 4)}


def build(**options):
    return randomise(SwinTransformer(**{**NARROW, **options}))


def test_a_table_has_a_row_for_each_offset_of_an_oblong_window():
    model = build(window_size=((2, 4), 3, (1, 5), 7))
    tables = [stage.blocks[0].attn.w_msa.relative_position_bias_table for stage in model.stages]
    assert [tuple(table.shape) for table in tables] == [(21, 1), (25, 2), (9, 2), (169, 4)]


def test_fresh_bias_tables_are_drawn_and_norms_let_everything_pass():
    model = SwinTransformer(variant="tiny")
    tables = [p for n, p in model.named_parameters() if n.endswith("bias_table")]
    assert torch.cat([t.flatten() for t in tables]).std().item() == pytest.approx(0.02, rel=0.05)
    norms = [p for n, p in model.named_parameters() if "norm" in n and n.endswith("weight")]
    assert all((weight == 1).all() for weight in norms)


def test_the_factor_of_the_scores_may_be_given():
    x = torch.randn(1, 3, 32, 32)
    own, same, other = (
        build(qk_scale=scale, num_heads=(1, 2, 4, 8)).eval()(x)[3] for scale in (None, 8**-0.5, 1.0)
    )
    assert torch.equal(own, same)
    assert not torch.allclose(own, other)
