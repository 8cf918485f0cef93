import json
import os
from pathlib import Path

import pytest

from swin_mm.data.coco_categories import coco_categories


def test_there_are_eighty_categories_with_rising_numbers_up_to_ninety():
    numbers = [entry["id"] for entry in coco_categories()]
    assert len(numbers) == 80
    assert numbers == sorted(set(numbers))
    assert set(range(1, 91)) - set(numbers) == {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}


@pytest.mark.skipif("SWIN_MM_REAL_DATA" not in os.environ, reason="SWIN_MM_REAL_DATA is not set")
def test_the_table_is_cocos_own():
    file = Path(os.environ["SWIN_MM_REAL_DATA"]) / "coco/annotations/instances_val2017.json"
    assert coco_categories() == json.loads(file.read_text())["categories"]
