"""A whole training iteration of Mask R-CNN with the backbone exchanged and nothing else.

SWIN_MM_REAL_DATA=DIR python benchmarks/detector.py --out benchmarks/results/detector.json

DIR/coco holds a few photographs in COCO's layout. Model, pictures and optimizer are those of
configs/mask_rcnn_swin_t.py in the first iteration of a training, two pictures a batch. All
detectors start with the same weights and take turns, on a batch of its own each round. A gradient's
way through necks and heads ends where the last map's gradient is known; the rest of the backward
pass is the backbone's. Batches differ in size: look at the ratios of rounds, which do not.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import re
import shlex
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from bench.results import ROOT, this_run
from bench.timing import summed_up, turn_order
from mmengine.config import Config
from mmengine.logging import MMLogger
from mmengine.optim import build_optim_wrapper
from mmengine.registry import MODELS
from mmengine.runner import Runner
from torch import Tensor

from swin_mm.data import write_scenes
from swin_mm.engine.config import import_host, read_config
from swin_mm.engine.datasets import point_data_at
from swin_mm.engine.image_scale import scale_pictures
from swin_mm.engine.notes import Notes

OURS, WITH_CP, PEER = NETWORKS = ("swin_mm", "swin_mm with_cp", "mmdet")
PARTS = ("backbone forward", "other forward", "other backward", "backbone backward", "optimizer")
SIZES = {"embed_dims": 96, "depths": (2, 2, 6, 2), "num_heads": (3, 6, 12, 24)}
NARROW = {"embed_dims": 8, "depths": (1, 1, 2, 1), "num_heads": (1, 1, 2, 2)}
SMALL = {
    "model.neck.in_channels": [8, 16, 32, 64],
    "model.neck.out_channels": 8,
    "model.rpn_head.in_channels": 8,
    "model.rpn_head.feat_channels": 8,
    "model.roi_head.bbox_roi_extractor.out_channels": 8,
    "model.roi_head.bbox_head.in_channels": 8,
    "model.roi_head.bbox_head.fc_out_channels": 8,
    "model.roi_head.mask_roi_extractor.out_channels": 8,
    "model.roi_head.mask_head.in_channels": 8,
    "model.roi_head.mask_head.conv_out_channels": 8,
    "model.train_cfg.rpn_proposal.max_per_img": 20,
    "model.train_cfg.rcnn.sampler.num": 16,
}


def read(data: Path, *, small: bool) -> Config:
    """Read the shipped config, without workers, its data in a folder; or a narrow one."""
    notes = Notes(False)
    cfg = read_config(str(ROOT / "configs/mask_rcnn_swin_t.py"))
    point_data_at(cfg, str(data), ("train",), notes)
    cfg.train_dataloader.update(num_workers=0, persistent_workers=False)
    if small:
        scale_pictures(cfg, 0.12, notes)
        cfg.merge_from_dict(SMALL)
    import_host(cfg)
    return cfg


def batches(cfg: Config, number: int) -> list[dict]:
    """Load batches as a training does, always the same ones."""
    loader = Runner.build_dataloader(cfg.train_dataloader, seed=0)
    found: list[dict] = []
    while len(found) < number:
        found += list(loader)
    return found[:number]


class Detector:
    """One detector and its optimizer, and the moments at which its parts are done.

    Args:
        cfg: the config.
        network: its backbone, one of :data:`NETWORKS`.
        sizes: of the backbone.
    """

    def __init__(self, cfg: Config, network: str, sizes: Mapping) -> None:
        ours = network != PEER
        backbone = {"type": "swin_mm.SwinTransformer" if ours else "mmdet.SwinTransformer"}
        backbone |= {**sizes, "with_cp": network == WITH_CP}
        backbone["drop_path_rate"] = cfg.model.backbone.drop_path_rate
        self.model = MODELS.build({**cfg.model, "backbone": backbone, "_scope_": "mmdet"})
        self.optimizer = build_optim_wrapper(self.model, cfg.optim_wrapper)
        first = next(one for one in cfg.param_scheduler if one["type"] == "LinearLR")
        for group in self.optimizer.optimizer.param_groups:  # as in the first iteration
            group["lr"] *= first["start_factor"]
        self.model.train()
        self._forward = self.model.backbone.forward
        self.model.backbone.forward = self._timed_forward  # a hook could change how ours computes
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._maps_due = 0.0

    def iterate(self, batch: dict) -> dict[str, float]:
        """Do one iteration.

        Args:
            batch: as the data loader gives it.

        Returns:
            The seconds of each part.
        """
        batch = copy.deepcopy(batch)
        start = time.perf_counter()
        total = self.loss(batch)
        lost = time.perf_counter()
        self.optimizer.backward(total)
        back = time.perf_counter()
        self.optimizer.step()
        self.optimizer.zero_grad()
        done = time.perf_counter()
        self.seconds["other forward"] = lost - start - self.seconds["backbone forward"]
        self.seconds["other backward"] = self._maps_due - lost
        self.seconds["backbone backward"] = back - self._maps_due
        self.seconds["optimizer"] = done - back
        return dict(self.seconds)

    def loss(self, batch: dict) -> Tensor:
        """Compute the loss of a batch; what is drawn behind the backbone does not depend on it."""
        torch.manual_seed(1)
        data = self.model.data_preprocessor(batch, True)
        with self.optimizer.optim_context(self.model):
            return self.model.parse_losses(self.model(**data, mode="loss"))[0]

    def _timed_forward(self, x: Tensor) -> Sequence[Tensor]:
        start = time.perf_counter()
        maps = self._forward(x)
        self.seconds["backbone forward"] = time.perf_counter() - start
        for one in maps:
            if one.requires_grad:
                one.register_hook(self._note)
        torch.manual_seed(2)  # the same boxes are drawn, whatever stochastic depth drew
        return maps

    def _note(self, _: Tensor) -> None:
        self._maps_due = time.perf_counter()


def build(cfg: Config, sizes: Mapping) -> dict[str, Detector]:
    """Build the three detectors with the same weights."""
    MMLogger.get_current_instance().setLevel("WARNING")  # no line for each parameter
    torch.manual_seed(0)
    detectors = {network: Detector(cfg, network, sizes) for network in NETWORKS}
    detectors[OURS].model.init_weights()
    state = detectors[OURS].model.state_dict()
    for detector in detectors.values():
        detector.model.load_state_dict(state)
    return detectors


def losses(detectors: Mapping[str, Detector], batch: dict) -> dict[str, float]:
    """Compute the loss of each without stochastic depth: they ought to be equal."""
    found = {}
    for network, detector in detectors.items():
        detector.model.backbone.eval()
        with torch.no_grad():
            found[network] = round(float(detector.loss(copy.deepcopy(batch))), 5)
        detector.model.train()
    return found


def measure(detectors: Mapping[str, Detector], loaded: Sequence[dict]) -> dict:
    """Let all take turns, after a round that is not counted."""
    found: dict[str, list[dict[str, float]]] = {network: [] for network in detectors}
    for turn, batch in enumerate([loaded[0], *loaded]):
        for network in turn_order(list(detectors), turn):
            took = detectors[network].iterate(batch)
            if turn > 0:
                found[network].append(took)
    whole = {network: [sum(one.values()) for one in rounds] for network, rounds in found.items()}
    parts = {
        network: {part: round(statistics.median(one[part] for one in rounds), 4) for part in PARTS}
        for network, rounds in found.items()
    }
    ratios = {
        f"{PEER} / {network}": _ratios(whole[PEER], whole[network]) for network in (OURS, WITH_CP)
    }
    backbone = {
        network: [one["backbone forward"] + one["backbone backward"] for one in rounds]
        for network, rounds in found.items()
    }
    return {
        "seconds": {network: summed_up(times) for network, times in whole.items()},
        "parts, median seconds": parts,
        "ratio of rounds": ratios,
        "ratio of rounds, backbone alone": {
            f"{PEER} / {network}": _ratios(backbone[PEER], backbone[network])
            for network in (OURS, WITH_CP)
        },
        "rounds": {network: [round(one, 4) for one in times] for network, times in whole.items()},
    }


def _ratios(theirs: Sequence[float], ours: Sequence[float]) -> dict[str, float]:
    found = [one / other for one, other in zip(theirs, ours, strict=True)]
    figures = {"median": statistics.median(found), "min": min(found), "max": max(found)}
    return {name: round(value, 3) for name, value in figures.items()}


def parse(words: list[str]) -> argparse.Namespace:
    """Read the command line."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--rounds", type=int, default=6, help="each on a batch of its own (6)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", action="store_true", help="a narrow network on drawn scenes")
    parser.add_argument("--machine", help="in words; its processor and cores otherwise")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args(words)
    if args.rounds < 1 or args.threads < 1:
        parser.error("--rounds and --threads must be at least 1")
    if not args.small and "SWIN_MM_REAL_DATA" not in os.environ:
        parser.error("SWIN_MM_REAL_DATA must name a folder with coco/ in it; or try --small")
    return args


def main(words: list[str]) -> int:
    """Measure, tell, and write."""
    args = parse(words)
    torch.set_num_threads(args.threads)
    warnings.simplefilter("ignore")  # the hosts' own
    with tempfile.TemporaryDirectory() as folder:
        data = Path(os.environ.get("SWIN_MM_REAL_DATA", "")) / "coco"
        if args.small:
            data = Path(folder) / "scenes"
            write_scenes(data, train=4, val=1, seed=0, size=(96, 72), jobs=1)
        cfg = read(data, small=args.small)
        loaded = batches(cfg, args.rounds)
    detectors = build(cfg, NARROW if args.small else SIZES)
    compared = losses(detectors, loaded[0])
    found = measure(detectors, loaded)
    for name, ratio in found["ratio of rounds"].items():
        print(f"{name} {ratio['median']} ({ratio['min']} to {ratio['max']})")
    command = shlex.join(["python", "benchmarks/detector.py", *words])
    report = {
        "what": "a training iteration of Mask R-CNN Swin-T, two photographs, seconds; "
        "only the backbone differs",
        **this_run(command, args.machine, args.threads),
        "pictures, px": [
            " ".join("{}x{}".format(*one.shape[1:]) for one in batch["inputs"]) for batch in loaded
        ],
        "loss without stochastic depth": compared,
        **found,
    }
    if args.out:
        text = json.dumps(report, indent=1)
        text = re.sub(
            r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text
        )  # a line a list
        args.out.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
