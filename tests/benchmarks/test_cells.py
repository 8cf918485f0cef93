import backbone
import pytest
from bench.cells import PEERS, Cell, as_case, limit


def plan(*words):
    return backbone.plan(backbone.parse(list(words)))


@pytest.mark.parametrize("words", ["800x1344b1", "800x1344 b1"])
def test_a_case_is_read_with_and_without_a_space(words):
    assert as_case(words) == "800x1344 b1"


@pytest.mark.parametrize("words", ["800x1344", "0x64b1", "64b1", "64x64b1 "])
def test_a_mistyped_case_is_refused_with_an_example(words):
    with pytest.raises(ValueError, match="800x1344b1"):
        as_case(words)


def test_a_cells_shape_is_pictures_height_and_width(cell):
    assert cell.shape == (2, 64, 96)


@pytest.mark.parametrize("peers", [["mmdet"], list(PEERS)])
def test_no_cell_is_planned_twice(peers):
    cells = plan("--peers", *peers)
    assert len(cells) == len(set(cells))
    assert {cell.peer for cell in cells} == {*peers, "eager"}


def test_the_plan_holds_every_task_precision_and_network():
    cells = plan()
    assert {c.task for c in cells} > {"inference", "training", "training with_cp"}
    assert {c.precision for c in cells} == {"fp32", "bf16 autocast", "bf16"}
    assert {c.variant for c in cells} == {"tiny", "base", "large"}


def test_a_part_of_the_plan_can_be_named():
    assert {c.case for c in plan("--parts", "growth")} >= {"2048x2048 b1", "224x224 b4"}
    assert {c.variant for c in plan("--parts", "larger")} == {"base", "large"}


def test_named_values_are_combined():
    words = ["--tasks", "training", "--precisions", "fp32", "bf16", "--cases", "64x64b1"]
    assert plan(*words) == [
        Cell("training", precision, "tiny", "64x64 b1", "mmdet") for precision in ("fp32", "bf16")
    ]


def test_the_compiled_network_stands_beside_ourselves_alone():
    words = ["--tasks", "inference compiled", "--precisions", "fp32", "--cases", "64x64b1"]
    assert [cell.peer for cell in plan(*words, "--peers", "mmdet", "timm")] == ["eager"]


@pytest.mark.parametrize(
    ("peer", "task", "precision", "able"),
    [
        ("openvino", "inference", "bf16 autocast", True),
        ("openvino", "inference", "bf16", False),
        ("openvino", "training", "fp32", False),
        ("onnxruntime", "inference", "fp32", True),
        ("onnxruntime", "inference", "bf16 autocast", False),
        ("timm", "training", "bf16", True),
        ("timm", "training with_cp", "fp32", False),
        ("mmdet", "training with_cp", "fp32", True),
    ],
)
def test_what_a_peer_cannot_do_is_known_before_it_is_tried(peer, task, precision, able):
    assert (limit(Cell(task, precision, "tiny", "64x64 b1", peer)) == "") is able
