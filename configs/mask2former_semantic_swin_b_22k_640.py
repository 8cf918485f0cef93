"""Mask2Former with Swin-B of ImageNet-22K on ADE20K, 160k iterations of 640x640 px crops.

Recipe: https://github.com/facebookresearch/Mask2Former, configs/ade20k/
semantic-segmentation/swin/maskformer2_swin_base_IN21k_384_bs16_160k_res640.yaml
(there in mixed precision: `--amp`). Published there on the validation set: 53.9
mIoU at one scale, 55.1 with scales and flips. Not retrained by this project.
Start: Swin-B's ImageNet-22K weights of 384 px by its authors, windows of 12 tokens.
"""

_base_ = [
    "./_base_/models/mask2former_semantic.py",
    "./_base_/datasets/ade20k_shortest_edge_640.py",
    "./_base_/schedules/ade20k_mask2former_160k.py",
    "./_base_/runtime/segmentation_mask2former.py",
]

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_base_patch4_window12_384_22k.pth"
)
model = dict(
    data_preprocessor=dict(size=(640, 640)),
    backbone=dict(
        variant="base",
        pretrain_img_size=384,
        window_size=12,
        drop_path_rate=0.3,
        init_cfg=dict(type="Pretrained", checkpoint=weights),
    ),
    decode_head=dict(in_channels=[128, 256, 512, 1024]),
)
zoo = dict(
    method="Mask2Former",
    backbone="Swin-B",
    version=1,
    data="ADE20K",
    schedule="160k",
    published=dict(miou=53.9, miou_tta=55.1),
    source="https://github.com/facebookresearch/Mask2Former",
    params=106.9,
    flops=None,
    input="640x640",
    start="ImageNet-22K",
)
