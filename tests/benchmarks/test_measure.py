from dataclasses import replace

import pytest
import torch
from bench import measure
from bench.entrants import enter, participants
from bench.measure import NotComparable, Settings, measure_cell, memory_ratio, ratios
from bench.networks import Entrant

pytestmark = pytest.mark.usefixtures("narrow")
FAST = Settings(seconds=0, least=1, threads=1, memory=False)


@pytest.fixture
def instead(monkeypatch):
    """Put something in the place of a network."""

    def put(name, forward):
        def entered(what, *args, **options):
            return Entrant(forward) if what == name else enter(what, *args, **options)

        monkeypatch.setattr(measure, "enter", entered)

    return put


def test_a_slower_peer_has_a_ratio_above_one():
    medians = {"swin_mm": 2.0, "mmdet": 3.0, "mmdet with_cp": 5.0, "floor": 1.6}
    assert ratios(medians, "mmdet") == {
        "mmdet / swin_mm": 1.5,
        "mmdet with_cp / swin_mm": 2.5,
        "swin_mm / floor": 1.25,
    }


def test_less_memory_than_the_peers_is_below_one():
    assert memory_ratio({"swin_mm": 30, "mmdet": 60}, "mmdet") == {"memory swin_mm / mmdet": 0.5}
    assert memory_ratio({"swin_mm": 30}, "mmdet") == {}


def test_a_cell_holds_times_ratios_and_how_far_maps_were_apart(cell):
    found = measure_cell(cell, FAST)
    assert set(found["seconds"]) == {"swin_mm", "mmdet", "floor"}
    assert found["worst difference"]["mmdet"] < 1e-4
    medians = {name: one["median"] for name, one in found["seconds"].items()}
    assert ratios(medians, "mmdet").items() <= found.items()


def test_one_that_recomputes_stands_beside_both_of_mmdetections(cell):
    found = measure_cell(replace(cell, task="training with_cp"), FAST)
    assert set(found["seconds"]) == {"swin_mm", "mmdet", "mmdet with_cp"}
    nets = participants(replace(cell, task="training with_cp"))
    assert nets["swin_mm"] == "swin_mm with_cp" and nets["mmdet"] == "mmdet"


def test_what_fails_in_pure_bf16_is_said_and_ours_is_timed_alone(cell):
    found = measure_cell(replace(cell, precision="bf16"), FAST)
    assert "dtype" in found["why not"]["mmdet"]
    assert set(found["seconds"]) == {"swin_mm", "floor"}
    assert "mmdet / swin_mm" not in found


def test_other_maps_than_ours_are_no_result(cell, instead):
    net = enter("mmdet", cell)
    instead("mmdet", lambda x: [1.3 * one for one in net.forward(x)])
    with pytest.raises(NotComparable, match=r"within 0.0001 .* 3.0e-01 apart"):
        measure_cell(cell, FAST)


def test_maps_that_are_no_numbers_are_no_result(cell, instead):
    net = enter("mmdet", cell)
    instead("mmdet", lambda x: [one * torch.nan for one in net.forward(x)])
    with pytest.raises(NotComparable):
        measure_cell(cell, FAST)


def test_a_network_that_cannot_be_built_is_no_result(cell):
    with pytest.raises(NotComparable, match="cannot be built"):
        measure_cell(replace(cell, peer="nobody"), FAST)


def test_what_a_peer_cannot_do_is_not_tried(cell, monkeypatch):
    monkeypatch.setattr(measure, "enter", None)
    found = measure_cell(replace(cell, peer="onnxruntime", task="training"), FAST)
    assert found == {"why not": {"onnxruntime": "onnxruntime does not train"}}


def test_memory_that_cells_share_is_measured_once(cell, monkeypatch):
    asked = []
    monkeypatch.setattr(measure, "peak", lambda what, *_, **__: asked.append(what) or 10)
    settings = replace(FAST, memory=True, peaks={})
    for task in ("training", "training with_cp"):
        found = measure_cell(replace(cell, task=task), settings)
        assert found["memory swin_mm / mmdet"] == 1.0
    assert asked == ["swin_mm", "mmdet", "swin_mm with_cp", "mmdet with_cp"]
