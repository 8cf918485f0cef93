"""UPerNet with Swin-B of ImageNet-22K on ADE20K, 160k iterations of 640x640 px crops.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation, and
Liu et al. 2021, appendix A2.3. Published there on the validation set: 50.04 mIoU
at one scale, 51.66 with six scales and flips, 121 M parameters, 1841 GFLOPs at
640x2560 px. Not retrained by this project. Start: Swin-B's ImageNet-22K weights
by its authors.
"""

_base_ = [
    "./_base_/models/upernet.py",
    "./_base_/datasets/ade20k_640.py",
    "./_base_/schedules/ade20k_adamw_160k.py",
    "./_base_/runtime/segmentation.py",
]

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_base_patch4_window7_224_22k.pth"
)
model = dict(
    data_preprocessor=dict(size=(640, 640)),
    backbone=dict(
        variant="base",
        drop_path_rate=0.3,
        init_cfg=dict(type="Pretrained", checkpoint=weights),
    ),
    decode_head=dict(in_channels=[128, 256, 512, 1024]),
    auxiliary_head=dict(in_channels=512),
)
zoo = dict(
    method="UPerNet",
    backbone="Swin-B",
    version=1,
    data="ADE20K",
    schedule="160k",
    published=dict(miou=50.04, miou_tta=51.66),
    source="https://github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation",
    params=121.3,
    flops=1841.0,
    input="640x2560",
    start="ImageNet-22K",
)
