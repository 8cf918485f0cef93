"""The page of a run: gathered section by section, written as one file that needs no other."""

from __future__ import annotations

import functools
import importlib.resources
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jinja2

from swin_mm.engine.errors import RunError, UsageError
from swin_mm.reporting import facts
from swin_mm.reporting.charts import draw_charts
from swin_mm.reporting.configs import RunConfig, read_run_config
from swin_mm.reporting.judgement import choose
from swin_mm.reporting.logs import RunLog, read_run
from swin_mm.reporting.predicting import (
    last_checkpoint,
    place_beside_truth,
    predict,
    read_predictions,
)
from swin_mm.reporting.samples import BUDGET, Look, Sample, colours_for, draw_side, read_picture
from swin_mm.reporting.scenes import Scenes

MOST_SAMPLES = 60
_CLASSES = 30  # of a confusion matrix, beyond which classes share a row
_CONFUSIONS = 12  # listed
_LEAST = 6000  # bytes that a picture may take in any case


@dataclass(frozen=True)
class Wishes:
    """What a page is to show.

    Attributes:
        checkpoint: whose predictions; the newest in the work dir by default.
        data_root: where the data lies, in place of the config's.
        predictions: a file of them, in place of a checkpoint.
        predict: whether to show predictions at all.
        samples: how many pictures.
        unsafe: run the code that the checkpoint wants to run.
        commands: by what would add it, the command line that does.
    """

    checkpoint: str | None = None
    data_root: str | None = None
    predictions: str | None = None
    predict: bool = True
    samples: int = 12
    unsafe: bool = False
    commands: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Missing:
    """Why a section is not there, and the command that would add it, if any."""

    why: str
    command: str = ""

    @property
    def sentence(self) -> str:
        """The reason, begun and ended as a sentence is."""
        return f"{self.why[:1].upper()}{self.why[1:].rstrip('.')}."


def require_run(work_dir: str) -> None:
    """Check that a run began in a folder.

    Raises:
        UsageError: if none did.
    """
    if not os.path.isdir(work_dir):
        raise UsageError(f"there is no work dir {work_dir}")
    if not read_run(work_dir).starts:
        inside = [entry.path for entry in os.scandir(work_dir) if entry.is_dir()]
        runs = [path for path in sorted(inside) if read_run(path).starts]
        listed = f". There are runs in: {', '.join(runs)}" if runs else ""
        raise UsageError(
            f"no run of MMEngine's began in {work_dir}: it holds no folder with a .log or "
            f"vis_data{listed}"
        )


def make_page(work_dir: str, wishes: Wishes, *, configs: Sequence[str] = ()) -> str:
    """Write the page of a run as HTML.

    Args:
        work_dir: of the run.
        wishes: what to show.
        configs: folders in which the config that the run began with may lie.

    Raises:
        UsageError: if something that was asked for by name cannot be done. What merely is not
            there is said on the page.
    """
    run = read_run(work_dir)
    config, no_config = _config_of(work_dir, configs)
    scenes, found_by, no_scenes = _scenes_of(work_dir, config, no_config, wishes)
    cfg = config.cfg if config else None
    planned = facts.planned_iterations(cfg, run)
    samples, not_shown = _samples_of(scenes, wishes.samples) if scenes else ([], ())
    starts = [start.name for start in run.starts]
    name = os.path.basename(os.path.abspath(work_dir))
    return _template().render(
        title=name,
        model=os.path.basename(config.path) if config else "",
        state=facts.state_of(run, planned),
        starts=starts,
        began=run.starts[0].text.began,
        results=facts.results_of(run),
        remarks=run.remarks,
        charts=draw_charts(run) if run.train or run.validations else [],
        no_training="" if run.train else _no_training(run),
        no_validation="" if run.validations else _no_validation(cfg),
        speed=facts.speed_of(run, cfg),
        environment=facts.environment_of(run),
        environment_text=run.last_text.environment,
        config=config,
        config_text=config.cfg.pretty_text if config else "",
        no_config=no_config,
        found_by=found_by,
        no_scenes=no_scenes,
        judgement=scenes.judgement if scenes else None,
        confusion=scenes.judgement.confusion.largest(_CLASSES) if scenes else None,
        confusions=scenes.judgement.confusion.strongest(_CONFUSIONS) if scenes else [],
        samples=samples,
        not_shown=not_shown,
    )


def _config_of(work_dir: str, folders: Sequence[str]) -> tuple[RunConfig | None, Missing | None]:
    try:
        return read_run_config(work_dir, folders), None
    except UsageError as error:
        return None, Missing(str(error))


def _scenes_of(
    work_dir: str, config: RunConfig | None, no_config: Missing | None, wishes: Wishes
) -> tuple[Scenes | None, str, Missing | None]:
    """Predict and judge; say whose predictions they are, or why there are none."""
    if not wishes.predict:
        return None, "", Missing("It was asked for without.", wishes.commands.get("predict", ""))
    named = wishes.checkpoint or wishes.predictions or wishes.data_root
    if config is None:
        if named:
            raise UsageError(f"predictions need the run's config: {no_config.why}")
        return None, "", Missing(f"Predictions need the run's config: {no_config.why}")
    checkpoint = wishes.checkpoint
    try:
        if not (checkpoint or wishes.predictions):
            checkpoint = last_checkpoint(work_dir, config.cfg, unsafe=wishes.unsafe)
            if checkpoint is None:
                return None, "", _no_checkpoint(work_dir, wishes)
        path = wishes.predictions or predict(
            config.path,
            checkpoint,
            work_dir=work_dir,
            data_root=wishes.data_root,
            unsafe=wishes.unsafe,
        )
        found = read_predictions(path)
        scenes = place_beside_truth(config.cfg, found, data_root=wishes.data_root)
    except (UsageError, RunError, OSError) as error:
        if named:
            raise
        return None, "", Missing(_reason_of(error), wishes.commands.get("data", ""))
    return scenes, os.path.basename(wishes.predictions or checkpoint), None


def _reason_of(error: Exception) -> str:
    """Take the first line of an error, and the next where the first announces it."""
    lines = str(error).replace("unsafe=True", "--unsafe").splitlines() or [""]
    return " ".join(line.strip() for line in lines[: 1 + lines[0].endswith(":")])


def _no_checkpoint(work_dir: str, wishes: Wishes) -> Missing:
    """Say that there is nothing to predict with; an error where data was named for it."""
    if wishes.data_root:
        raise UsageError(
            f"there is no checkpoint in {work_dir} to predict with: name one by --checkpoint"
        )
    why = f"There is no checkpoint in {work_dir}."
    return Missing(why, wishes.commands.get("checkpoint", ""))


def _no_training(run: RunLog) -> str:
    began = run.last_text.began
    since = f" on {began:%Y-%m-%d at %H:%M}" if began else ""
    return (
        f"The run that began{since} logged no iteration: it ended before the first interval of "
        "default_hooks.logger, or only tested."
    )


def _no_validation(cfg: Any) -> str:
    loop = (cfg.get("train_cfg") if cfg else None) or {}
    interval = loop.get("val_interval")
    if cfg is not None and not cfg.get("val_dataloader"):
        return "The run has no metrics: its config has no val_dataloader."
    unit = "iterations" if loop.get("max_iters") else "epochs"
    every = f", one is due every {interval} {unit}" if interval else ""
    return f"The run has no metrics yet: it came to no validation{every}."


def _samples_of(scenes: Scenes, count: int) -> tuple[list[Sample], tuple[str, ...]]:
    """Draw the chosen pictures, and name those that cannot be drawn, with the reason."""
    chosen = choose(scenes.judgement.graded, count)
    limit = max(BUDGET // (2 * max(len(chosen), 1)), _LEAST)
    colours = colours_for(scenes.judgement.confusion.ranked(), len(scenes.names))
    looks = [Look(name, colour) for name, colour in zip(scenes.names, colours, strict=True)]
    samples, not_shown = [], []
    for reason, graded in chosen:
        path, truth, found = scenes.open(graded.image)
        picture = read_picture(path)
        name = os.path.basename(path)
        if picture is None:
            not_shown.append(f"{name} cannot be read")
            continue
        sizes = {one.mask.shape for one in (*truth, *found) if one.mask is not None}
        if odd := sizes - {picture.shape[:2]}:  # turned by its EXIF orientation, for one
            height, width = min(odd)
            met = f"{picture.shape[1]}x{picture.shape[0]}"
            not_shown.append(f"{name} is {met} px, its annotations are of {width}x{height}")
            continue
        draw = functools.partial(draw_side, picture=picture, looks=looks, limit=limit)
        sides = (draw("truth", items=truth), draw("prediction", items=found))
        samples.append(Sample(reason, name, graded.measure, sides))
    return samples, tuple(not_shown)


@functools.cache
def _template() -> jinja2.Template:
    folder = importlib.resources.files("swin_mm.reporting") / "templates"
    texts = {name: (folder / name).read_text("utf-8") for name in ("page.html", "page.css")}
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(texts),
        autoescape=True,  # names of classes and files are anybody's
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html")
