"""Configs and command lines of any kind: what they say, or one clear error."""

import copy
import warnings
from pathlib import Path

import pytest
import torch
from drawn_arguments import NAMES, SOUND, anything
from drawn_networks import build, options, pictures, sizes
from hypothesis import given, settings
from hypothesis import strategies as st
from mmengine.config import Config, ConfigDict

from swin_mm.backbones.arguments import OFFICIAL_NAMES
from swin_mm.engine.arguments import ToolParser
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes
from swin_mm.engine.options import merge_options
from swin_mm.registry import MODELS

FUZZ = settings.get_profile("fuzz")
KINDS = {1: "swin_mm.SwinTransformer", 2: "swin_mm.SwinTransformerV2"}


@st.composite
def cases(draw):
    version, made_of = draw(options())
    return version, made_of, draw(sizes(made_of["patch_size"], batches=1, tokens=5))


@FUZZ
@given(cases(), st.booleans(), st.booleans())
def test_a_config_builds_the_network_that_its_arguments_would(counted, case, as_text, official):
    counted()
    version, made_of, size = case
    given_names = dict(made_of)
    if official:
        for theirs, ours in OFFICIAL_NAMES.items():
            if ours in given_names:
                given_names[theirs] = given_names.pop(ours)
    cfg = ConfigDict(type=KINDS[version], drop_path_rate=0.0, **given_names)
    if as_text:  # as a config is saved beside a run
        text = f"model = {cfg.to_dict()!r}"
        cfg = Config.fromstring(text, ".py").model
    before = copy.deepcopy(cfg)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of the official names
        net = MODELS.build(cfg)
    assert cfg == before
    wanted = build(version, made_of)
    net.load_state_dict(wanted.state_dict())
    x = pictures(size, made_of["in_channels"], memory="contiguous").float()
    with torch.no_grad():
        assert all(torch.equal(a, b) for a, b in zip(net(x), wanted(x), strict=True))
    frozen = [name for name, p in net.named_parameters() if not p.requires_grad]
    assert frozen == [name for name, p in wanted.named_parameters() if not p.requires_grad]


@FUZZ
@given(
    st.sampled_from([*KINDS.values(), "SwinTransformer", "swin_mm.SwinTransfomer", "swin_mm.Swin"]),
    st.dictionaries(st.sampled_from(NAMES), anything(), max_size=2),
)
def test_any_config_builds_a_network_or_is_one_clear_error(counted, kind, changes):
    counted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            MODELS.build({"type": kind, **SOUND, **changes})
        except (ValueError, TypeError) as error:
            assert kind in KINDS.values() or kind == "SwinTransformer"
            names = {*changes, *(OFFICIAL_NAMES.get(name, name) for name in changes)}
            assert any(name in str(error) for name in [*names, "torch.compile"]), error
        except KeyError as error:  # MMEngine's own for types that nobody knows
            assert kind not in KINDS.values(), error
            assert kind.rpartition(".")[2] in str(error)
        else:
            assert kind in KINDS.values() or kind == "SwinTransformer"


CONFIGS = ["mask_rcnn_swin_t.py", "upernet_swin_t.py"]
KEYS = ["model", "backbone", "depths", "type", "train_dataloader", "batch_size", "optim_wrapper"]
KEYS += ["param_scheduler", "0", "7", "-1", "train_cfg", "dataset", "neck", "out_channels", "x"]
KEYS += [
    "default_hooks",
    "checkpoint",
    "interval",
    "custom_hooks",
    "lr",
    "optimizer",
    "é",
    "_base_",
]
VALUES = ["3", "0.1", "[2,2]", "(4,4)", "[", "a,b", "True", "None", "", "{'a':1}", "swin_mm.Swin"]
VALUES += ["swin_mm.SwinTransformer", "[[1,2],[3]]", "1e-4", "'x'", '"', "a=b", "=", "()", "$HOME"]


@st.composite
def pairs(draw):
    """A word of the command line, most of them KEY=VALUE."""
    key = ".".join(draw(st.lists(st.sampled_from(KEYS), min_size=0, max_size=4)))
    equals = draw(st.sampled_from(["=", "=", "=", "=", "", "=="]))
    value = draw(st.one_of(st.sampled_from(VALUES), st.text("ab01.,=[]()'\" -", max_size=6)))
    return f"{key}{equals}{value}"


@FUZZ
@given(st.sampled_from(CONFIGS), st.lists(pairs(), min_size=1, max_size=3))
def test_any_cfg_options_are_merged_or_one_clear_error(counted, name, words):
    counted()
    parser = ToolParser("fuzz")
    parser.add_run_arguments()
    cfg = copy.deepcopy(config(name))
    try:
        given_options = parser.parse_args(["--cfg-options", *words]).options
    except SystemExit as stop:  # its message is on stderr
        assert stop.code == 2
        return
    try:
        merge_options(cfg, given_options, Notes(speaks=False))
    except UsageError as error:
        assert str(error).startswith("--cfg-options "), error
        assert len(str(error)) > 40, error
        return
    for path, value in given_options.items():
        node = cfg._cfg_dict
        for key in path.split("."):
            node = node[int(key)] if isinstance(node, list) else node[key]
        last = [
            other for other in given_options if other.startswith(path) or path.startswith(other)
        ]
        assert node == value or len(last) > 1 or isinstance(value, dict), (path, node, value)


READ: dict[str, Config] = {}


def config(name: str) -> Config:
    if name not in READ:
        pytest.importorskip("mmdet")
        READ[name] = Config.fromfile(Path(__file__).parents[2] / "configs" / name)
    return READ[name]
