"""Mask R-CNN with Swin-T on COCO, 36 epochs (3x), multi-scale training.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Object-Detection,
configs/swin/mask_rcnn_swin_tiny_patch4_window7_mstrain_480-800_adamw_3x_coco.py
(there in mixed precision: `--amp`). Published there on val2017, single scale:
46.0 box AP, 41.6 mask AP, 48 M parameters, 267 GFLOPs at 800x1280 px. Not
retrained by this project. Start: Swin-T's ImageNet-1K weights by its authors.
"""

_base_ = [
    "./_base_/models/mask_rcnn_fpn.py",
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
    method="Mask R-CNN",
    backbone="Swin-T",
    version=1,
    data="COCO",
    schedule="3x",
    published=dict(box_ap=46.0, mask_ap=41.6),
    source="https://github.com/SwinTransformer/Swin-Transformer-Object-Detection",
    params=47.8,
    flops=267.0,
    input="800x1280",
    start="ImageNet-1K",
)
