"""Cascade Mask R-CNN with Swin-T on COCO, 12 epochs (1x), the augmentation of the 3x recipe.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Object-Detection, configs/swin/
cascade_mask_rcnn_swin_tiny_patch4_window7_mstrain_480-800_giou_4conv1f_adamw_1x_coco.py
(there in mixed precision: `--amp`), without stochastic depth. Published there
on val2017, single scale: 48.1 box AP, 41.7 mask AP. Not retrained by this
project. Start: Swin-T's ImageNet-1K weights by its authors.
"""

_base_ = "./cascade_mask_rcnn_swin_t.py"

model = dict(backbone=dict(drop_path_rate=0.0))
param_scheduler = [
    dict(type="LinearLR", start_factor=0.001, by_epoch=False, begin=0, end=500),
    dict(type="MultiStepLR", by_epoch=True, begin=0, end=12, milestones=[8, 11], gamma=0.1),
]
train_cfg = dict(max_epochs=12)
zoo = dict(schedule="1x", published=dict(box_ap=48.1, mask_ap=41.7))
