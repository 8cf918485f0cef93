"""What a cluster's SIGTERM does to `tools/train.py`."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from swin_mm.checkpoints import read_checkpoint


def test_sigterm_to_the_tool_saves_and_ends_with_143(
    root: Path, new_run: Callable, scenes: Path
) -> None:
    run = new_run("asked", "iteration", **{"train_cfg.max_iters": 100000})
    work = run.folder / "work"
    words = [f"{key}={value}".replace(" ", "") for key, value in run.options.items()]
    command = [sys.executable, "tools/train.py", "configs/upernet_swin_t.py", "--weights", "none"]
    command += ["--data-root", str(scenes), "--image-scale", "0.12", "--work-dir", str(work)]
    variables = {"PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}
    tool = subprocess.Popen(
        [*command, "--cfg-options", *words],
        cwd=root,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    until = time.monotonic() + 200
    while not (work / "last_checkpoint").exists() and time.monotonic() < until:
        time.sleep(0.1)
    tool.send_signal(signal.SIGTERM)
    said = tool.communicate(timeout=100)[0]
    assert tool.returncode == 143, said
    assert "SIGTERM: stopping after this iteration, with a checkpoint" in said
    assert "Traceback" not in said
    last = Path((work / "last_checkpoint").read_text())
    assert f"{last} is whole. Go on with --resume" in said
    assert f"stopped after iteration {read_checkpoint(last)['meta']['iter']}, saved" in said
