"""Mask2Former with Swin-S on COCO's instances, 50 epochs of large-scale jitter.

Recipe: https://github.com/facebookresearch/Mask2Former,
configs/coco/instance-segmentation/swin/maskformer2_swin_small_bs16_50ep.yaml
(there in mixed precision: `--amp`). Published there on val2017: 46.3 mask AP;
by MMDetection, with the same recipe: 49.3 box AP, 46.1 mask AP. The paper counts
69 M parameters, and 313 GFLOPs as the mean over val2017. Not retrained by this
project. Start: Swin-S's ImageNet-1K weights by its authors.
"""

_base_ = "./mask2former_instance_swin_t.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_small_patch4_window7_224.pth"
)
model = dict(backbone=dict(variant="small", init_cfg=dict(checkpoint=weights)))
zoo = dict(backbone="Swin-S", published=dict(mask_ap=46.3), params=68.7)
