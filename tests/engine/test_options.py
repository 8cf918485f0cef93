"""`--cfg-options` before anything is built."""

import pytest
from mmengine.config import Config

from swin_mm.engine.arguments import ToolParser
from swin_mm.engine.errors import UsageError
from swin_mm.engine.notes import Notes
from swin_mm.engine.options import merge_options


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("model.bakcbone.embed_dims", 32, "did you mean backbone"),
        ("model.backbone.embed_dimz", 32, "did you mean embed_dims"),
        ("modle.backbone.depths", [1], "did you mean model"),
        ("model.roi_head.mask_head.conv_out_chanels", 8, "did you mean conv_out_channels"),
        ("optim_wrapper.constuctor", "x", "did you mean constructor"),
        ("optim_wrapper.optimizer.weight_decy", 0.1, "did you mean weight_decay"),
        ("train_dataloader.batchsize", 4, "did you mean batch_size"),
        ("default_hooks.checkpoint.intervall", 4, "did you mean interval"),
        ("model.test_cfg.rcnn.score_th", 0.3, "did you mean score_thr"),
        ("param_scheduler.7.end", 10, "a list of 2"),
        ("param_scheduler.end", 10, "a list of 2"),
        ("model.backbone", 3, "a group of"),
        ("train_cfg.max_epochs.x", 3, "is 36"),
        ("model.neck.type", "FPNN", "did you mean FPN"),
        # Names that have built other settings while the file was read.
        ("data_root", "elsewhere/", r"nothing by itself: .*train_dataloader\.dataset.*--data-root"),
        ("weights", "mine.pth", r"model\.backbone\.init_cfg\.checkpoint"),
        ("train_pipeline.2.prob", 0.9, r"train_dataloader\.dataset\.pipeline\.2\.prob"),
        ("test_pipeline.1.scale", (1, 1), r"val_dataloader\.dataset\.pipeline\.1\.scale\. Set"),
        ("multi_scale.keep_ratio", False, r"pipeline\.3\.transforms\.0\.0\.keep_ratio"),
    ],
)
def test_a_key_that_leads_nowhere_is_refused(
    path: str, value: object, says: str, detector: Config, notes: Notes
) -> None:
    with pytest.raises(UsageError, match=says):
        merge_options(detector, {path: value}, notes)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("model.backbone.with_cp", True),
        ("model.neck.start_level", 1),
        ("model.neck.norm_cfg.type", "BN"),
        ("optim_wrapper.clip_grad.max_norm", 1.0),
        ("optim_wrapper.constructor", "swin_mm.LayerDecayOptimWrapperConstructor"),
        ("optim_wrapper.paramwise_cfg.layer_decay_rate", 0.8),
        ("optim_wrapper.optimizer.amsgrad", True),
        ("train_dataloader.pin_memory", True),
        ("default_hooks.checkpoint.save_best", "auto"),
        ("train_dataloader.dataset.pipeline.2.prob", 0.0),
        ("train_dataloader.dataset.indices", 5),
        ("randomness.deterministic", True),
        ("find_unused_parameters", True),
        ("model.backbone.type", "mmdet.SwinTransformer"),
    ],
)
def test_what_a_class_takes_may_be_set_though_the_config_does_not_name_it(
    path: str, value: object, detector: Config, notes: Notes
) -> None:
    merge_options(detector, {path: value}, notes)
    node = detector
    for key in path.split("."):
        node = node[int(key) if key.isdigit() else key]
    assert node == value


def test_a_new_type_is_asked_for_its_own_arguments(detector: Config, notes: Notes) -> None:
    options = {"model.backbone.type": "mmdet.ResNet", "model.backbone.depth": 50}
    merge_options(detector, options, notes)
    assert detector.model.backbone.depth == 50


def test_a_new_key_that_no_class_vouches_for_is_named(
    detector: Config, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    merge_options(detector, {"env_cfg.dist_cfg.timeout": 60}, notes)
    assert "adds env_cfg.dist_cfg.timeout" in capsys.readouterr().out


def test_a_name_that_only_code_of_ones_own_may_read_is_set_with_a_warning(
    detector: Config, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    detector.mine = 2  # as many as the pictures of a batch, by chance
    merge_options(detector, {"mine": 3}, notes)
    assert detector.mine == 3
    assert "no run reads mine" in capsys.readouterr().err


def test_predictions_read_the_test_pipeline_where_no_data_is_told(
    detector: Config, notes: Notes, capsys: pytest.CaptureFixture
) -> None:
    detector.test_dataloader = None
    merge_options(detector, {"test_pipeline.1.scale": (667, 400)}, notes)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", [("custom_hooks", "custom_hooks.0"), ("resume.a", "resume")])
def test_a_key_below_one_that_is_set_whole_is_refused(
    words: tuple[str, str], detector: Config, notes: Notes
) -> None:
    with pytest.raises(UsageError, match="the first sets all of what the second sets a part of"):
        merge_options(detector, dict.fromkeys(words, 3), notes)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("batch_size", "takes KEY=VALUE, got 'batch_size'"),
        ("=4", "takes KEY=VALUE, got '=4'"),
        ("a=[(1", "a bracket is not closed in 'a=[(1'"),
        (
            "a.b=dict(c=1,d=2)",
            "got 'a.b=dict(c=1,d=2)'; set what a group holds one by one, a.b.NAME=",
        ),
        ("a=],[", "takes lists [a,b], tuples (a,b) and single values, got 'a=],['"),
    ],
)
def test_a_malformed_option_ends_with_exit_code_two(
    word: str, told: str, capsys: pytest.CaptureFixture
) -> None:
    parser = ToolParser("")
    parser.add_run_arguments()
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(["--cfg-options", word])
    assert stop.value.code == 2
    assert told in capsys.readouterr().err
