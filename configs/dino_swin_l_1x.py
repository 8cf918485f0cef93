"""DINO with Swin-L on COCO, five scales, 12 epochs (1x), multi-scale training.

Recipe: https://github.com/open-mmlab/mmdetection,
configs/dino/dino-5scale_swin-l_8xb2-12e_coco.py. Published there on val2017,
single scale: 57.2 box AP. Not retrained by this project. Start: Swin-L's
ImageNet-22K weights of 384 px by its authors, windows of 12 tokens.
"""

_base_ = "./dino_swin_l.py"

param_scheduler = [
    dict(type="MultiStepLR", by_epoch=True, begin=0, end=12, milestones=[11], gamma=0.1),
]
train_cfg = dict(max_epochs=12)
zoo = dict(schedule="1x", published=dict(box_ap=57.2))
