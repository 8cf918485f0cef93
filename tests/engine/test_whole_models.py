"""What becomes of a checkpoint between the file and MMEngine's own loading."""

from collections import OrderedDict

import pytest
import torch
from mmengine.model import BaseModel, BaseTTAModel
from random_weights import randomise
from torch import nn

from swin_mm import SwinClassifier, SwinTransformer
from swin_mm.checkpoints import CheckpointError, convert, to_layout
from swin_mm.engine.whole_models import complaint, fit_to_model, parts_in, with_state_dict

TINY = {"embed_dims": 4, "depths": (1, 1), "num_heads": (1, 1), "out_indices": (0, 1)}
TINY |= {"strides": (4, 2), "window_size": 2}


class Detector(BaseModel):
    """A backbone, a neck and a head."""

    def __init__(self, backbone: nn.Module | None = None) -> None:
        super().__init__()
        self.backbone = backbone or SwinTransformer(**TINY)
        self.neck = nn.Linear(4, 4)
        self.head = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    def forward(self, inputs):
        return inputs


class Averaging(BaseTTAModel):
    """A model that tests another in several versions."""

    def merge_preds(self, data_samples_list):
        return data_samples_list


def drawn(seed: int = 0) -> Detector:
    return randomise(Detector(), seed)


def filled(checkpoint: dict) -> Detector:
    """Load a checkpoint as MMEngine does after its hooks."""
    model = drawn(seed=1)
    fit_to_model(checkpoint, model)
    model.load_state_dict(checkpoint["state_dict"], strict=False)
    return model


def assert_same(one: nn.Module, other: nn.Module) -> None:
    left, right = one.state_dict(), other.state_dict()
    assert left.keys() == right.keys()
    assert [name for name in left if not torch.equal(left[name], right[name])] == []


def renamed(state: dict, form: str) -> dict:
    return {form.format(name): tensor for name, tensor in state.items()}


def test_a_checkpoint_of_mmengines_stays_the_object_that_it_is():
    state = drawn().state_dict()
    checkpoint = {
        "meta": {"iter": 3}, "message_hub": {}, "optimizer": {}, "state_dict": state,
        "ema_state_dict": renamed(state, "module.{}") | {"steps": torch.tensor(3)},
    }  # fmt: skip
    before = dict(checkpoint)
    assert with_state_dict(checkpoint) is checkpoint
    assert fit_to_model(checkpoint, drawn()) == ()
    assert checkpoint.keys() == before.keys()
    assert all(checkpoint[key] is before[key] for key in before)


@pytest.mark.parametrize(
    "container", ["state_dict", "model", "model_state", "net", "model_ema", "module.state_dict"]
)
@pytest.mark.parametrize("form", ["{}", "module.{}", "_orig_mod.{}", "module.module._orig_mod.{}"])
def test_every_container_and_wrapper_gives_the_whole_model(container, form):
    model = drawn()
    state = renamed(model.state_dict(), form)
    holder = {"net": {"state_dict": state}} if "." in container else {container: state}
    checkpoint = with_state_dict({**holder, "epoch": 3, "optimizer": {"state": {}}})
    assert checkpoint["epoch"] == 3
    assert checkpoint["optimizer"] == {"state": {}}
    assert_same(filled(checkpoint), model)


def test_a_bare_file_comes_under_state_dict_with_what_is_no_tensor_beside_it():
    model = drawn()
    checkpoint = with_state_dict({**model.state_dict(), "epoch": 3})
    assert checkpoint.keys() == {"epoch", "state_dict"}
    assert_same(filled(checkpoint), model)


def test_versions_of_modules_come_along_under_the_new_names():
    state = OrderedDict(renamed(drawn().state_dict(), "module.{}"))
    state._metadata = OrderedDict({"module.head.1": {"version": 2}})
    kept = with_state_dict({"model": state})["state_dict"]
    assert kept._metadata == {"head.1": {"version": 2}}


def test_a_file_without_tensors_is_left_to_whoever_asked_for_it():
    checkpoint = {"meta": {}, "results": [1]}
    assert with_state_dict(checkpoint) is checkpoint


@pytest.mark.parametrize("layout", ["openmmlab", "microsoft-dense", "huggingface-backbone"])
def test_a_backbone_of_any_layout_comes_with_the_heads_beside_it(layout):
    model = drawn()
    state = {k: v for k, v in model.state_dict().items() if not k.startswith("backbone.")}
    state |= renamed(to_layout(model.backbone.state_dict(), layout), "backbone.{}")
    assert_same(filled(with_state_dict({"state_dict": state})), model)


def test_what_stands_before_the_whole_model_is_taken_off():
    model = drawn()
    state = renamed(model.state_dict(), "detector.{}") | {"student.loss": torch.ones(1)}
    checkpoint = {"state_dict": state}
    assert_same(filled(checkpoint), model)
    assert "student.loss" not in checkpoint["state_dict"]


@pytest.mark.parametrize("form", ["{}", "encoder.{}", "module.{}"])
@pytest.mark.parametrize("layout", ["openmmlab", "microsoft-dense"])
def test_a_backbone_alone_fills_the_backbone_and_nothing_else(layout, form, monkeypatch):
    told = []
    monkeypatch.setattr(
        "swin_mm.engine.whole_models.print_log", lambda text, **_: told.append(text)
    )
    model, before = drawn(), drawn(seed=1)
    state = renamed(to_layout(model.backbone.state_dict(), layout), form)
    checkpoint = with_state_dict({"model": state})
    missing = fit_to_model(checkpoint, before)
    assert {name.partition(".")[0] for name in missing} == {"neck", "head"}
    after = filled(checkpoint)
    assert_same(after.backbone, model.backbone)
    assert_same(after.head, before.head)
    assert "fills model.backbone" in told[0]
    assert "neck, head beside it keeps its first values" in told[0]


@pytest.mark.parametrize("layers", ["averaging", "devices", "devices, averaging"])
def test_wrapped_models_are_looked_into(layers):
    model = Averaging(module=TestStep()) if "averaging" in layers else Detector()
    model = nn.DataParallel(model) if "devices" in layers else model
    checkpoint = {"state_dict": drawn().state_dict()}
    assert fit_to_model(checkpoint, model) == ()


class TestStep(Detector):
    """A detector that can be tested."""

    __test__ = False

    def test_step(self, data):
        return data


def test_a_model_that_is_a_backbone_takes_its_own_names():
    checkpoint = {"state_dict": to_layout(drawn().backbone.state_dict(), "microsoft-dense")}
    assert fit_to_model(checkpoint, SwinTransformer(**TINY)) == ()


def test_what_is_missing_is_named_but_counters_are_not_missed():
    state = drawn().state_dict()
    counters = {name for name in state if name.endswith("num_batches_tracked")}
    for name in {"head.0.bias", *counters}:
        del state[name]
    missing = fit_to_model({"state_dict": state}, drawn())
    assert missing == ("head.0.bias",)
    assert "nothing for 1 parameters of head, the first head.0.bias" in complaint(missing)


@pytest.mark.parametrize(
    "checkpoint",
    [{"state_dict": {"layer1.0.conv1.weight": torch.ones(1)}}, {"state_dict": {}}, {"meta": {}}],
)
def test_a_file_with_nothing_for_the_model_is_refused(checkpoint):
    with pytest.raises(CheckpointError, match=r"must hold tensors of the model, as backbone\."):
        fit_to_model(checkpoint, drawn())


def test_models_with_other_backbones_are_filled_as_they_always_were():
    model = Detector(nn.Linear(4, 4))
    state = model.state_dict()
    assert fit_to_model({"state_dict": dict(state)}, model) == ()
    del state["backbone.bias"]
    assert fit_to_model({"state_dict": dict(state)}, model) == ("backbone.bias",)


def test_the_parts_of_a_file_are_told_from_a_backbone_alone():
    state = drawn().state_dict()
    assert parts_in({"model": renamed(state, "module.{}")}) == {"backbone", "neck", "head"}
    assert parts_in({"model": renamed(state, "detector.{}")}) == {"backbone", "neck", "head"}
    assert parts_in(drawn().backbone.state_dict()) == set()
    assert parts_in({"meta": {}}) == set()


def test_a_backbone_that_the_file_leaves_random_is_missing():
    state = drawn().state_dict()
    heads = {name: tensor for name, tensor in state.items() if not name.startswith("backbone.")}
    missing = fit_to_model({"state_dict": dict(heads)}, drawn())
    assert set(missing) == {f"backbone.{name}" for name, _ in drawn().backbone.named_parameters()}
    with pytest.raises(CheckpointError, match=r"under 'backbone.': no Swin found"):
        fit_to_model({"state_dict": {**heads, "backbone.norm0.weight": torch.ones(4)}}, drawn())
    del state["backbone.norm0.weight"]
    assert fit_to_model({"state_dict": state}, drawn()) == ("backbone.norm0.weight",)


def test_norms_that_a_layout_does_not_have_are_missing():
    model = drawn()
    state = {k: v for k, v in model.state_dict().items() if not k.startswith("backbone.")}
    written = to_layout(model.backbone.state_dict(), "timm", allow_loss=True)
    state |= renamed(written, "backbone.{}")
    missing = fit_to_model({"state_dict": state}, drawn())
    assert missing == ("backbone.norm0.weight", "backbone.norm0.bias")


def test_another_networks_backbone_is_refused():
    state = drawn().state_dict()
    wide = SwinTransformer(**{**TINY, "embed_dims": 8}).state_dict()
    with pytest.raises(CheckpointError, match=r"under 'backbone.': checkpoint has 8 channels"):
        fit_to_model({"state_dict": {**state, **renamed(wide, "backbone.{}")}}, drawn())


@pytest.mark.parametrize("layout", ["microsoft", "timm", "torchvision", "huggingface"])
def test_a_classifier_of_ours_is_filled_from_any_layout(layout):
    sizes = {name: value for name, value in TINY.items() if name != "out_indices"}
    source, model = (randomise(SwinClassifier(**sizes, num_classes=3), seed) for seed in (1, 2))
    checkpoint = with_state_dict(convert(source.state_dict(), layout).content)
    assert fit_to_model(checkpoint, model) == ()
    model.load_state_dict(checkpoint["state_dict"], strict=False)
    assert_same(model, source)
