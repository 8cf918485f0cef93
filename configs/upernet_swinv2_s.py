"""UPerNet with SwinV2-S on ADE20K, 160k iterations of 512x512 px crops.

The recipe of `upernet_swinv2_t.py`, after Liu et al. 2021
(https://arxiv.org/abs/2103.14030); no published result. 81.4 M parameters, 1030
GFLOPs at 512x2048 px. Start: SwinV2-S's ImageNet-1K weights of 256 px by its
authors.
"""

_base_ = "./upernet_swinv2_t.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v2.0.0/"
    "swinv2_small_patch4_window8_256.pth"
)
model = dict(
    backbone=dict(variant="small", init_cfg=dict(checkpoint=weights)),
)
zoo = dict(
    backbone="SwinV2-S",
    params=81.4,
    flops=1029.5,
)
