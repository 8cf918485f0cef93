"""The backbone by its name in a config, as the hosts look it up."""

import importlib.util
import json
import subprocess
import sys

import pytest
from mmengine.registry import MODELS

import swin_mm

TINY = "embed_dims=8, depths=(1, 1, 1, 1), num_heads=(1, 2, 2, 4)"


# A process that has what no host and nothing of ours takes part in; each code runs in a fork of it.
FORKS = """
import json, os, sys
import cv2, matplotlib.pyplot, mmengine.runner, numpy, torch

for name, code in json.load(sys.stdin).items():
    if os.fork() == 0:
        print(name, end="=", flush=True)
        exec(code, {})
        sys.stdout.flush()
        os._exit(0)
    os.wait()
"""

ORDERS = {
    "scope alone": "",
    "host first": "import {host}.registry, {host}; import swin_mm",
    "ours first": "import swin_mm; import {host}",
    "custom_imports": "from mmengine.utils import import_modules_from_strings as load; "
    "load(['swin_mm'])",
}
LOOK_UP = """
from {host}.registry import MODELS
from mmengine.registry import DefaultScope
DefaultScope.get_instance("test", scope_name="{host}")
print(type(MODELS.build(dict(type="swin_mm.SwinTransformer", {tiny}))).__module__)
"""
NAMESAKE = """
import swin_mm, mmdet.models
from mmdet.registry import MODELS
print(MODELS.get("SwinTransformer").__module__)
"""
MERGER = """
from mmengine.registry import MODELS
MODELS.get("swin_mm.SwinTransformer")
print("swin_mm.engine" in sys.modules, MODELS.get("swin_mm.InstanceTTAModel").__module__)
"""
HOSTS = [name for name in ("mmdet", "mmseg", "mmengine") if importlib.util.find_spec(name)]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What each order of imports printed, by host and order; and mmdet's own Swin."""
    codes = {
        f"{host}, {order}": f"{first}\n{LOOK_UP}".format(host=host, tiny=TINY)
        for host in HOSTS
        for order, first in ORDERS.items()
    }
    codes["merger"] = f"import sys{MERGER}"
    if "mmdet" in HOSTS:
        codes["namesake"] = NAMESAKE
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKS],
        input=json.dumps(codes),
        cwd=tmp_path_factory.mktemp("elsewhere"),
        capture_output=True,
        text=True,
        check=False,
    )
    told = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert told.keys() == codes.keys(), done.stderr
    return told


@pytest.mark.parametrize("host", ["mmdet", "mmseg", "mmengine"])
@pytest.mark.parametrize("order", ORDERS)
def test_the_scope_finds_the_backbone_whatever_was_imported_before(host, order, printed):
    pytest.importorskip(host)
    assert printed[f"{host}, {order}"] == "swin_mm.backbones.swin"


def test_mmdetections_own_swin_keeps_its_name(printed):
    pytest.importorskip("mmdet")
    assert printed["namesake"] == "mmdet.models.backbones.swin"


def test_the_scope_finds_what_tests_merge_with_and_loads_it_no_sooner(printed):
    assert printed["merger"] == "False swin_mm.engine.tta"


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
