"""Cascade Mask R-CNN with Swin-T on COCO, 36 epochs (3x), multi-scale training.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Object-Detection, configs/swin/
cascade_mask_rcnn_swin_tiny_patch4_window7_mstrain_480-800_giou_4conv1f_adamw_3x_coco.py
(there in mixed precision: `--amp`). Published there on val2017, single scale:
50.4 box AP, 43.7 mask AP, 86 M parameters, 745 GFLOPs at 800x1280 px. Not
retrained by this project. Start: Swin-T's ImageNet-1K weights by its authors.
"""

_base_ = [
    "./_base_/models/cascade_mask_rcnn_fpn.py",
    "./_base_/datasets/coco_instance.py",
    "./_base_/schedules/coco_adamw_3x.py",
    "./_base_/runtime/detection.py",
]

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_tiny_patch4_window7_224.pth"
)
model = dict(
    backbone=dict(
        variant="tiny",
        drop_path_rate=0.2,
        init_cfg=dict(type="Pretrained", checkpoint=weights),
    ),
    neck=dict(in_channels=[96, 192, 384, 768]),
)
zoo = dict(
    method="Cascade Mask R-CNN",
    backbone="Swin-T",
    version=1,
    data="COCO",
    schedule="3x",
    published=dict(box_ap=50.4, mask_ap=43.7),
    source="https://github.com/SwinTransformer/Swin-Transformer-Object-Detection",
    params=85.6,
    flops=745.0,
    input="800x1280",
    start="ImageNet-1K",
)
