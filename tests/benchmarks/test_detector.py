"""A detector's iterations on drawn scenes, narrow; what is measured on photographs is the same."""

import json

import pytest

pytest.importorskip("mmdet.models")

import detector  # benchmarks/detector.py: conftest.py says where it lies


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    out = tmp_path_factory.mktemp("detector") / "detector.json"
    words = ["--small", "--rounds", "2", "--threads", "1", "--machine", "mine", "--out", str(out)]
    assert detector.main(words) == 0
    return json.loads(out.read_text())


def test_all_start_with_one_loss_on_the_same_batches(held):
    found = held["loss without stochastic depth"]
    assert set(found) == set(detector.NETWORKS)
    assert max(found.values()) - min(found.values()) < 1e-4 * max(found.values())
    assert len(held["pictures, px"]) == 2


def test_a_round_is_the_sum_of_its_parts(held):
    for network in detector.NETWORKS:
        parts = held["parts, median seconds"][network]
        assert set(parts) == set(detector.PARTS)
        assert all(seconds > 0 for seconds in parts.values())
        middle = held["seconds"][network]["median"]  # of two rounds: their mean, as the parts'
        assert sum(parts.values()) == pytest.approx(middle, abs=1e-3)


def test_ratios_are_of_rounds_and_the_run_is_told(held):
    ratio = held["ratio of rounds"]["mmdet / swin_mm"]
    assert 0 < ratio["min"] <= ratio["median"] <= ratio["max"]
    theirs, ours = held["rounds"]["mmdet"], held["rounds"]["swin_mm"]
    assert ratio["max"] == pytest.approx(max(map(float.__truediv__, theirs, ours)), rel=1e-2)
    assert held["machine"] == "mine"
    assert held["command"].startswith("python benchmarks/detector.py --small --rounds 2")


def test_only_the_backbone_differs(held, tmp_path):
    """Seen by the names of all parameters, and by what recomputes."""
    from swin_mm.data import write_scenes

    write_scenes(tmp_path / "scenes", train=2, val=1, seed=0, size=(96, 72), jobs=1)
    cfg = detector.read(tmp_path / "scenes", small=True)
    built = detector.build(cfg, detector.NARROW)
    models = {name: one.model for name, one in built.items()}
    assert len({tuple(model.state_dict()) for model in models.values()}) == 1
    assert [type(model.backbone).__module__.split(".")[0] for model in models.values()] == [
        "swin_mm",
        "swin_mm",
        "mmdet",
    ]
    recompute = [models[name].backbone.stages[0].blocks[0].with_cp for name in detector.NETWORKS]
    assert recompute == [False, True, False]


def test_photographs_are_asked_for_where_none_are_named(monkeypatch, capsys):
    monkeypatch.delenv("SWIN_MM_REAL_DATA", raising=False)
    with pytest.raises(SystemExit):
        detector.main([])
    assert "SWIN_MM_REAL_DATA must name a folder" in capsys.readouterr().err
