import pytest
import torch

from swin_mm.checkpoints import CheckpointError, adapt_state_dict, load_pretrained


def test_a_file_is_loaded_by_its_path(build, as_imagenet, tmp_path):
    source, model = build(seed=1), build(seed=2)
    torch.save(as_imagenet(source), tmp_path / "swin.pth")
    report = load_pretrained(model, tmp_path / "swin.pth")
    ours, theirs = (net.stages[0].blocks[0].ffn.layers[1].weight for net in (model, source))
    assert torch.equal(ours, theirs)
    assert len(report.loaded) == len(dict(source.named_parameters())) - 4


@pytest.mark.parametrize("wrap", ["state_dict", "model", ""])
@pytest.mark.parametrize("prefix", ["", "module.", "backbone.", "module.backbone."])
def test_containers_and_prefixes_change_nothing(build, as_microsoft, same_tensors, wrap, prefix):
    source, model = build(seed=1), build(seed=2)
    file = {prefix + name: tensor for name, tensor in as_microsoft(source).items()}
    report = load_pretrained(model, {wrap: file} if wrap else file)
    assert same_tensors(model.state_dict(), source.state_dict()) == []
    assert (report.container, report.prefix) == (wrap, prefix)


def test_harmless_leftovers_are_quiet(build, as_imagenet):
    report = load_pretrained(build(), as_imagenet(build()))
    assert report.surprises == ()
    assert {dropped.name for dropped in report.dropped} >= {
        "head.weight",
        "layers.0.blocks.1.attn_mask",
        "layers.0.blocks.0.attn.relative_position_index",
    }
    assert "head" not in str(report) and "new: norm0, norm1" in str(report)


def test_stages_that_no_output_needs_are_quiet(build, as_microsoft):
    source, model = build(seed=1), build(seed=2, out_indices=(1,))
    report = load_pretrained(model, as_microsoft(source))
    picture = torch.randn(1, 3, 20, 31)
    assert torch.equal(model(picture)[0], source(picture)[1])
    assert report.missing == report.new == report.surprises == ()


def test_half_and_double_precision_are_taken(build, same_tensors):
    source = build(seed=1)
    halves = {name: tensor.half() for name, tensor in source.state_dict().items()}
    model = build(seed=2)
    load_pretrained(model, {name: tensor.double() for name, tensor in halves.items()})
    wanted = {name: tensor.float() for name, tensor in halves.items()}
    parameters = dict(model.named_parameters())
    assert same_tensors({name: wanted[name] for name in parameters}, parameters) == []


def test_another_depth_is_one_error_in_words(build):
    with pytest.raises(CheckpointError, match="depth 6 in stage 2, the model 4"):
        load_pretrained(build(), build(depths=(2, 2, 6)).state_dict())


def test_other_channels_and_heads_are_one_error_in_words(build):
    wide = build(embed_dims=16, num_heads=(2, 4, 8)).state_dict()
    with pytest.raises(CheckpointError, match="16 channels in stage 0, the model 8; 2 heads"):
        load_pretrained(build(), wide)


def test_a_refused_file_leaves_the_model_as_it_was(build, same_tensors):
    model = build()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    broken = build(seed=1).state_dict()
    broken["norm2.weight"] = torch.ones(5)
    with pytest.raises(CheckpointError, match=r"norm2\.weight is \(5,\), the model's \(32,\)"):
        load_pretrained(model, broken)
    assert same_tensors(model.state_dict(), before) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mlp_ratio": 2}, "mlp_ratio"),
        ({"in_channels": 4}, "in_channels, patch_size"),
    ],
)
def test_a_shape_that_no_rule_covers_names_the_argument(build, changes, said):
    with pytest.raises(CheckpointError, match=said):
        load_pretrained(build(), build(**changes).state_dict())


@pytest.mark.parametrize(
    ("changes", "layer", "said"),
    [
        ({"use_abs_pos_embed": True}, "absolute_pos_embed", "use_abs_pos_embed"),
        ({"qkv_bias": True}, "stages.0.blocks.0.attn.w_msa", "qkv_bias"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_what_only_one_side_has_is_said(build_either, changes, layer, said, version):
    with_it = build_either(version, **changes)
    without = build_either(version, **{name: not value for name, value in changes.items()})
    report = load_pretrained(without, with_it.state_dict())
    assert any(d.name.startswith(layer) and said in d.why for d in report.surprises)
    report = load_pretrained(with_it, without.state_dict())
    assert any(name.startswith(layer) for name in report.missing)
    assert layer in str(report)


@pytest.mark.parametrize("lacking", ["relative_position_bias_table", "norm1.bias", "proj.weight"])
def test_a_network_that_lacks_tensors_is_refused(build, lacking):
    state = build().state_dict()
    name = f"stages.1.blocks.0.attn.w_msa.{lacking}".replace("attn.w_msa.norm1", "norm1")
    del state[name]
    with pytest.raises(CheckpointError, match=f"lacks 1, the first {name}"):
        load_pretrained(build(), state)


def test_an_unknown_tensor_in_the_backbone_is_a_surprise(build, as_microsoft):
    file = {**as_microsoft(build()), "layers.0.blocks.0.gamma": torch.ones(8)}
    report = load_pretrained(build(), file)
    assert [dropped.name for dropped in report.surprises] == ["layers.0.blocks.0.gamma"]
    assert "dropped: layers.0.blocks.0.gamma (not a name of microsoft-dense)" in str(report)


def test_foreign_files_are_one_error(build):
    with pytest.raises(CheckpointError, match=r"no Swin found.*'conv1\.weight'"):
        load_pretrained(build(), {"state_dict": {"conv1.weight": torch.ones(1)}})


def test_a_merging_of_odd_length_is_one_error(build, as_microsoft):
    broken = as_microsoft(build())
    broken["layers.0.downsample.norm.weight"] = torch.ones(33)
    with pytest.raises(CheckpointError, match=r"layers\.0\.downsample\.norm\.weight must hold 4 C"):
        load_pretrained(build(), broken)


@pytest.mark.parametrize(
    "shape", [(), (0,), (5,), (1, 1), (2, 3, 4), (1, 2, 3, 4), (1, 1, 1, 1, 1)]
)
@pytest.mark.parametrize(
    "name",
    [
        "absolute_pos_embed",
        "patch_embed.proj.weight",
        "layers.0.blocks.0.attn.relative_position_bias_table",
        "layers.0.blocks.0.mlp.fc1.weight",
        "layers.0.downsample.reduction.weight",
        "layers.0.downsample.norm.bias",
    ],
)
def test_a_tensor_of_any_odd_shape_is_one_error(build, as_microsoft, name, shape):
    model = build(use_abs_pos_embed=True, pretrain_img_size=16)
    file = {**as_microsoft(model), name: torch.ones(shape)}
    with pytest.raises(CheckpointError):
        load_pretrained(model, file)


@pytest.mark.parametrize("shape", [(), (9,), (0, 0), (9, 8), (9, 9, 9)])
def test_an_index_of_any_odd_shape_is_one_error(build, shape):
    state = build().state_dict()
    state["stages.0.blocks.0.attn.w_msa.relative_position_index"] = torch.ones(shape).long()
    with pytest.raises(CheckpointError, match="fits no window"):
        load_pretrained(build(window_size=4), state)


def test_whole_numbers_are_no_weights(build):
    state = build().state_dict()
    state["norm0.weight"] = state["norm0.weight"].to(torch.int8)
    with pytest.raises(CheckpointError, match=r"norm0\.weight is torch\.int8"):
        load_pretrained(build(), state)
    state["norm0.weight"] = torch.ones(8).to_sparse()
    with pytest.raises(CheckpointError, match=r"norm0\.weight is torch\.sparse_coo"):
        load_pretrained(build(), state)


def test_adapting_gives_what_loading_takes(build, as_microsoft, same_tensors):
    source, model = build(seed=1), build(seed=2)
    tensors, report = adapt_state_dict(as_microsoft(source), model)
    parameters = dict(source.named_parameters())
    assert same_tensors(tensors, parameters) == []
    assert set(report.loaded) == parameters.keys()


@pytest.mark.parametrize("version", [1, 2])
def test_norms_that_only_one_side_has_are_said_or_refused(build_either, version):
    """A fresh norm is no identity; a fresh bias is."""
    with_norms, without = (build_either(version, patch_norm=has) for has in (True, False))
    with pytest.raises(CheckpointError, match=r"lacks 6, .* See the model's patch_norm"):
        load_pretrained(with_norms, without.state_dict())
    report = load_pretrained(without, with_norms.state_dict())
    assert {entry.why for entry in report.surprises} == {"the model has none, see patch_norm"}


def test_a_swin_over_video_is_refused_as_one(build, as_microsoft):
    file = as_microsoft(build())
    file["patch_embed.proj.weight"] = torch.ones(8, 3, 2, 4, 4)
    with pytest.raises(CheckpointError, match="a Swin over video"):
        load_pretrained(build(), file)


def test_the_other_versions_file_is_one_error_in_words(build, build_v2):
    with pytest.raises(CheckpointError, match=r"is a SwinV2, the model a Swin\. Build swin_mm"):
        load_pretrained(build(), build_v2().state_dict())
    with pytest.raises(CheckpointError, match=r"is a Swin, the model a SwinV2\. Build swin_mm"):
        load_pretrained(build_v2(), build().state_dict())


def test_the_way_to_resize_reaches_the_tables(build):
    source, models = build(seed=1), [build(seed=2, window_size=6) for _ in range(2)]
    reports = [
        load_pretrained(model, source.state_dict(), resize_bias=method)
        for model, method in zip(models, ("bicubic", "geometric"), strict=True)
    ]
    tables = [model.stages[0].blocks[0].attn.w_msa.relative_position_bias_table for model in models]
    assert not torch.allclose(*tables)
    assert reports[1].resized[0].how == "window 3x3 -> 6x6, geometric"


KINDS = {
    "meta": lambda t: t.to("meta"),
    "quantised": lambda t: torch.quantize_per_tensor(t, 0.1, 0, torch.qint8),
    "float8": lambda t: t.to(torch.float8_e4m3fn),
    "complex": lambda t: t.to(torch.complex64),
    "bool": lambda t: t.bool(),
    "sparse": lambda t: t.to_sparse(),
    "huge": lambda t: torch.zeros(1).expand(1 << 21, *t.shape),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["norm1.weight", "stages.0.blocks.0.attn.w_msa."])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("window", [3, 5])
def test_a_tensor_of_any_odd_kind_is_one_error_and_changes_nothing(
    build, same_tensors, kind, window, name
):
    if name.endswith("."):
        name += "relative_position_bias_table"
    model = build(seed=2, window_size=window)
    before = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    state = build(seed=1).state_dict()
    state[name] = KINDS[kind](state[name])
    with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
        load_pretrained(model, state)
    assert same_tensors(model.state_dict(), before) == []


@pytest.mark.parametrize("shape", [(8, 3, 0, 4), (8, 0, 4, 4), (0, 3, 4, 4)])
def test_a_patch_convolution_of_nothing_is_refused(build, shape):
    state = {**build().state_dict(), "patch_embed.projection.weight": torch.zeros(shape)}
    with pytest.raises(CheckpointError):
        load_pretrained(build(), state)


def test_an_unknown_way_to_resize_is_refused_though_nothing_is_resized(build):
    with pytest.raises(CheckpointError, match=r"must be one of .*, got 'cubic'"):
        load_pretrained(build(), build().state_dict(), resize_bias="cubic")


@pytest.mark.parametrize("stage", [64, 10**9, "9" * 5000])
def test_stages_beyond_belief_are_one_error(build, stage):
    state = build().state_dict()
    state[f"stages.{stage}.blocks.0.attn.w_msa.qkv.weight"] = torch.zeros(3, 1)
    try:
        load_pretrained(build(), state)
    except CheckpointError as error:
        assert "fewer than 64 stages" in str(error) or "no Swin" in str(error)


@pytest.mark.parametrize("version", [1, 2])
def test_a_network_built_on_meta_takes_weights_by_assignment(build_either, version):
    source = build_either(version, seed=1)
    with torch.device("meta"):
        kind = type(source)
        sizes = {"embed_dims": 8, "depths": (2, 2, 4), "num_heads": (1, 2, 4)}
        model = kind(**sizes, strides=(4, 2, 2), out_indices=(0, 1, 2), window_size=3)
    model.load_state_dict(source.state_dict(), assign=True)
    picture = torch.randn(1, 3, 20, 31)
    assert all(map(torch.equal, model.eval()(picture), source(picture)))


def test_what_a_model_adds_to_a_swin_keeps_its_first_values(build, as_microsoft, same_tensors):
    source, model = build(seed=1), build(seed=2)
    model.adapter = torch.nn.Linear(4, 4)
    model.register_buffer("steps", torch.ones(1))
    before = model.adapter.weight.clone()
    report = load_pretrained(model, as_microsoft(source))
    assert report.new == ("steps", "adapter.weight", "adapter.bias")
    assert torch.equal(model.adapter.weight, before) and not report.missing
    assert set(same_tensors(model.state_dict(), source.state_dict())) <= set(report.new)


def test_a_layer_that_was_wrapped_under_another_name_is_not_left_random(build):
    model = build(seed=2)
    block = model.stages[0].blocks[0].attn.w_msa
    block.qkv = torch.nn.Sequential(block.qkv)
    with pytest.raises(CheckpointError, match=r"lacks 2, the first .*qkv\.0\.weight"):
        load_pretrained(model, build(seed=1).state_dict())
