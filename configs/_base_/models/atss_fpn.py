"""ATSS with a feature pyramid on a Swin backbone.

Zhang et al. 2020, with the numbers of https://github.com/open-mmlab/mmdetection:
RetinaNet with one square anchor a place, targets by the statistics of overlaps,
GIoU and centerness.
"""

_base_ = "./retinanet_fpn.py"

model = dict(
    type="ATSS",
    neck=dict(add_extra_convs="on_output"),
    bbox_head=dict(
        type="ATSSHead",
        norm_cfg=dict(type="GN", num_groups=32, requires_grad=True),
        anchor_generator=dict(octave_base_scale=8, scales_per_octave=1, ratios=[1.0]),
        bbox_coder=dict(target_stds=[0.1, 0.1, 0.2, 0.2]),
        loss_bbox=dict(type="GIoULoss", loss_weight=2.0),
        loss_centerness=dict(type="CrossEntropyLoss", use_sigmoid=True, loss_weight=1.0),
    ),
    train_cfg=dict(assigner=dict(_delete_=True, type="ATSSAssigner", topk=9)),
    test_cfg=dict(nms=dict(iou_threshold=0.6)),
)
