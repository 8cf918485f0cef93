import json

import swin_mm
from swin_mm.export import Description, Pixels


def test_pixels_are_those_of_the_config():
    pixels = Pixels.of({"mean": [1, 2, 3], "std": [4, 5, 6], "bgr_to_rgb": True})
    assert pixels == Pixels("RGB", (1, 2, 3), (4, 5, 6))


def test_pictures_stay_as_they_are_read_where_nothing_is_said():
    assert Pixels.of({}) == Pixels("BGR", (0.0,), (1.0,))


def test_everything_said_is_text_that_json_reads():
    pixels = Pixels("RGB", (1.0,), (2.0,))
    said = Description("model", ("logits",), (1,), pixels, True, ("sky",)).as_metadata()
    assert said["swin_mm.version"] == swin_mm.__version__
    assert said["swin_mm.input"] == "pixels"
    assert json.loads(said["swin_mm.classes"]) == ["sky"]
    assert json.loads(said["swin_mm.pixels"])["mean"] == [1.0]
    assert json.loads(said["swin_mm.normalises"]) is True
    assert all(isinstance(value, str) for value in said.values())
