"""The command line that the tools share."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from swin_mm.engine.errors import near
from swin_mm.engine.launch import LAUNCHERS
from swin_mm.engine.options import ConfigOption


class ToolParser(argparse.ArgumentParser):
    """A parser that answers a misspelt option with those near it, and completes none."""

    def __init__(self, description: str) -> None:
        super().__init__(
            description=description,
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        """Parse, or end with exit code 2."""
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            word = unknown[0].partition("=")[0]
            self.error(f"unknown option {word}{near(word, self._option_string_actions)}")
        return parsed

    def error(self, message: str) -> NoReturn:
        """End with the message and exit code 2."""
        self.exit(2, f"error: {message}\nSee {self.prog} --help\n")

    def add_run_arguments(self, *, work_dir: str = "work_dirs/CONFIG") -> None:
        """Add what a training and a test both take.

        Args:
            work_dir: where everything goes by default, for the help.
        """
        self.add_argument("--work-dir", help=f"where everything goes (default: {work_dir})")
        self.add_argument(
            "--data-root", metavar="DIR", help="read every data set from this folder instead"
        )
        self.add_argument(
            "--image-scale",
            type=float,
            metavar="FACTOR",
            help="multiply every picture size of the recipe, for smaller pictures",
        )
        self.add_config_options()
        self.add_unsafe()
        self.add_argument(
            "--launcher", choices=LAUNCHERS, default="none", help="what started the processes"
        )

    def add_config_options(self) -> None:
        """Add the one way to settings of a config, `options`."""
        self.add_argument(
            "--cfg-options",
            dest="options",
            nargs="+",
            action=ConfigOption,
            metavar="KEY=VALUE",
            help="settings of the config, such as train_dataloader.batch_size=4 "
            "model.backbone.depths=[2,2,2,2] param_scheduler.0.end=100",
        )

    def add_unsafe(self) -> None:
        """Add the one way to a file that is more than numbers and plain values."""
        self.add_argument(
            "--unsafe",
            action="store_true",
            help="run the code that a weight file wants to run; only for files you trust",
        )
