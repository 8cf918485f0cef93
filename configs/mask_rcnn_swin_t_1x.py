"""Mask R-CNN with Swin-T on COCO, 12 epochs (1x), the augmentation of the 3x recipe.

Recipe: https://github.com/SwinTransformer/Swin-Transformer-Object-Detection,
configs/swin/mask_rcnn_swin_tiny_patch4_window7_mstrain_480-800_adamw_1x_coco.py
(there in mixed precision: `--amp`). Published there on val2017, single scale:
43.7 box AP, 39.8 mask AP. Not retrained by this project. MMDetection's own 1x
config differs (one scale, drop path 0.2) and reports 42.7 and 39.3.
"""

_base_ = "./mask_rcnn_swin_t.py"

model = dict(backbone=dict(drop_path_rate=0.1))
param_scheduler = [
    dict(type="LinearLR", start_factor=0.001, by_epoch=False, begin=0, end=500),
    dict(type="MultiStepLR", by_epoch=True, begin=0, end=12, milestones=[8, 11], gamma=0.1),
]
train_cfg = dict(max_epochs=12)
zoo = dict(schedule="1x", published=dict(box_ap=43.7, mask_ap=39.8))
