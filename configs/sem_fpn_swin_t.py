"""Semantic FPN with Swin-T on ADE20K, 80k iterations of 512x512 px crops.

Recipe: Chu et al. 2021 (Twins), https://arxiv.org/abs/2104.13840, section 4.2, who
trained Swin-T beside their own networks. Published there on the validation set:
41.5 mIoU at one scale. 31.9 M parameters, 47.2 GFLOPs at 512x512 px. Batch 32
(8 GPUs of 4). The drop path is not told: 0.2. Not retrained by this project.
Start: Swin-T's ImageNet-1K weights by its authors.
"""

_base_ = [
    "./_base_/models/sem_fpn.py",
    "./_base_/datasets/ade20k.py",
    "./_base_/schedules/ade20k_adamw_80k.py",
    "./_base_/runtime/segmentation.py",
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
train_dataloader = dict(batch_size=4)
zoo = dict(
    method="Semantic FPN",
    backbone="Swin-T",
    version=1,
    data="ADE20K",
    schedule="80k",
    published=dict(miou=41.5),
    source="https://arxiv.org/abs/2104.13840",
    params=31.9,
    flops=47.2,
    input="512x512",
    start="ImageNet-1K",
)
