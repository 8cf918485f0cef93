"""The kinds of thing that the offline world holds, and the numbers both data sets know them by."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of thing.

    Attributes:
        name: COCO's name of the category.
        coco_id: COCO's category id, 1..90.
        ade_id: value in ADE20K's label pictures, 1..150.
        roundness: how far the surface bulges, 0 (a sheet) to 1 (a ball).
    """

    name: str
    coco_id: int
    ade_id: int
    roundness: float


# ADE20K has no kite, umbrella or donut: they are its plaything (109),
# awning or sunshade (87) and food (121).
KINDS = (
    Kind("airplane", coco_id=5, ade_id=91, roundness=0.8),
    Kind("umbrella", coco_id=28, ade_id=87, roundness=0.6),
    Kind("sports ball", coco_id=37, ade_id=120, roundness=1.0),
    Kind("kite", coco_id=38, ade_id=109, roundness=0.12),
    Kind("bottle", coco_id=44, ade_id=99, roundness=1.0),
    Kind("donut", coco_id=60, ade_id=121, roundness=1.0),
)
