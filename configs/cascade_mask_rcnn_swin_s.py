"""Cascade Mask R-CNN with Swin-S on COCO, 36 epochs (3x), multi-scale training.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Object-Detection, configs/swin/
cascade_mask_rcnn_swin_small_patch4_window7_mstrain_480-800_giou_4conv1f_adamw_3x_coco.py
(there in mixed precision: `--amp`). Published there on val2017, single scale:
51.9 box AP, 45.0 mask AP, 107 M parameters, 838 GFLOPs at 800x1280 px. Not
retrained by this project. Start: Swin-S's ImageNet-1K weights by its authors.
"""

_base_ = "./cascade_mask_rcnn_swin_t.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_small_patch4_window7_224.pth"
)
model = dict(backbone=dict(variant="small", init_cfg=dict(checkpoint=weights)))
zoo = dict(
    backbone="Swin-S",
    published=dict(box_ap=51.9, mask_ap=45.0),
    params=106.9,
    flops=838.0,
)
