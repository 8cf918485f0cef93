"""First weights."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from mmengine.model.weight_init import PretrainedInit

from swin_mm import SwinTransformer
from swin_mm.checkpoints import to_layout
from swin_mm.engine import weights as weights_room
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes
from swin_mm.engine.weights import choose_weights, fetch_weights, pretrained_sources

NOWHERE = "http://127.0.0.1:9/swin_of_nobody.pth"


def test_none_leaves_no_part_of_the_model_pretrained_and_warns(
    detector: Config, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    detector.model.neck.init_cfg = [
        {"type": "Pretrained", "checkpoint": "neck.pth"},
        {"type": "Xavier", "layer": "Conv2d"},
    ]
    detector.load_from = "detector.pth"
    choose_weights(detector, "none", notes)
    assert list(pretrained_sources(detector)) == []
    assert detector.load_from is None
    assert detector.model.neck.init_cfg == [{"type": "Xavier", "layer": "Conv2d"}]
    assert "WARNING: training from scratch" in capsys.readouterr().err


def test_weights_that_the_class_of_their_initialisation_names_are_dropped_too(
    detector: Config, notes: Notes
) -> None:
    detector.model.backbone.init_cfg.type = PretrainedInit
    assert len(list(pretrained_sources(detector))) == 1
    choose_weights(detector, "none", notes)
    assert "init_cfg" not in detector.model.backbone


def test_the_configs_weights_are_taken_without_a_word(
    detector: Config, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    choose_weights(detector, None, notes)
    (source,) = pretrained_sources(detector)
    assert source.endswith("swin_tiny_patch4_window7_224.pth")
    assert capsys.readouterr() == ("", "")


def test_a_config_without_weights_warns_too(
    detector: Config, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    del detector.model.backbone["init_cfg"]
    choose_weights(detector, None, notes)
    assert "from scratch" in capsys.readouterr().err


def test_a_file_takes_the_place_of_the_configs_weights(
    detector: Config, notes: Notes, tmp_path: Path
) -> None:
    path = tmp_path / "my weights.pth"
    torch.save({"patch_embed.projection.weight": torch.zeros(1)}, path)
    choose_weights(detector, str(path), notes)
    assert list(pretrained_sources(detector)) == [str(path)]
    fetch_weights(detector, str(path), notes)


def test_a_missing_file_is_an_error_with_ways_out(detector: Config, notes: Notes) -> None:
    with pytest.raises(UsageError, match=r"no weight file nowhere\.pth[\s\S]*--weights none"):
        choose_weights(detector, "nowhere.pth", notes)


def test_a_failed_download_is_an_error_with_ways_out(
    detector: Config, notes: Notes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    choose_weights(detector, NOWHERE, notes)
    with pytest.raises(UsageError, match=r"swin_of_nobody[\s\S]*--weights FILE"):
        fetch_weights(detector, NOWHERE, notes)


def test_other_processes_of_a_machine_have_the_file_before_they_meet_the_first(
    detector: Config, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = []
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.setattr(weights_room, "download", steps.append)
    monkeypatch.setattr(weights_room, "barrier", lambda: steps.append("barrier"))
    choose_weights(detector, None, notes)
    fetch_weights(detector, None, notes)
    assert steps == [*pretrained_sources(detector), "barrier"]


def test_a_file_that_is_no_checkpoint_is_an_error(
    detector: Config, notes: Notes, tmp_path: Path
) -> None:
    path = tmp_path / "weights.pth"
    path.write_text("not found")
    choose_weights(detector, str(path), notes)
    with pytest.raises(UsageError, match=r"weights\.pth"):
        fetch_weights(detector, str(path), notes)


def test_a_training_that_goes_on_needs_no_first_weights(detector: Config, notes: Notes) -> None:
    detector.resume, detector.load_from = True, "iter_2.pth"
    choose_weights(detector, None, notes)
    assert list(pretrained_sources(detector)) == []
    assert detector.load_from == "iter_2.pth"


def test_the_older_name_of_pretrained_weights_is_obeyed_too(
    detector: Config, notes: Notes, tmp_path: Path
) -> None:
    del detector.model.backbone["init_cfg"]
    detector.model.backbone.pretrained = "older.pth"
    assert list(pretrained_sources(detector)) == ["older.pth"]
    (tmp_path / "newer.pth").touch()
    choose_weights(detector, str(tmp_path / "newer.pth"), notes)
    assert list(pretrained_sources(detector)) == [str(tmp_path / "newer.pth")]
    detector.model.backbone.pretrained = "older.pth"
    choose_weights(detector, "none", notes)
    assert list(pretrained_sources(detector)) == []


def test_weights_that_a_segmentor_hands_to_its_backbone_give_way_too(
    segmentor: Config, notes: Notes, tmp_path: Path
) -> None:
    segmentor.model.pretrained = "older.pth"
    (tmp_path / "newer.pth").touch()
    choose_weights(segmentor, str(tmp_path / "newer.pth"), notes)
    assert list(pretrained_sources(segmentor)) == [str(tmp_path / "newer.pth")]


def test_a_resumed_training_says_that_it_reads_no_other_weights(
    detector: Config, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    detector.resume = True
    choose_weights(detector, "other.pth", notes)
    assert "--weights other.pth is not read" in capsys.readouterr().err


def test_a_file_for_a_model_without_backbone_is_refused(detector: Config, notes: Notes) -> None:
    del detector.model["backbone"]
    with pytest.raises(UsageError, match=r"fills model\.backbone, .* has none"):
        choose_weights(detector, "weights.pth", notes)


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A detector's file: a backbone of another layout, a neck, and what no detector has."""
    backbone = SwinTransformer(embed_dims=4, depths=(1, 1, 1, 1), num_heads=(1, 1, 1, 1))
    official = to_layout(backbone.state_dict(), "microsoft-dense")
    tensors = {f"module.backbone.{name}": tensor for name, tensor in official.items()}
    tensors |= dict.fromkeys(["module.neck.fc.weight", "module.odd.weight"], torch.zeros(1))
    torch.save({"model": tensors}, tmp_path / "whole.pth")
    return tmp_path / "whole.pth"


def test_a_whole_models_file_gives_its_necks_and_heads_too(
    detector: Config, notes: Notes, whole: Path, capsys: pytest.CaptureFixture
) -> None:
    choose_weights(detector, str(whole), notes)
    fetch_weights(detector, str(whole), notes)
    assert list(pretrained_sources(detector)) == [str(whole)]
    assert detector.load_from == str(whole)
    assert "holds a whole model: its neck are taken too" in capsys.readouterr().out


def test_a_backbones_file_gives_the_backbone_alone(
    detector: Config, notes: Notes, whole: Path, capsys: pytest.CaptureFixture
) -> None:
    tensors = torch.load(whole)["model"]
    kept = {name: tensor for name, tensor in tensors.items() if "neck" not in name}
    torch.save(kept, whole)
    choose_weights(detector, str(whole), notes)
    fetch_weights(detector, str(whole), notes)
    assert detector.load_from is None
    assert capsys.readouterr() == ("", "")


def test_weights_take_the_place_of_load_from(
    detector: Config, notes: Notes, whole: Path, capsys: pytest.CaptureFixture
) -> None:
    detector.load_from = "older.pth"
    choose_weights(detector, str(whole), notes)
    assert detector.load_from is None
    assert "takes the place of load_from=older.pth" in capsys.readouterr().out


def test_a_damaged_load_from_is_an_error_before_anything_is_built(
    detector: Config, notes: Notes, tmp_path: Path
) -> None:
    del detector.model.backbone["init_cfg"]
    (tmp_path / "half.pth").write_text("not found")
    detector.load_from = str(tmp_path / "half.pth")
    choose_weights(detector, None, notes)
    with pytest.raises(UsageError, match=r"half\.pth"):
        fetch_weights(detector, None, notes)


def test_unsafe_is_said_to_our_backbones_alone(detector: Config, notes: Notes) -> None:
    detector.model.neck.init_cfg = {"type": "Pretrained", "checkpoint": __file__}
    choose_weights(detector, None, notes, unsafe=True)
    assert detector.model.backbone.init_cfg.unsafe is True
    assert "unsafe" not in detector.model.neck.init_cfg  # MMEngine's reader takes no such argument
