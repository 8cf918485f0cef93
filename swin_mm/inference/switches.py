"""What a job may switch on in a config's model: torch's compiler, test-time augmentation."""

from __future__ import annotations

from typing import Any

from mmengine.config import Config
from mmengine.registry import MODELS
from torch import nn

from swin_mm.backbones import SwinTransformer, SwinTransformerV2
from swin_mm.inference.errors import InferenceError
from swin_mm.inference.pipeline import name_of, steps_of
from swin_mm.inference.registered import find_class, scope_of


def compile_backbone(cfg: Config) -> None:
    """Let a config's backbone be compiled, and it alone; settings that it has stay.

    Raises:
        InferenceError: if the backbone is none of ours, which alone know how.
    """
    backbone = (cfg.get("model") or {}).get("backbone") or {}
    kind = find_class(cfg, MODELS, backbone.get("type"))
    if not (isinstance(kind, type) and issubclass(kind, (SwinTransformer, SwinTransformerV2))):
        raise InferenceError(
            "--compile compiles backbones of swin_mm (type='swin_mm.SwinTransformer'), this "
            f"config's is {backbone.get('type')}: leave --compile out"
        )
    backbone["compile"] = backbone.get("compile") or True


def flipping_pipeline(cfg: Config) -> list[dict]:
    """The pipeline of a config's test-time augmentation, or else its test pipeline and a flip.

    Raises:
        InferenceError: if the test pipeline does not end in packing, so that no flip can be added.
    """
    if cfg.get("tta_pipeline"):
        return [dict(step) for step in cfg.tta_pipeline]
    first, *middle = steps_of(cfg) or [{"type": "nothing"}]
    last = middle.pop() if middle else first
    name = name_of(last)
    if "Pack" not in name:
        raise InferenceError(
            "--tta needs a tta_pipeline in the config, or a test pipeline that ends in "
            f"Pack...Inputs, to which a flip can be added; it ends in {name}"
        )
    asked = last.get("meta_keys", ("img_path", "ori_shape", "img_shape", "scale_factor"))
    keys = dict.fromkeys([*asked, "flip", "flip_direction"])
    flips = [{"type": "RandomFlip", "prob": prob} for prob in (0.0, 1.0)]
    choices = [*([step] for step in middle), flips, [{**last, "meta_keys": tuple(keys)}]]
    return [first, {"type": "TestTimeAug", "transforms": choices}]


def augmented(cfg: Config, model: nn.Module) -> nn.Module:
    """Wrap a detector in the config's model of test-time augmentation, or in ours."""
    settings: dict[str, Any] = dict(cfg.get("tta_model") or {"type": "swin_mm.InstanceTTAModel"})
    with scope_of(cfg, MODELS):
        return MODELS.build({**settings, "module": model}).eval()
