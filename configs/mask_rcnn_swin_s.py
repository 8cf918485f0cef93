"""Mask R-CNN with Swin-S on COCO, 36 epochs (3x), multi-scale training.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Object-Detection,
configs/swin/mask_rcnn_swin_small_patch4_window7_mstrain_480-800_adamw_3x_coco.py
(there in mixed precision: `--amp`). Published there on val2017, single scale:
48.5 box AP, 43.3 mask AP, 69 M parameters, 359 GFLOPs at 800x1280 px. Not
retrained by this project. Start: Swin-S's ImageNet-1K weights by its authors.
"""

_base_ = "./mask_rcnn_swin_t.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_small_patch4_window7_224.pth"
)
model = dict(backbone=dict(variant="small", init_cfg=dict(checkpoint=weights)))
zoo = dict(
    backbone="Swin-S",
    published=dict(box_ap=48.5, mask_ap=43.3),
    params=69.1,
    flops=359.0,
)
