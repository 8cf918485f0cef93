import functools
import re
from pathlib import Path

import pytest
import torch
from torch import nn

import swin_mm
from swin_mm.ops import attention
from swin_mm.ops.attention import AttentionCase, attention_report
from swin_mm.ops.attention.choice import OBSTACLES

TINY = dict(embed_dims=8, depths=(2, 1), num_heads=(1, 2), strides=(4, 2), out_indices=(0, 1))
SWINS = [
    functools.partial(swin, window_size=2, **TINY)
    for swin in (swin_mm.SwinTransformer, swin_mm.SwinTransformerV2)
]


def of(report):
    return [(one.where, one.number, one.taken) for one in report.cases]


@pytest.mark.parametrize("with_cp", [False, True])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("swin", SWINS)
def test_the_report_names_what_is_run(monkeypatch, swin, training, with_cp):
    net, run = swin(with_cp=with_cp).train(training), set()
    for stage in net.stages:
        for block in stage.blocks:  # watched, it does not take the CPU's own way
            block.attn.register_forward_hook(lambda *_: None)
    for name, attend in attention.BACKENDS.items():

        def watched(*args, name=name, attend=attend, **rest):
            run.add(name)
            return attend(*args, **rest)

        monkeypatch.setitem(attention.BACKENDS, name, watched)
    with torch.set_grad_enabled(training):
        outs = net(torch.rand(1, 3, 24, 24))
    if training and with_cp:  # what was run so far was run without gradients
        run.clear()
        sum(out.sum() for out in outs).backward()
    assert {one.taken for one in attention_report(net).cases} == run


def test_alike_attentions_of_a_stage_stand_together():
    net = SWINS[0]().eval()
    assert of(attention_report(net)) == [
        ("stages.0.blocks.0.attn.w_msa", 2, "sdpa"),
        ("stages.1.blocks.0.attn.w_msa", 1, "sdpa"),
    ]
    first = attention_report(net).cases[0].case
    assert (first.tokens, first.heads, first.channels, first.mask) == (4, 1, 8, "shared")


def test_every_argument_changes_what_is_asked():
    net = SWINS[0](attn_drop_rate=0.1).eval()
    cases = [
        attention_report(net, **given).cases[0].case
        for given in (
            dict(device="cuda:1"),
            dict(dtype=torch.bfloat16),
            dict(training=True),
            dict(compiled=True),
        )
    ]
    cuda, half, training, compiled = cases
    assert cuda.device == "cuda"
    assert half.dtype == torch.bfloat16
    assert training.bias_learns and training.tokens_learn and training.dropout
    assert compiled.compiled and compiled.mask == "one a window"
    plain = attention_report(net).cases[0].case
    assert plain == AttentionCase("cpu", torch.float32, 4, 1, 8, mask="shared")


def test_cosines_are_float32_at_least():
    net = SWINS[1]()
    assert attention_report(net, dtype=torch.float16).cases[0].case.dtype == torch.float32


def test_a_single_case_has_a_report_and_it_reads_well():
    case = AttentionCase("cuda", torch.float16, 64, 3, 12, bias_learns=True, tokens_learn=True)
    report = attention_report(case)
    assert report.cases[0].obstacles.keys() == OBSTACLES.keys()
    lines = str(report).splitlines()
    assert lines[0] == "1 with windows of 64 tokens, 3 heads of 12 channels, float16 on cuda"
    assert lines[1] == (
        "  sdpa       cannot run: wants heads of a multiple of 8 channels in float16, got 12"
    )
    assert lines[2] == "  reference  taken"


def test_on_the_cpu_the_last_line_says_who_computes_plain_blocks(monkeypatch):
    monkeypatch.setattr("swin_mm.ops.attention.report.why_not", lambda: None)
    monkeypatch.setattr("swin_mm.ops.attention.report.level", lambda: "avx2")
    net = SWINS[0]()
    assert str(attention_report(net)).endswith("plain ones run by compiled kernels (avx2)")
    for swin in SWINS:  # of V2 the cosines are float32, the tokens are not
        report = attention_report(swin(), dtype=torch.float16)
        assert "they are for tokens of float32 and bfloat16" in report.blocks
    for elsewhere in (dict(device="cuda"), dict(compiled=True)):
        report = attention_report(net, **elsewhere)
        assert report.blocks is None and "plain ones" not in str(report)
    monkeypatch.setattr("swin_mm.ops.attention.report.why_not", lambda: "not compiled")
    assert "torch's operators" in attention_report(net).blocks
    assert str(attention_report(net)).endswith("(no compiled kernels: not compiled)")


def test_a_module_without_window_attention_is_refused():
    with pytest.raises(ValueError, match="got Linear without any; pass a backbone of swin_mm"):
        attention_report(nn.Linear(2, 2))


def test_the_page_shows_what_the_report_prints(monkeypatch, capsys):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    page = Path(__file__).parents[3].joinpath("docs/attention.md").read_text()
    code, shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)\.\.\.\n```", page, re.S).groups()
    exec(code, {})
    assert capsys.readouterr().out.startswith(shown)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_it_says_where_products_are_wider_than_asked(dtype, half_products):
    net = SWINS[0]()
    for has in (True, False):
        half_products(has)
        said = str(attention_report(net, dtype=dtype))
        assert said.endswith("products in float32, faster here") == (not has)
    assert "float32, faster" not in str(attention_report(net))
