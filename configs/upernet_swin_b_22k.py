"""UPerNet with Swin-B of ImageNet-22K on ADE20K, 160k iterations of 512x512 px crops.

Recipe: https://github.com/open-mmlab/mmsegmentation, configs/swin/
swin-base-patch4-window7-in22k-pre_upernet_8xb2-160k_ade20k-512x512.py. Published
there on the validation set: 50.13 mIoU at one scale, 51.90 with six scales and
flips. 121.3 M parameters. Not retrained by this project. Start: Swin-B's
ImageNet-22K weights by its authors.
"""

_base_ = "./upernet_swin_b.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_base_patch4_window7_224_22k.pth"
)
model = dict(backbone=dict(init_cfg=dict(checkpoint=weights)))
zoo = dict(
    published=dict(miou=50.13, miou_tta=51.9),
    source="https://github.com/open-mmlab/mmsegmentation",
    start="ImageNet-22K",
)
