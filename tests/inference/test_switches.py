import pytest
from mmengine.config import Config

import swin_mm.engine  # noqa: F401, registers the model of test-time augmentation
from swin_mm.inference import InferenceError
from swin_mm.inference.switches import augmented, compile_backbone, flipping_pipeline

READ = {"type": "LoadImageFromFile"}
RESIZE = {"type": "Resize", "scale": (64, 48), "keep_ratio": True}


def config(kind, **more):
    return Config({"default_scope": "mmdet", "model": {"backbone": {"type": kind, **more}}})


def test_a_backbone_of_ours_is_compiled_and_keeps_its_settings():
    cfg = config("swin_mm.SwinTransformerV2")
    compile_backbone(cfg)
    assert cfg.model.backbone.compile is True
    cfg = config("swin_mm.SwinTransformer", compile={"dynamic": True})
    compile_backbone(cfg)
    assert cfg.model.backbone.compile == {"dynamic": True}


@pytest.mark.parametrize("kind", ["ResNet", "mmdet.SwinTransformer", "NoSuchNet"])
def test_any_other_backbone_is_not(kind):
    with pytest.raises(InferenceError, match=f"this config's is {kind}: leave --compile out"):
        compile_backbone(config(kind))


def test_a_configs_own_augmentation_is_taken():
    cfg = Config({"tta_pipeline": [READ, {"type": "TestTimeAug", "transforms": []}]})
    assert flipping_pipeline(cfg) == cfg.tta_pipeline


def test_without_one_the_test_pipeline_is_flipped():
    pack = {"type": "PackDetInputs", "meta_keys": ("img_id", "ori_shape")}
    first, augment = flipping_pipeline(Config({"test_pipeline": [READ, RESIZE, pack]}))
    assert first == READ and augment["type"] == "TestTimeAug"
    resize, flips, packs = augment["transforms"]
    assert resize == [RESIZE]
    assert [flip["prob"] for flip in flips] == [0, 1]
    assert packs[0]["meta_keys"] == ("img_id", "ori_shape", "flip", "flip_direction")


def test_a_pipeline_to_which_no_flip_can_be_added_is_refused():
    with pytest.raises(InferenceError, match="it ends in Resize"):
        flipping_pipeline(Config({"test_pipeline": [READ, RESIZE]}))


def test_a_detector_is_augmented_by_its_config_or_by_ours(detector):
    model = detector.predictor().model
    cfg = detector.cfg()
    cfg.tta_model.max_per_img = 7
    assert augmented(cfg, model).max_per_img == 7
    cfg.pop("tta_model")
    assert augmented(cfg, model).module is model
