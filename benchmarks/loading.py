"""Measure what loading a Swin-L costs beside reading its file and copying the tensors.

Each figure comes from a process of its own, which builds the model, touches its memory and loads
one file once; the ways take turns, and the files are in the page cache. `plain` is torch.load
(safetensors' load_file, pickle.load) and load_state_dict into the same model without any hooks,
names mapped beforehand. On a busy machine the processor's seconds tell more than the clock's. Peaks
are the process's resident memory above what it held before reading (Linux).
"""

import argparse
import json
import multiprocessing
import pickle
import platform
import re
import statistics
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import torch
from safetensors.torch import load_file

import swin_mm
from swin_mm.checkpoints import load_pretrained, save_checkpoint, to_layout

FILES = ("microsoft.pth", "ours.safetensors", "detectron2.pkl")
WAYS = ("plain", "swin_mm")


def build() -> swin_mm.SwinTransformer:
    """Build a Swin-L of window 12 without drawing its weights, every page of it touched."""
    drawing = [name for name in dir(torch.nn.init) if name.endswith("_") and name[0] != "_"]
    for name in drawing:
        setattr(torch.nn.init, name, lambda tensor, *_, **__: tensor)
    sizes = swin_mm.VARIANTS["large"]
    model = swin_mm.SwinTransformer(
        embed_dims=sizes.embed_dims,
        depths=sizes.depths,
        num_heads=sizes.num_heads,
        window_size=12,
        out_indices=(3,),
    )
    for parameter in model.parameters():
        parameter.data.fill_(0.01)
    return model


def make_files(folder: Path) -> None:
    """Write the model as Microsoft's classifiers are written, as we do and as detectron2 does."""
    state = build().state_dict()
    written = {key: tensor.contiguous() for key, tensor in to_layout(state, "microsoft").items()}
    head = {"head.weight": torch.zeros(1000, 1536), "head.bias": torch.zeros(1000)}
    save_checkpoint({"model": {**written, **head}}, folder / "microsoft.pth")
    save_checkpoint(state, folder / "ours.safetensors")
    save_checkpoint(written, folder / "detectron2.pkl")
    names = dict(zip(written, state, strict=True))
    (folder / "names.json").write_text(json.dumps(names))


def measure(way: str, path: Path) -> dict[str, float]:
    """Load a file once; tell the seconds, the processor's seconds and the peak in bytes."""
    model = build()
    names = json.loads((path.parent / "names.json").read_text())
    if way == "plain":
        for module in model.modules():
            module._load_state_dict_pre_hooks.clear()
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before, clock, processor = memory("VmRSS"), time.perf_counter(), time.process_time()
    if way == "swin_mm":
        load_pretrained(model, path)
    elif path.suffix == ".safetensors":
        model.load_state_dict(load_file(path), strict=False)
    elif path.suffix == ".pkl":
        with path.open("rb") as file:
            read = pickle.load(file)["model"]
        state = {ours: torch.from_numpy(read[theirs]) for theirs, ours in names.items()}
        model.load_state_dict(state, strict=False)
    else:
        read = torch.load(path, weights_only=True)["model"]
        model.load_state_dict({names[key]: read[key] for key in names}, strict=False)
    return {
        "seconds": time.perf_counter() - clock,
        "processor": time.process_time() - processor,
        "bytes": memory("VmHWM") - before,
    }


def memory(which: str) -> int:
    """Read one of the sizes that Linux keeps of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{which}:"))


def summary(path: Path, figures: dict[str, list[dict[str, float]]]) -> dict[str, object]:
    """Put one file's figures together."""
    size = path.stat().st_size
    told: dict[str, object] = {"megabytes": round(size / 1e6)}
    for kind in ("seconds", "processor"):
        values = {way: [one[kind] for one in figures[way]] for way in WAYS}
        medians = {way: statistics.median(values[way]) for way in WAYS}
        told[kind] = {way: [round(value, 2) for value in values[way]] for way in WAYS}
        told[f"{kind}_median"] = {way: round(medians[way], 2) for way in WAYS}
        told[f"{kind}_times_plain"] = round(medians["swin_mm"] / medians["plain"], 2)
    told["peak_by_file_size"] = {
        way: round(statistics.median(one["bytes"] for one in figures[way]) / size, 2)
        for way in WAYS
    }
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7, metavar="N", help="of each way (7)")
    parser.add_argument("--machine", default=platform.machine(), help="in words, for the record")
    parser.add_argument("--out", type=Path, help="file to write, beside the screen")
    arguments = parser.parse_args()
    figures = {file: {way: [] for way in WAYS} for file in FILES}
    # Forked before any tensor is made here, a process is fresh but for its imports.
    fork = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as name, fork.Pool(1, maxtasksperchild=1) as processes:
        folder = Path(name)
        processes.apply(make_files, (folder,))
        for _ in range(arguments.runs):
            for file in FILES:
                for way in WAYS:
                    figures[file][way].append(processes.apply(measure, (way, folder / file)))
        results = {file: summary(folder / file, figures[file]) for file in FILES}
    commit = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    record = {
        "what": "Loading a Swin-L (window 12) from a file in the page cache into a built model",
        "command": f"python benchmarks/loading.py --runs {arguments.runs}",
        "commit": subprocess.run(commit, capture_output=True, text=True).stdout.strip(),
        "machine": arguments.machine,
        "versions": {
            "python": platform.python_version(),
            **{package: version(package) for package in ("torch", "safetensors")},
        },
        "results": results,
    }
    text = json.dumps(record, indent=2)
    text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text)  # a line a list
    print(text)
    if arguments.out:
        arguments.out.write_text(f"{text}\n")


if __name__ == "__main__":
    main()
