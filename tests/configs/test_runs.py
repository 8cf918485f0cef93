"""Every shipped config trains and is evaluated, changed by `--data-root` and `--weights none`."""

from pathlib import Path

import pytest

from swin_mm.engine import train

CONFIGS = sorted(path.name for path in (Path(__file__).parents[2] / "configs").glob("*.py"))


@pytest.mark.usefixtures("own_mmengine")
@pytest.mark.parametrize("name", CONFIGS)
def test_a_step_and_an_evaluation(
    name: str,
    root: Path,
    tiny_scenes: Path,
    shrink: dict,
    tmp_path: Path,
    capsys: pytest.CaptureFixture,
) -> None:
    task = "segmentation" if name.startswith("upernet") else "detection"
    train(
        str(root / "configs" / name),
        work_dir=str(tmp_path),
        data_root=str(tiny_scenes),
        weights="none",
        max_iters=1,
        image_scale=0.12,
        seed=0,
        options=shrink[task],
    )
    told = capsys.readouterr().out
    assert ("mIoU  " if task == "segmentation" else "metrics  ") in told
    assert (tmp_path / "iter_1.pth").is_file()
    assert (tmp_path / "loss.png").is_file()
    assert len(list((tmp_path / "predictions").glob("*.png"))) == 2
