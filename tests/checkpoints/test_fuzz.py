"""Files that are damaged, doubled, renamed or foreign: the right tensors, or one clear error."""

import pickle

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import swin_mm
from swin_mm.checkpoints import (
    LAYOUTS,
    CheckpointError,
    convert,
    describe,
    load_classifier,
    load_pretrained,
    read_checkpoint,
    save_checkpoint,
    to_layout,
)

MANY = settings(max_examples=150, deadline=None, suppress_health_check=[*HealthCheck])
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[*HealthCheck])
SIZES = {"embed_dims": 4, "depths": (1, 1), "num_heads": (1, 2), "strides": (4, 2)}
SIZES |= {"out_indices": (1,), "window_size": 2}
TABLES = [(name, version) for name, tables in LAYOUTS.items() for version in tables]


def network(version, seed=0, **changes):
    kind = swin_mm.SwinTransformer if version == 1 else swin_mm.SwinTransformerV2
    model = kind(**{**SIZES, **changes})
    generator = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.data.normal_(generator=generator)
    return model


SOURCES = {version: network(version, seed=1).state_dict() for version in (1, 2)}
TARGETS = {version: network(version, seed=2) for version in (1, 2)}
FILES = {
    (name, version): to_layout(SOURCES[version], name, allow_loss=True) for name, version in TABLES
}


def states_its_error(attempt):
    """Run what may fail, but with a CheckpointError alone, of more than a few words."""
    try:
        return attempt()
    except CheckpointError as error:
        assert len(str(error)) > 40, error
        return None


def is_right(version, kept=lambda name: True):
    ours, wanted = TARGETS[version].state_dict(), SOURCES[version]
    return all(
        torch.allclose(ours[name], wanted[name], atol=4e-3, rtol=4e-3)
        for name in wanted
        if kept(name) and not name.endswith("_index")
    )


@st.composite
def files(draw):
    """A file of any layout, with one thing done to it."""
    name, version = draw(st.sampled_from(TABLES))
    file = dict(FILES[name, version])
    key = draw(st.sampled_from(sorted(file)))
    tensor = file[key]
    change = draw(
        st.sampled_from(
            ["drop", "rename", "shape", "scalar", "double", "half", "int", "nothing", "prefix",
             "two prefixes", "extra", "wrap", "text"]
        )
    )  # fmt: skip
    if change == "drop":
        del file[key]
    elif change == "rename":
        at = draw(st.integers(0, len(key) - 1))
        file[key[:at] + draw(st.sampled_from(["", "x", ".", "0", "7"])) + key[at + 1 :]] = file.pop(
            key
        )
    elif change == "shape":
        file[key] = torch.ones(draw(st.lists(st.integers(0, 5), max_size=4)))
    elif change == "scalar":
        file[key] = torch.tensor(1.0)
    elif change in ("double", "half"):
        kind = torch.float64 if change == "double" else torch.float16
        file = {k: t.to(kind) if t.is_floating_point() else t for k, t in file.items()}
    elif change == "int":
        file[key] = tensor.to(torch.int32)
    elif change == "prefix":
        prefix = draw(st.sampled_from(["module.", "a.b.", "_orig_mod.", "backbone.bottom_up."]))
        file = {prefix + k: t for k, t in file.items()}
    elif change == "two prefixes":
        file |= {f"other.{k}": t for k, t in file.items()}
    elif change == "extra":
        file[draw(st.text(max_size=12))] = tensor
    elif change == "text":
        file[key] = draw(st.sampled_from(["text", 3, None, [tensor], {"a": tensor}]))
    elif change == "wrap":
        for container in draw(
            st.lists(st.sampled_from(["state_dict", "model", "net"]), max_size=3)
        ):
            file = {container: file, "epoch": 3}
    return name, version, change, file


@MANY
@given(files())
def test_any_file_loads_rightly_or_is_one_clear_error(case):
    _, version, change, file = case
    with torch.no_grad():
        for parameter in TARGETS[version].parameters():
            parameter.fill_(9.0)
    report = states_its_error(lambda: load_pretrained(TARGETS[version], file))
    if change in ("nothing", "double", "half", "prefix", "wrap"):
        assert report is not None and is_right(version)
    if report is not None:
        taken = {name for name in report.loaded if name not in {r.name for r in report.resized}}
        assert is_right(version, kept=lambda name: name in taken) or change in ("shape", "scalar")
    else:
        assert all((p == 9.0).all() for p in TARGETS[version].parameters())


@MANY
@given(files(), st.sampled_from(sorted(LAYOUTS)))
def test_any_file_is_converted_or_one_clear_error(case, to):
    _, version, _, file = case
    states_its_error(lambda: str(describe(file)))
    done = states_its_error(lambda: convert(file, to, window=(2, 2), allow_loss=True))
    if done is not None and not done.lost:
        states_its_error(lambda: load_pretrained(TARGETS[version], done.content))


@FEW
@given(st.data(), st.sampled_from([".pth", ".safetensors", ".pkl"]))
def test_a_file_cut_or_flipped_anywhere_is_read_or_one_clear_error(tmp_path_factory, data, ending):
    path = tmp_path_factory.getbasetemp() / f"whole{ending}"
    if not path.exists():
        save_checkpoint({k: v for k, v in FILES["microsoft", 1].items() if "norm" in k}, path)
    content = bytearray(path.read_bytes())
    at = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:at]
    else:
        content[at] ^= 1 << data.draw(st.integers(0, 7))
    broken = path.with_name(f"broken{ending}")
    broken.write_bytes(content)
    found = states_its_error(lambda: read_checkpoint(broken))
    assert found is None or isinstance(found, dict)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@FEW
@given(st.dictionaries(st.text(max_size=8) | st.integers(), JUNK, max_size=4))
def test_a_dictionary_of_anything_is_one_clear_error(content):
    for attempt in (
        lambda: load_pretrained(TARGETS[1], content),
        lambda: describe(content),
        lambda: convert(content, "timm"),
    ):
        with pytest.raises(CheckpointError):
            attempt()


@FEW
@given(JUNK, st.sampled_from([torch.save, lambda c, path: path.write_bytes(pickle.dumps(c))]))
def test_a_file_of_anything_is_a_dictionary_or_one_clear_error(tmp_path_factory, content, save):
    path = tmp_path_factory.getbasetemp() / "junk.pth"
    save(content, path)
    found = states_its_error(lambda: read_checkpoint(path))
    assert found is None or isinstance(found, dict)


@FEW
@given(st.lists(st.integers(0, 7), max_size=3), st.booleans())
def test_any_head_fits_or_is_one_clear_error(shape, has_bias):
    sizes = {name: value for name, value in SIZES.items() if name != "out_indices"}
    model = swin_mm.SwinClassifier(**sizes, num_classes=5)
    file = dict(FILES["microsoft", 1], **{"head.weight": torch.ones(shape)})
    if has_bias:
        file["head.bias"] = torch.ones(shape[:1])
    report = states_its_error(lambda: load_classifier(model, file))
    assert (report is not None) == (shape == [5, 8])
