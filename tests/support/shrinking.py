"""`--cfg-options` that make any shipped config run in a second: narrow, shallow, few queries."""

from collections.abc import Iterator
from typing import Any

from families import MAINTAINED
from mmengine.config import Config

# By the last name of a setting, wherever in a model it stands; only what is there is set.
_WIDTHS = (
    "embed_dims",
    "feat_channels",
    "out_channels",
    "channels",
    "conv_out_channels",
    "fc_out_channels",
    "proposal_feature_channel",
    "feedforward_channels",
)
_NUMBERS = {
    "num_heads": 2,
    "num_groups": 4,
    "num_layers": 1,
    "stacked_convs": 1,
    "num_convs": 1,
    "num_shared_convs": 1,
    "num_queries": 12,
    "num_proposals": 12,
    "num_dn_queries": 4,
    "num_points": 64,
    "num": 16,  # sampled boxes
    "nms_pre": 40,
    "max_per_img": 10,
    "max_per_image": 10,
}
_BACKBONE = {"embed_dims": 8, "depths": [1, 1, 2, 1], "num_heads": [1, 1, 2, 2]}


def shrunk(cfg: Config) -> dict[str, Any]:
    """Return options by dotted key that shrink a config's model and start no workers."""
    options = {f"model.backbone.{name}": value for name, value in _BACKBONE.items()}
    # The original DINO encodes boxes for queries of 256 channels, however wide they are.
    width = 256 if cfg.model.type == "DINO" and not MAINTAINED else 16
    small = dict.fromkeys(_WIDTHS, width) | _NUMBERS
    small["num_feats"] = width // 2  # twice as many are a position, as wide as a query
    for path, name, value in _settings(cfg._cfg_dict["model"], "model"):
        if path.startswith("model.backbone.") or isinstance(value, bool | list | tuple):
            continue
        if name in small and not (name == "num_points" and value < 64):
            options[path] = small[name]
        elif name == "in_channels" and value == 256:  # what the part before it gives
            options[path] = width
    for split in ("train", "val", "test"):
        options[f"{split}_dataloader.num_workers"] = 0
    return options


def _settings(node: Any, path: str) -> Iterator[tuple[str, str, Any]]:
    """Go through all settings below a branch: dotted key, its last name, value."""
    children = node.items() if isinstance(node, dict) else enumerate(node)
    for name, value in children:
        below = f"{path}.{name}"
        if isinstance(value, dict) or (isinstance(value, list) and _has_dicts(value)):
            yield from _settings(value, below)
        else:
            yield below, str(name), value


def _has_dicts(values: list) -> bool:
    return any(isinstance(value, dict) for value in values)
