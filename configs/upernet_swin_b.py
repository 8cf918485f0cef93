"""UPerNet with Swin-B on ADE20K, 160k iterations of 512x512 px crops.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation,
configs/swin/upernet_swin_base_patch4_window7_512x512_160k_ade20k.py. Published
there on the validation set: 48.13 mIoU at one scale, 49.72 with six scales and
flips, 121 M parameters, 1188 GFLOPs at 512x2048 px; by MMSegmentation with the
same recipe 47.99 and 49.57. Not retrained by this project. Start: Swin-B's
ImageNet-1K weights by its authors.
"""

_base_ = "./upernet_swin_t.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_base_patch4_window7_224.pth"
)
model = dict(
    backbone=dict(
        variant="base",
        init_cfg=dict(checkpoint=weights),
    ),
    decode_head=dict(in_channels=[128, 256, 512, 1024]),
    auxiliary_head=dict(in_channels=512),
)
zoo = dict(
    backbone="Swin-B",
    published=dict(miou=48.13, miou_tta=49.72),
    params=121.3,
    flops=1188.0,
)
