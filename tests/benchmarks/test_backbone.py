"""The script as it is called."""

import json
import os
import subprocess
from pathlib import Path

import backbone
import pytest
from bench.cells import PEERS
from bench.measure import NotComparable

ROOT = Path(__file__).parents[2]
QUICK = ["--rounds", "1", "--seconds", "0", "--threads", "1", "--no-memory"]
CELL = ["--tasks", "inference", "--precisions", "fp32", "--cases", "64x64b1"]


@pytest.mark.usefixtures("narrow")
def test_a_cell_is_measured_printed_and_kept(tmp_path, capsys):
    out = tmp_path / "results.json"
    assert backbone.main([*QUICK, *CELL, "--out", str(out), "--machine", "mine"]) == 0
    held = json.loads(out.read_text())
    assert held["cells"][0]["mmdet / swin_mm"] > 0
    assert held["runs"][0]["machine"] == "mine"
    assert held["runs"][0]["command"].startswith("python benchmarks/backbone.py --rounds 1")
    assert capsys.readouterr().out.startswith("inference, fp32, tiny, 64x64 b1, mmdet: 0.")


def test_what_a_file_holds_is_not_measured_again(tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(backbone, "measure_cell", lambda cell, _: measured.append(cell) or {})
    words = [*QUICK, *CELL, "--out", str(tmp_path / "results.json")]
    backbone.main(words)
    backbone.main([*words, "--cases", "64x64b1", "64x96b1"])
    assert [cell.case for cell in measured] == ["64x64 b1", "64x96 b1"]
    backbone.main([*words, "--again"])
    assert len(measured) == 3


def test_a_cell_that_fails_is_not_kept_and_the_rest_go_on(tmp_path, monkeypatch, capsys):
    def measured(cell, _):
        if cell.case == "64x64 b1":
            raise NotComparable("apart")
        return {}

    monkeypatch.setattr(backbone, "measure_cell", measured)
    out = tmp_path / "results.json"
    words = [*QUICK, *CELL, "--cases", "64x64b1", "64x96b1", "--out", str(out)]
    assert backbone.main(words) == 1
    assert [cell["case"] for cell in json.loads(out.read_text())["cells"]] == ["64x96 b1"]
    assert "FAILED apart" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--cases", "64b1"], ["--rounds", "0"], ["--peers", "nobody"]])
def test_a_mistyped_option_is_refused(words, capsys):
    with pytest.raises(SystemExit):
        backbone.main(words)
    assert words[0] in capsys.readouterr().err


@pytest.mark.peers
def test_every_peer_takes_our_weights_and_its_turn(tmp_path):
    python = ROOT / ".peers/runtimes/bin/python"
    if not python.exists():
        pytest.skip(".peers/runtimes is not built: make peers")
    out, peers = tmp_path / "results.json", [peer for peer in PEERS if peer != "mmdet"]
    words = ["--cases", "224x224b1", "--tasks", "inference", "--precisions", "fp32"]
    done = subprocess.run(
        [python, ROOT / "benchmarks/backbone.py", *QUICK, *words, "--out", out, "--peers", *peers],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    cells = json.loads(out.read_text())["cells"]
    assert [cell["peer"] for cell in cells] == peers
    for cell in cells:
        peer = cell["peer"]
        assert cell[f"{peer} / swin_mm"] > 0 and cell["worst difference"][peer] < 1e-4
