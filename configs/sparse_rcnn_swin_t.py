"""Sparse R-CNN with Swin-T on COCO, 300 proposals, 36 epochs (3x), multi-scale training.

Recipe: Liu et al. 2021, https://arxiv.org/abs/2103.14030, section 4.2 and appendix
A2.2: the same training for every method. Published there on val2017, single
scale: 47.9 box AP, 110 M parameters, 172 GFLOPs at 800x1280 px (175.6 with the
products of dynamic convolutions and attention, which are not counted there);
neither code nor weights. The head, and gradients clipped to a norm of 1, are
MMDetection's. The drop path is not told: 0.2, as in the authors' other 3x
recipes for Swin-T. Not retrained by this project. Start: Swin-T's ImageNet-1K
weights by its authors.
"""

_base_ = [
    "./_base_/models/sparse_rcnn_fpn.py",
    "./_base_/datasets/coco_detection.py",
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
optim_wrapper = dict(clip_grad=dict(max_norm=1, norm_type=2))
zoo = dict(
    method="Sparse R-CNN",
    backbone="Swin-T",
    version=1,
    data="COCO",
    schedule="3x",
    published=dict(box_ap=47.9),
    source="https://arxiv.org/abs/2103.14030",
    params=109.7,
    flops=175.6,
    input="800x1280",
    start="ImageNet-1K",
)
