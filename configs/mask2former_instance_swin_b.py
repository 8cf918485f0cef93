"""Mask2Former with Swin-B on COCO's instances, 50 epochs of large-scale jitter.

Recipe: https://github.com/facebookresearch/Mask2Former,
configs/coco/instance-segmentation/swin/maskformer2_swin_base_IN21k_384_bs16_50ep.yaml
(there in mixed precision: `--amp`). Published there on val2017: 48.1 mask AP. The
paper counts 107 M parameters, and 466 GFLOPs as the mean over val2017. Not
retrained by this project. Start: Swin-B's ImageNet-22K weights of 384 px by its
authors, windows of 12 tokens.
"""

_base_ = "./mask2former_instance_swin_t.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_base_patch4_window12_384_22k.pth"
)
model = dict(
    backbone=dict(
        variant="base",
        pretrain_img_size=384,
        window_size=12,
        init_cfg=dict(checkpoint=weights),
    ),
    panoptic_head=dict(in_channels=[128, 256, 512, 1024]),
)
zoo = dict(
    backbone="Swin-B",
    published=dict(mask_ap=48.1),
    params=106.9,
    start="ImageNet-22K",
)
