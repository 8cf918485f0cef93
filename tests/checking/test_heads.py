"""The heads of a model know as many classes as the data set has."""

import re

import pytest
from model_facts import CONFIGS, ROOT, read

from swin_mm.checking.heads import counted_classes
from swin_mm.checking.sources import find_sources
from swin_mm.checking.survey import plan_survey
from swin_mm.checking.tasks import Wishes

ROWS = re.findall(
    r"^\| [^|]+ \| `(model\..*n.*)` \|$", (ROOT / "docs/recipes.md").read_text(), re.M
)
NAMED = {key for row in ROWS for key in re.findall(r"(model\.\S*num_\w+)=", row)}


@pytest.mark.parametrize("name", CONFIGS)
def test_every_config_counts_the_classes_of_its_data(name):
    cfg = read(name)
    found = dict(counted_classes(cfg.model))
    assert set(found.values()) == {150 if cfg.default_scope == "mmseg" else 80}


def test_they_are_those_that_the_page_on_recipes_names():
    found = {key for name in CONFIGS for key, _ in counted_classes(read(name).model)}
    assert len(NAMED) >= 6
    assert found >= NAMED


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("retinanet_swin_t", "model.bbox_head.num_classes"),
        ("mask_rcnn_swin_t", "model.roi_head.mask_head.num_classes"),
        ("cascade_mask_rcnn_swin_t", "model.roi_head.bbox_head.2.num_classes"),
        ("mask2former_instance_swin_t", "model.panoptic_head.num_things_classes"),
    ],
)
def test_a_detectors_head_of_other_classes_is_a_fault(name, setting, tiny_scenes, config):
    cfg = config(f"{name}.py", tiny_scenes)
    cfg.merge_from_dict({setting: 3})
    work, given = plan_survey(find_sources(cfg, ("train",))[0])
    (group,) = [
        one for one in work(*given, Wishes()).findings.groups() if one.level.name == "ERROR"
    ]
    assert group.rule.name == "class-count"
    assert group.first[0].met == f"{setting} is 3, the data set has 80 classes"


def test_a_detector_that_reads_names_has_tokens_in_place_of_classes():
    model = {"language_model": {}, "bbox_head": {"num_classes": 256}}
    assert list(counted_classes(model)) == []
