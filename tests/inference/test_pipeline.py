import pytest
from mmengine.config import Config

from swin_mm.inference import InferenceError
from swin_mm.inference.pipeline import split_pipeline, steps_of

READ = {"type": "LoadImageFromFile", "to_float32": True, "color_type": "grayscale"}
PACK = {"type": "PackDetInputs"}


def config(*pipeline):
    return Config({"default_scope": "mmdet", "test_pipeline": list(pipeline)})


def test_the_reading_and_the_truth_are_taken_out():
    reading, steps = split_pipeline(config(READ, {"type": "LoadAnnotations"}, PACK))
    assert reading == {"colour": "grayscale", "backend": None}
    assert steps == [{"type": "mmdet.LoadImageFromNDArray", "to_float32": True}, PACK]


def test_the_truth_is_taken_out_of_augmentation_too():
    choices = [[{"type": "Resize", "scale": 2}], [{"type": "LoadAnnotations"}], [PACK]]
    _, steps = split_pipeline(config(), [READ, {"type": "TestTimeAug", "transforms": choices}])
    assert steps[1]["transforms"] == [choices[0], choices[2]]


def test_the_test_data_come_before_a_pipeline_by_name():
    cfg = config(PACK)
    cfg.test_dataloader = {"dataset": {"pipeline": [READ]}}
    assert steps_of(cfg) == [READ]


@pytest.mark.parametrize(
    ("pipeline", "name"), [([{"type": "LoadFromTape"}], "LoadFromTape"), ([], "nothing")]
)
def test_a_pipeline_that_reads_otherwise_is_refused(pipeline, name):
    with pytest.raises(InferenceError, match=f"must begin with LoadImageFromFile, .* {name}"):
        split_pipeline(config(*pipeline))
