"""Every layout, by files that the real peers saved and what they computed with them.

tests/fixtures/README.md says who made which. Tests marked `peers` ask the peers themselves, in the
environments of `make peers`.
"""

import json
import os
import subprocess
from pathlib import Path

import pytest
import torch
from official_swin import Sizes, logits
from peer_fixtures import case_of, picture, read_fixtures
from random_weights import worst_difference

import swin_mm
from swin_mm.checkpoints import (
    TARGETS,
    CheckpointError,
    convert,
    load_classifier,
    load_pretrained,
    save_checkpoint,
)

ROOT = Path(__file__).parents[2]
BOUND = 1e-5  # of the largest value
FIXTURES = read_fixtures()
BY_NAME = {fixture.name: fixture for fixture in FIXTURES}
CONVERTIBLE = [fixture for fixture in FIXTURES if fixture.target in TARGETS]


def named(fixture):
    return fixture.name


def build(fixture, arguments):
    return getattr(swin_mm, fixture.network)(**arguments).eval()


def load(fixture, network, source):
    loader = load_classifier if fixture.is_classifier else load_pretrained
    return loader(network, source)


def run(network, size):
    with torch.no_grad():
        found = network(picture(size).to(next(network.parameters()).dtype))
    return [found] if torch.is_tensor(found) else list(found)


def worst_of(found, wanted):
    assert [tuple(tensor.shape) for tensor in found] == [tuple(tensor.shape) for tensor in wanted]
    return max(map(worst_difference, found, wanted))


@pytest.mark.parametrize("fixture", FIXTURES, ids=named)
def test_a_peers_file_loads_by_itself_and_computes_what_the_peer_computed(fixture):
    for size, arguments in fixture.cases:
        network = build(fixture, arguments)
        report = load(fixture, network, fixture.file)
        assert report.layout == fixture.layout and not report.missing
        assert {entry.name for entry in report.resized} <= {"absolute_pos_embed"}
        assert worst_of(run(network, size), fixture.outputs(size)) < BOUND, size
        exact = run(network.double(), size)
        assert worst_of(exact, fixture.outputs(size)) < BOUND / 20, size  # theirs is float32


@pytest.mark.parametrize("fixture", FIXTURES, ids=named)
def test_nothing_in_a_peers_file_is_a_surprise(fixture):
    report = load(fixture, build(fixture, fixture.cases[0][1]), fixture.file)
    assert not report.surprises


@pytest.mark.parametrize("fixture", FIXTURES, ids=named)
def test_no_tensor_of_a_peers_file_hides_from_the_outputs(fixture):
    """A mistake in the row of a tensor without effect would pass for parity."""
    size, arguments = fixture.cases[-1]
    network = build(fixture, arguments)
    report = load(fixture, network, fixture.file)
    found = network(picture(size))
    maps = [found] if torch.is_tensor(found) else found
    sum((m * torch.randn_like(m)).sum() for m in maps).backward()
    parameters = {n: p for n, p in network.named_parameters() if n in report.loaded}
    hidden = {n for n, p in parameters.items() if float((p.grad * p.detach()).abs().max()) < 1e-4}
    assert len(parameters) > 60 and not hidden


@pytest.mark.parametrize("fixture", FIXTURES, ids=named)
def test_a_wrong_order_of_merged_tokens_is_seen(fixture):
    size, arguments = fixture.cases[-1]
    network = build(fixture, arguments)
    load(fixture, network, fixture.file)
    backbone = network.backbone if fixture.is_classifier else network
    weight = backbone.stages[0].downsample.reduction.weight
    weight.data = weight.view(len(weight), -1, 4).transpose(1, 2).reshape(weight.shape)
    assert worst_of(run(network, size), fixture.outputs(size)) > 100 * BOUND


@pytest.mark.parametrize(
    "name", ["torchvision-v1", "torchvision-v2", "mmdet", "mmpretrain-backbone-v2"]
)
def test_the_other_rule_for_small_maps_is_seen(name):
    fixture = BY_NAME[name]
    size, arguments = next(case for case in fixture.cases if case[0] == (24, 96))
    network = build(fixture, arguments)
    load(fixture, network, fixture.file)
    for module in network.modules():
        if hasattr(module, "small_maps"):
            module.small_maps = "shift" if fixture.is_classifier else "still"
    assert worst_of(run(network, size), fixture.outputs(size)) > 100 * BOUND


@pytest.mark.parametrize("name", [name for name in BY_NAME if name.endswith("v2")])
def test_a_scale_past_the_clamp_is_seen(name, monkeypatch):
    fixture = BY_NAME[name]
    size, arguments = fixture.cases[0]
    network = build(fixture, arguments)
    load(fixture, network, fixture.file)
    monkeypatch.setattr("swin_mm.ops.attention.cosine.LARGEST_SCALE", 1000)
    assert worst_of(run(network, size), fixture.outputs(size)) > 10 * BOUND


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("timm-0.6-v1", Sizes(4, (1, 2, 2), (1, 2, 2), window=3, picture=48)),
        (
            "timm-0.6-v2",
            Sizes(
                *(4, (1, 2, 2), (1, 2, 2)),
                window=4,
                version=2,
                picture=64,
                pretrained_windows=(6, 5, 3),
            ),
        ),
    ],
)
def test_the_stand_in_for_the_authors_code_computes_what_timms_first_port_does(name, sizes):
    fixture = BY_NAME[name]
    size = (sizes.picture, sizes.picture)
    state = torch.load(fixture.file, weights_only=True)
    found = logits(state, picture(size), sizes)
    assert worst_difference(found, fixture.outputs(size)[0]) < 1e-6


def maker_of(fixture):
    """The environment where the peer is, the script that made the fixture, and its arguments."""
    if fixture.peer.startswith("tests/"):
        return ".venv", "official_networks"
    if fixture.name.startswith("mm"):
        peer = fixture.name.split("-")[0]
        return {"mmdet": ".venv"}.get(peer, f".peers/{peer}"), "openmmlab_networks", peer
    earlier = fixture.name.startswith(("timm-0", "huggingface-4"))
    return f".peers/{'earlier' if earlier else 'current'}", f"{fixture.name.split('-')[0]}_networks"


def need(environment):
    if not (ROOT / environment / "bin/python").exists():
        pytest.skip(f"{environment} is not built: make peers")


def ask(environment, script, *arguments):
    """Run one of the makers by an environment's Python."""
    done = subprocess.run(
        [
            ROOT / environment / "bin/python",
            "-W",
            "ignore",
            ROOT / f"tests/fixtures/makers/{script}.py",
            *arguments,
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT / "tests/support")},
    )
    assert done.returncode == 0, done.stderr[-3000:]


def write_in_their_layout(fixture, folder):
    """Load a fixture into our network, save that, and convert it."""
    network = build(fixture, fixture.cases[0][1])
    load(fixture, network, fixture.file)
    arguments = fixture.cases[0][1]
    window = None
    if (fixture.target, arguments.get("version")) == ("torchvision", 2):  # whose files tell it
        window = (arguments["window_size"],) * 2
    done = convert(network.state_dict(), fixture.target, window=window)
    written = folder / f"theirs{fixture.file.suffix}"
    save_checkpoint(done.content if written.suffix == ".pth" else done.tensors, written)


@pytest.fixture(scope="session")
def answers(tmp_path_factory):
    """A folder of what the peer of a fixture made of our file; each maker is asked once for all."""
    folder = tmp_path_factory.mktemp("answers")
    asked = set()

    def answer(fixture):
        maker = maker_of(fixture)
        need(maker[0])
        if maker not in asked:
            asked.add(maker)
            for other in [f for f in CONVERTIBLE if maker_of(f) == maker]:
                (folder / other.name).mkdir()
                try:
                    write_in_their_layout(other, folder / other.name)
                except CheckpointError as error:
                    (folder / other.name / "failure.txt").write_text(str(error))
            ask(*maker, "--check", folder)
        return folder / fixture.name

    return answer


@pytest.mark.peers
@pytest.mark.parametrize("fixture", CONVERTIBLE, ids=named)
def test_a_converted_file_loads_strictly_into_the_peer_and_computes_the_same(fixture, answers):
    answer = answers(fixture)
    failure = answer / "failure.txt"
    assert not failure.exists(), failure.read_text()[-3000:]
    for size, _ in fixture.cases:
        found = case_of(size, answer / "outputs.safetensors")
        assert worst_of(found, fixture.outputs(size)) < BOUND, size


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """Torchvision's recorded logits, and its weights made anew from the recorded seed."""
    named = os.environ.get("SWIN_MM_GOLDEN")
    if not named:
        pytest.skip("SWIN_MM_GOLDEN names no folder of recorded logits")
    need(".peers/current")
    golden = json.loads((Path(named) / "torchvision_swin.json").read_text())["logits"]
    folder = tmp_path_factory.mktemp("golden")
    ask(".peers/current", "torchvision_golden", folder)
    return folder, {name: torch.tensor(values)[None] for name, values in golden.items()}


@pytest.mark.peers
@pytest.mark.parametrize(("name", "version", "window"), [("swin_t", 1, 7), ("swin_v2_t", 2, 8)])
def test_torchvisions_recorded_logits_come_out(recorded, name, version, window):
    folder, golden = recorded
    made = torch.load(folder / f"{name}.pth", weights_only=True)
    assert worst_difference(made["logits"], golden[name]) < 1e-4  # torchvision's own, first
    network = swin_mm.SwinClassifier(
        variant="tiny", version=version, window_size=window, num_classes=50
    )
    load_classifier(network.eval(), folder / f"{name}-weights.pth")
    with torch.no_grad():
        found = network(made["x"])
    assert float((found - golden[name]).abs().max()) < 1e-4
