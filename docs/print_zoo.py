"""Print the model zoo from the configs, the published files and the measured steps.

python docs/print_zoo.py            prints all tables
python docs/print_zoo.py --write    puts them into docs/zoo.md and README.md
"""

import argparse
import functools
import json
import os
import re
from collections.abc import Callable
from pathlib import Path

from mmengine.config import Config

ROOT = Path(__file__).parents[1]
PAGES = (Path("README.md"), Path("docs/zoo.md"))
METHODS = ("Mask R-CNN", "Cascade Mask R-CNN", "RetinaNet", "ATSS", "Sparse R-CNN", "DINO")
METHODS += ("Mask2Former", "UPerNet", "Semantic FPN")
METRICS = {"box_ap": "box AP", "mask_ap": "mask AP", "pq": "PQ", "miou": "mIoU"}
METRICS |= {"miou_tta": "with scales and flips"}
HOSTS = {"mmdet": "MMDetection", "mmseg": "MMSegmentation"}
SOURCES = {
    "https://github.com/SwinTransformer/Swin-Transformer-Object-Detection": "Swin's authors",
    "https://github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation": "Swin's authors",
    "https://arxiv.org/abs/2103.14030": "Liu et al. 2021",
    "https://arxiv.org/abs/2104.13840": "Chu et al. 2021",
    "https://github.com/facebookresearch/Mask2Former": "Mask2Former's authors",
    "https://github.com/open-mmlab/mmdetection": "MMDetection",
    "https://github.com/open-mmlab/mmsegmentation": "MMSegmentation",
}


def zoo_table() -> str:
    """Every config: its recipe, start, published figures, size and their source."""
    heads = ("Config", "Recipe", "Published", "Start", "Parameters", "Multiply-adds", "Source")
    rows = []
    for name, cfg in configs().items():
        zoo, crop = cfg.zoo, cfg.model.data_preprocessor.get("size")
        products = f"{zoo['flops']:g} G at {zoo['input']}" if zoo["flops"] else "-"
        source = f"[{SOURCES[zoo['source']]}]({zoo['source']})" if zoo["source"] else "-"
        recipe = f"{zoo['method']}, {zoo['backbone']}, {zoo['data']} {zoo['schedule']}"
        recipe += ", {}x{}".format(*crop) if crop else ""
        cells = (f"`configs/{name}.py`", recipe, figures(zoo["published"]), zoo["start"])
        rows.append((*cells, f"{zoo['params']:.1f} M", products, source))
    return table(heads, rows)


def published_table() -> str:
    """Every file of the two projects that loads into a config of ours."""
    heads = ("File", "By", "Loads into", "Result there")
    rows = []
    for line in json.loads((ROOT / "docs/published.json").read_text(encoding="utf-8")):
        options = " ".join(f"{key}={value}" for key, value in line["options"].items())
        config = f"`configs/{line['ours']}.py{f' --cfg-options {options}' if options else ''}`"
        file = f"[{os.path.basename(line['file'])}]({line['file']})"
        result = f"{line['data']}: {figures(line['metrics'])}"
        rows.append((file, HOSTS[line["host"]], config, result))
    return table(heads, rows)


def steps_table() -> str:
    """What a full-size training step of every config takes."""
    file = ROOT / "benchmarks/results/zoo.json"
    held = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {"steps": {}}
    heads = ("Config", "Picture, px", "Seconds", "Peak memory, MB", "above the model, MB", "Loss")
    rows = []
    for name in configs():
        step = held["steps"].get(name)
        if step is None:
            cells = ("-", "not measured", "-", "-", "-")
        elif "why not" in step:
            cells = (step.get("picture", "-"), step["why not"], "-", "-", "-")
        else:
            cells = (step["picture"], f"{step['seconds']:.1f}", str(step["peak MB"]))
            cells += (str(step["above the model MB"]), f"{step['loss']:.4g}")
        rows.append((f"`{name}`", *cells))
    runs = [f"{run['machine']}, threads: {run['threads']}" for run in held.get("runs", ())]
    runs = [f"Measured on: {where}." for where in dict.fromkeys(runs)]
    return "\n\n".join([*runs, table(heads, rows)])


TABLES: dict[str, Callable[[], str]] = {
    "zoo": zoo_table,
    "published": published_table,
    "steps": steps_table,
}


@functools.cache
def configs() -> dict[str, Config]:
    """Read every config, in the table's order, by name."""
    found = {
        path.stem: Config.fromfile(path, import_custom_modules=False)
        for path in (ROOT / "configs").glob("*.py")
    }
    return dict(sorted(found.items(), key=_place))


def _place(item: tuple[str, Config]) -> tuple:
    """COCO first, then by method, version, size of the network, start, picture, schedule."""
    name, zoo = item[0], item[1].zoo
    size = "TSBL".index(zoo["backbone"][-1])
    order = (zoo["data"] != "COCO", METHODS.index(zoo["method"]), zoo["version"], size)
    return (*order, zoo["start"], zoo["input"], zoo["schedule"], name)


def figures(metrics: dict[str, float]) -> str:
    """Say metrics in words."""
    said = [f"{value} {METRICS[name]}" for name, value in metrics.items()]
    return ", ".join(said) or "no published result"


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Lay out a table in Markdown."""
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def filled(page: str) -> str:
    """Put the tables between their marks."""
    for name, printed in TABLES.items():
        mark = f"<!-- {name} -->"
        if mark in page:
            text = f"{mark}\n{printed()}\n{mark}"
            page = re.sub(f"{mark}.*?{mark}", lambda _: text, page, flags=re.S)  # noqa: B023
    return page


def main() -> None:
    """Print, or write."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("--write", action="store_true", help="into the pages")
    parser.add_argument("--pages", type=Path, default=ROOT, help="another folder with the pages")
    args = parser.parse_args()
    if not args.write:
        print("\n\n".join(printed() for printed in TABLES.values()))
        return
    for page in PAGES:
        file = args.pages / page
        text = filled(file.read_text(encoding="utf-8"))
        beside = file.with_name(f".{file.name}.part")
        beside.write_text(text, encoding="utf-8")
        beside.replace(file)


if __name__ == "__main__":
    main()
