"""Mask2Former with Swin-T on ADE20K, 160k iterations of 512x512 px crops.

Recipe: https://github.com/facebookresearch/Mask2Former, configs/ade20k/
semantic-segmentation/swin/maskformer2_swin_tiny_bs16_160k.yaml (there in mixed
precision: `--amp`). Published there on the validation set: 47.7 mIoU at one
scale, 49.6 with scales and flips; by MMSegmentation, with the same recipe, 48.66
at one scale. Not retrained by this project. Start: Swin-T's ImageNet-1K weights
by its authors.
"""

_base_ = [
    "./_base_/models/mask2former_semantic.py",
    "./_base_/datasets/ade20k_shortest_edge.py",
    "./_base_/schedules/ade20k_mask2former_160k.py",
    "./_base_/runtime/segmentation_mask2former.py",
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
    decode_head=dict(in_channels=[96, 192, 384, 768]),
)
zoo = dict(
    method="Mask2Former",
    backbone="Swin-T",
    version=1,
    data="ADE20K",
    schedule="160k",
    published=dict(miou=47.7, miou_tta=49.6),
    source="https://github.com/facebookresearch/Mask2Former",
    params=47.4,
    flops=None,
    input="512x512",
    start="ImageNet-1K",
)
