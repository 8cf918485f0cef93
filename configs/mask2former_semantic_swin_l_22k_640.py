"""Mask2Former with Swin-L of ImageNet-22K on ADE20K, 160k iterations of 640x640 px crops.

Recipe: https://github.com/facebookresearch/Mask2Former, configs/ade20k/
semantic-segmentation/swin/maskformer2_swin_large_IN21k_384_bs16_160k_res640.yaml
(there in mixed precision: `--amp`). Published there on the validation set: 56.1
mIoU at one scale, 57.3 with scales and flips. Not retrained by this project.
Start: Swin-L's ImageNet-22K weights of 384 px by its authors, windows of 12 tokens.
"""

_base_ = "./mask2former_semantic_swin_b_22k_640.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_large_patch4_window12_384_22k.pth"
)
model = dict(
    backbone=dict(variant="large", init_cfg=dict(checkpoint=weights)),
    decode_head=dict(in_channels=[192, 384, 768, 1536]),
)
zoo = dict(
    backbone="Swin-L",
    published=dict(miou=56.1, miou_tta=57.3),
    params=215.5,
)
