"""RetinaNet with Swin-T on COCO, 12 epochs (1x), one scale.

Recipe: https://github.com/open-mmlab/mmdetection,
configs/swin/retinanet_swin-t-p4-w7_fpn_1x_coco.py: SGD, whole pictures within
1333x800 px, drop path 0.2. There is no published result: MMDetection ships the
recipe without figures or weights. Counted: 38.5 M parameters, 247.6 GFLOPs at
800x1280 px. Start: Swin-T's ImageNet-1K weights by its authors.
"""

_base_ = [
    "./_base_/models/retinanet_fpn.py",
    "./_base_/datasets/coco_detection.py",
    "./_base_/schedules/coco_sgd_1x.py",
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
    neck=dict(in_channels=[192, 384, 768]),
)
train_pipeline = [
    dict(type="LoadImageFromFile"),
    dict(type="LoadAnnotations", with_bbox=True),
    dict(type="Resize", scale=(1333, 800), keep_ratio=True),
    dict(type="RandomFlip", prob=0.5),
    dict(type="PackDetInputs"),
]
train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
zoo = dict(
    method="RetinaNet",
    backbone="Swin-T",
    version=1,
    data="COCO",
    schedule="1x",
    published=dict(),
    source="https://github.com/open-mmlab/mmdetection",
    params=38.5,
    flops=247.6,
    input="800x1280",
    start="ImageNet-1K",
)
