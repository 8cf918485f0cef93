"""Mask2Former with Swin-T on COCO's instances, 50 epochs of large-scale jitter.

Recipe: https://github.com/facebookresearch/Mask2Former,
configs/coco/instance-segmentation/swin/maskformer2_swin_tiny_bs16_50ep.yaml
(there in mixed precision: `--amp`). Published there on val2017: 45.0 mask AP;
by MMDetection, with the same recipe: 47.7 box AP, 44.7 mask AP. The paper counts
47 M parameters, and 232 GFLOPs as the mean over val2017. Not retrained by this
project. Start: Swin-T's ImageNet-1K weights by its authors.
"""

_base_ = [
    "./_base_/models/mask2former_instance.py",
    "./_base_/datasets/coco_instance_lsj.py",
    "./_base_/schedules/coco_mask2former_50e.py",
    "./_base_/runtime/detection_iterations.py",
]

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_tiny_patch4_window7_224.pth"
)
model = dict(
    backbone=dict(
        variant="tiny",
        drop_path_rate=0.3,
        init_cfg=dict(type="Pretrained", checkpoint=weights),
    ),
    panoptic_head=dict(in_channels=[96, 192, 384, 768]),
)
zoo = dict(
    method="Mask2Former",
    backbone="Swin-T",
    version=1,
    data="COCO",
    schedule="50 epochs",
    published=dict(mask_ap=45.0),
    source="https://github.com/facebookresearch/Mask2Former",
    params=47.4,
    flops=None,
    input="800x1280",
    start="ImageNet-1K",
)
