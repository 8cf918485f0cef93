"""UPerNet with Swin-T on ADE20K, 160k iterations of 512x512 px crops.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation,
configs/swin/upernet_swin_tiny_patch4_window7_512x512_160k_ade20k.py. Published
there on the validation set: 44.51 mIoU at one scale, 45.81 with six scales and
flips (`tools/test.py --tta`), 60 M parameters, 945 GFLOPs at 512x2048 px. Not
retrained by this project. Start: Swin-T's ImageNet-1K weights by its authors.
"""

_base_ = [
    "./_base_/models/upernet.py",
    "./_base_/datasets/ade20k.py",
    "./_base_/schedules/ade20k_adamw_160k.py",
    "./_base_/runtime/segmentation.py",
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
    auxiliary_head=dict(in_channels=384),
)
zoo = dict(
    method="UPerNet",
    backbone="Swin-T",
    version=1,
    data="ADE20K",
    schedule="160k",
    published=dict(miou=44.51, miou_tta=45.81),
    source="https://github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation",
    params=59.9,
    flops=945.0,
    input="512x2048",
    start="ImageNet-1K",
)
