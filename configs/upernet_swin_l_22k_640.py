"""UPerNet with Swin-L of ImageNet-22K on ADE20K, 160k iterations of 640x640 px crops.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation, and
Liu et al. 2021, appendix A2.3. Published there on the validation set: 52.05 mIoU
at one scale, 53.53 with six scales and flips, 234 M parameters, 3230 GFLOPs at
640x2560 px, where we count 2482 in the way that gives Swin-B's 1841. Not retrained
by this project. Start: Swin-L's ImageNet-22K weights by its authors.
"""

_base_ = "./upernet_swin_b_22k_640.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_large_patch4_window7_224_22k.pth"
)
model = dict(
    backbone=dict(variant="large", init_cfg=dict(checkpoint=weights)),
    decode_head=dict(in_channels=[192, 384, 768, 1536]),
    auxiliary_head=dict(in_channels=768),
)
zoo = dict(
    backbone="Swin-L",
    published=dict(miou=52.05, miou_tta=53.53),
    params=233.8,
    flops=2482.3,
)
