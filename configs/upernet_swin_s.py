"""UPerNet with Swin-S on ADE20K, 160k iterations of 512x512 px crops.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation,
configs/swin/upernet_swin_small_patch4_window7_512x512_160k_ade20k.py. Published
there on the validation set: 47.64 mIoU at one scale, 49.47 with six scales and
flips, 81 M parameters, 1038 GFLOPs at 512x2048 px; by MMSegmentation with the
same recipe 47.72 and 49.24. Not retrained by this project. Start: Swin-S's
ImageNet-1K weights by its authors.
"""

_base_ = "./upernet_swin_t.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_small_patch4_window7_224.pth"
)
model = dict(
    backbone=dict(
        variant="small",
        init_cfg=dict(checkpoint=weights),
    ),
)
zoo = dict(
    backbone="Swin-S",
    published=dict(miou=47.64, miou_tta=49.47),
    params=81.3,
    flops=1038.0,
)
