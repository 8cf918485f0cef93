"""The backbone by its name in a config, as the hosts look it up."""

import subprocess
import sys
import textwrap

import pytest
from mmengine.registry import MODELS

import swin_mm

TINY = "embed_dims=8, depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 4)"


def run(code, *, cwd):
    """Run code in a fresh process, which has imported nothing."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("host", ["mmdet", "mmseg", "mmengine"])
@pytest.mark.parametrize("order", ["scope alone", "host first", "ours first", "custom_imports"])
def test_the_scope_finds_the_backbone_whatever_was_imported_before(host, order, tmp_path):
    pytest.importorskip(host)
    first = {
        "scope alone": "",
        "host first": f"import {host}.registry, {host}; import swin_mm",
        "ours first": f"import swin_mm; import {host}",
        "custom_imports": "from mmengine.utils import import_modules_from_strings as load; "
        "load(['swin_mm'])",
    }[order]
    printed = run(
        f"""
        {first}
        from {host}.registry import MODELS
        from mmengine.registry import DefaultScope
        DefaultScope.get_instance("test", scope_name="{host}")
        print(type(MODELS.build(dict(type="swin_mm.SwinTransformer", {TINY}))).__module__)
        """,
        cwd=tmp_path,
    )
    assert printed == "swin_mm.backbones.swin"


def test_mmdetections_own_swin_keeps_its_name(tmp_path):
    pytest.importorskip("mmdet")
    printed = run(
        """
        import swin_mm, mmdet.models
        from mmdet.registry import MODELS
        print(MODELS.get("SwinTransformer").__module__)
        """,
        cwd=tmp_path,
    )
    assert printed == "mmdet.models.backbones.swin"


def test_a_misspelt_name_gets_the_near_ones():
    with pytest.raises(KeyError, match=r"did you mean swin_mm\.SwinTransformer "):
        MODELS.build({"type": "swin_mm.SwinTransfomer"})


def test_asking_whether_a_misspelt_name_is_there_is_no_error():
    assert "SwinTransformer" in swin_mm.registry.MODELS
    assert "SwinTransfomer" not in swin_mm.registry.MODELS


def test_a_name_far_from_ours_is_left_to_the_hosts():
    with pytest.raises(KeyError, match="is not in the"):
        MODELS.build({"type": "swin_mm.FPN"})


def test_the_public_names_are_there():
    assert all(hasattr(swin_mm, name) for name in swin_mm.__all__)
    assert swin_mm.SwinTransformer is MODELS.get("swin_mm.SwinTransformer")
