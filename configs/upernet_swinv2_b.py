"""UPerNet with SwinV2-B on ADE20K, 160k iterations of 512x512 px crops.

The recipe of `upernet_swinv2_t.py`, after Liu et al. 2021
(https://arxiv.org/abs/2103.14030); no published result. 121.4 M parameters, 1173
GFLOPs at 512x2048 px. Start: SwinV2-B's ImageNet-1K weights of 256 px by its
authors.
"""

_base_ = "./upernet_swinv2_t.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v2.0.0/"
    "swinv2_base_patch4_window8_256.pth"
)
model = dict(
    backbone=dict(variant="base", init_cfg=dict(checkpoint=weights)),
    decode_head=dict(in_channels=[128, 256, 512, 1024]),
    auxiliary_head=dict(in_channels=512),
)
zoo = dict(
    backbone="SwinV2-B",
    params=121.4,
    flops=1172.9,
)
