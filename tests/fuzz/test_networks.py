"""Any network on any pictures: what the definition says, in every dtype, strides and mode."""

import brute_force_network
import pytest
import torch
from drawn_networks import MEMORY, build, is_close, options, pictures, sizes, worst
from hypothesis import given, settings
from hypothesis import strategies as st

FUZZ = settings.get_profile("fuzz")
TOLERANCES = {
    torch.float64: 1e-9,
    torch.float32: 1e-3,
    torch.bfloat16: 0.5,  # norms amplify where the channels of a token hardly differ
    torch.float16: 0.5,
}


@st.composite
def cases(draw):
    version, made_of = draw(options())
    return version, made_of, draw(sizes(made_of["patch_size"])), draw(st.sampled_from(MEMORY))


def definition(net, version, made_of, x):
    weights = {name: value.double() for name, value in net.named_parameters()}
    return brute_force_network.run(made_of, weights, x.double(), version=version)


@FUZZ
@given(cases(), st.sampled_from([*TOLERANCES]), st.sampled_from(["no_grad", "inference", "grad"]))
def test_any_network_finds_what_the_definition_says(counted, case, dtype, mode):
    counted()
    version, made_of, size, memory = case
    net = build(version, made_of).to(dtype).train(mode == "grad")
    x = pictures(size, made_of["in_channels"], memory=memory).to(dtype)
    modes = {"no_grad": torch.no_grad, "inference": torch.inference_mode, "grad": torch.enable_grad}
    with modes[mode]():
        maps = net(x)
    with torch.no_grad():
        truth = definition(net, version, made_of, x)
    assert len(maps) == len(truth)
    for ours, exact in zip(maps, truth, strict=True):
        assert ours.dtype == dtype
        assert is_close(ours, exact, TOLERANCES[dtype]), worst(ours, exact)
        wanted = torch.channels_last if made_of["channels_last"] else torch.contiguous_format
        assert ours.is_contiguous(memory_format=wanted)
    assert [m.shape[1] for m in maps] == net.out_channels


@FUZZ
@given(cases(), st.sampled_from([torch.float64, torch.float32]), st.booleans())
def test_any_network_learns_what_the_definition_says(counted, case, dtype, watched):
    counted()
    version, made_of, size, memory = case
    net = build(version, made_of).to(dtype)
    if watched:  # module by module, as under hooks, instead of by chunks
        for module in net.modules():
            module.register_forward_hook(lambda *_: None)
    x = pictures(size, made_of["in_channels"], memory=memory).to(dtype).requires_grad_()
    learned = {name: p for name, p in net.named_parameters() if p.requires_grad}

    def gradients(maps, wanted):
        total = sum(
            (out * torch.linspace(-1, 1, out.numel(), dtype=torch.float64).view(out.shape)).sum()
            for out in maps
        )
        return torch.autograd.grad(total, wanted, allow_unused=True)

    found = gradients(net(x), [x, *learned.values()])
    exact_x = x.detach().double().requires_grad_()
    weights = {name: p.detach().double() for name, p in net.named_parameters()}
    exact_weights = {name: weights[name].requires_grad_() for name in learned}
    truth = gradients(
        brute_force_network.run(made_of, weights, exact_x, version=version),
        [exact_x, *exact_weights.values()],
    )
    tolerance = 1e-7 if dtype == torch.float64 else 2e-2
    for name, ours, exact in zip(["x", *learned], found, truth, strict=True):
        if exact is None:
            assert ours is None or not ours.any(), name
        else:
            assert is_close(ours, exact, tolerance), (name, worst(ours, exact))
    assert len(learned) < len(weights) or made_of["frozen_stages"] < 0


def test_a_slip_of_the_network_would_be_seen():
    x = torch.randn(1, 3, 9, 11, dtype=torch.float64)
    made_of = {
        "in_channels": 3, "embed_dims": 4, "patch_size": (2, 2), "depths": (2,), "num_heads": (2,),
        "window_size": [(3, 2)], "mlp_ratio": 2, "out_indices": [0], "strides": ((2, 2),),
        "norm_cfg": {"type": "LN", "eps": 1e-5}, "act_cfg": {"type": "GELU"}, "patch_norm": True,
        "mask_padding": False, "small_maps": "shift", "qk_scale": None,
    }  # fmt: skip
    net = build(1, made_of).double()
    (right,) = definition(net, 1, made_of, x)
    assert is_close(net(x)[0], right, 1e-9)
    for change in ({"mask_padding": True}, {"qk_scale": 0.5}, {"window_size": [(2, 3)]}):
        (wrong,) = definition(net, 1, {**made_of, **change}, x)
        assert not is_close(net(x)[0], wrong, 1e-3), change
    with pytest.raises(ValueError):
        net(x[:, :2])
