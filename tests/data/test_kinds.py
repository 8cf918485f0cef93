from swin_mm.data import KINDS
from swin_mm.data.coco_categories import coco_categories
from swin_mm.data.shapes import SHAPES


def test_every_kind_has_cocos_own_name_and_number():
    official = {entry["id"]: entry["name"] for entry in coco_categories()}
    assert all(official[kind.coco_id] == kind.name for kind in KINDS)


def test_kinds_share_no_number_in_either_data_set():
    assert len(KINDS) >= 5
    assert (
        len({kind.coco_id for kind in KINDS}) == len({kind.ade_id for kind in KINDS}) == len(KINDS)
    )


def test_every_kind_has_a_shape():
    assert list(SHAPES) == [kind.name for kind in KINDS]
