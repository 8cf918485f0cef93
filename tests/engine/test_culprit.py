"""What is found when a batch is computed again, and how it is told."""

from contextlib import contextmanager

import pytest
import torch
from mmengine.model import BaseModel
from mmengine.structures import BaseDataElement
from torch import nn

from swin_mm.engine.culprit import (
    Culprit,
    describe_first,
    find_culprit,
    first_in_state,
    pictures_of,
    tell,
    tensors_in,
)

NAN, INF = float("nan"), float("inf")


class Chain(BaseModel):
    """Two layers whose output a function turns into losses."""

    def __init__(self, losses):
        super().__init__()
        self.first, self.last, self.losses = nn.Linear(2, 2), nn.Linear(2, 1), losses

    def forward(self, inputs, mode="loss"):
        return self.losses(self, self.last(self.first(inputs)).mean())


def found(losses, inputs=None, *, change=None, scale=lambda loss: loss, entered=None):
    model = Chain(losses)
    if change:
        change(model)

    @contextmanager
    def context():
        if entered is not None:
            entered.append(torch.is_grad_enabled())
        yield

    data = {"inputs": torch.ones(3, 2) if inputs is None else inputs}
    with torch.no_grad():  # as within an optimizer's step
        culprit = find_culprit(model, data, context=context, scale=scale)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_hooks for module in model.modules())
    assert not any(p._post_accumulate_grad_hooks for p in model.parameters())
    return culprit


def sound(model, x):
    return {"loss_a": x.square(), "loss_b": x}


def test_where_everything_is_finite_nothing_is_named():
    entered = []
    assert found(sound, entered=entered) == Culprit()
    assert entered == [True]


def test_terms_that_are_not_finite_are_named_without_their_sum():
    culprit = found(lambda model, x: {"loss_a": x, "loss_b": x * INF, "note": x * INF})
    assert list(culprit.terms) == ["loss_b", "note"]
    assert culprit.where.startswith("the outputs of all modules are finite")


def test_the_first_module_is_named_and_not_a_later_one():
    def spoil(model):
        model.first.weight.data[:] = 1e38

    where = found(sound, torch.full((3, 2), 1e3), change=spoil).where
    assert where.startswith("first module whose output is not finite: first (Linear), 6 infinite")


@pytest.mark.parametrize("learned", [True, False])
def test_the_first_gradient_is_named_of_an_output_or_a_parameter(learned):
    def rooted(model, x):
        return {"loss": x + ((model.last.bias if learned else x) * 0).abs().sqrt().sum()}

    where = found(rooted).where
    named = "the parameter last.bias, 1 NaN" if learned else "the output of last (Linear), 3 NaN"
    assert f"first that with respect to {named}" in where


def test_what_is_frozen_is_not_watched():
    def freeze(model):
        model.first.requires_grad_(False)

    assert found(sound, change=freeze) == Culprit()


def test_the_gradient_is_that_of_the_scaled_loss():
    where = found(sound, scale=lambda loss: loss * 1e38 * 1e5).where
    assert "the loss is finite, its gradient is not" in where


def test_inputs_that_are_not_finite_end_the_search():
    culprit = found(sound, torch.tensor([[1.0, NAN]]))
    assert culprit.where == (
        "what goes into the model is not finite already: 1 NaN of its 1 x 2 values, torch.float32"
    )


def test_gradients_from_before_are_not_taken_for_new_ones():
    def spoil(model):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, NAN)

    assert found(sound, change=spoil) == Culprit()


def test_a_batch_that_cannot_be_computed_again_is_told():
    def fails(model, x):
        raise KeyError("gone")

    assert found(fails).where == "the batch could not be computed again (KeyError: 'gone')"


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (torch.tensor([[NAN, INF, -INF], [1.0, NAN, 0.0]]), "2 NaN and 2 infinite of its 2 x 3"),
        (torch.tensor(INF), "1 infinite of its 1 values, torch.float32"),
        (torch.tensor([NAN], dtype=torch.float16), "1 NaN of its 1 values, torch.float16"),
        (torch.tensor([complex(NAN, 0)]), "1 NaN of its 1 values, torch.complex64"),
    ],
)
def test_how_much_is_not_finite_is_counted(tensor, text):
    assert describe_first([torch.ones(2), torch.tensor([1]), tensor, torch.tensor(NAN)]).startswith(
        text
    )
    assert not describe_first([torch.ones(2), torch.tensor([True])])


def test_tensors_and_pictures_are_found_however_deep_they_lie():
    one, two, three = (torch.tensor(float(number)) for number in range(3))
    nested = {"a": [one, ({"b": two},)], "c": "text", "d": (three, None)}
    assert list(tensors_in(nested)) == [one, two, three]
    samples = [BaseDataElement(metainfo={"img_path": f"{name}.jpg"}) for name in "ab"]
    data = {"inputs": [one], "data_samples": {"sup": samples[:1], "rest": (samples[1], object())}}
    assert list(pictures_of(data)) == ["a.jpg", "b.jpg"]


def test_the_first_of_parameters_and_buffers_that_is_not_finite_is_named():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    assert first_in_state(model) == ""
    model[1].running_var[1] = INF
    assert first_in_state(model) == "1.running_var, 1 infinite of its 2 values, torch.float32"
    model[0].bias.data[0] = NAN
    assert first_in_state(model).startswith("0.bias, 1 NaN of its 2 values")


def test_of_several_processes_those_that_found_something_are_told():
    idle, guilty = Culprit(["a.jpg"]), Culprit(["b.jpg"], {"loss_b": INF}, "it is here")
    termed = Culprit([], {"loss_c": NAN})
    lines = tell([idle, guilty, termed])
    assert lines[:4] == [
        "process 1: not finite: loss_b inf",
        "process 1: it is here",
        "process 1: pictures of the batch:",
        "  b.jpg",
    ]
    assert lines[4] == "process 2: not finite: loss_c nan"
    assert lines[5].startswith("process 2: computed again, everything was finite")
    assert lines[-1] == "  no data sample names its img_path"
    assert "a.jpg" not in str(lines)


def test_where_no_process_found_anything_all_are_told():
    lines = tell([Culprit(["a.jpg"]), Culprit(["b.jpg"])])
    assert {"  a.jpg", "  b.jpg"} < set(lines)
    (said, *_) = tell([Culprit()])
    assert said.startswith("computed again, everything was finite")
