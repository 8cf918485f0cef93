"""UPerNet with SwinV2-T on ADE20K, 160k iterations of 512x512 px crops.

The recipe of `upernet_swin_t.py` (Liu et al. 2021), with windows of 8 tokens, as
the weights were trained with; no published result. Besides what that recipe
spares, the network of the position bias and the scales of the attention do not
decay, as in https://github.com/microsoft/Swin-Transformer. 60.0 M parameters,
940 GFLOPs at 512x2048 px. Start: SwinV2-T's ImageNet-1K weights of 256 px by its
authors.
"""

_base_ = "./upernet_swin_t.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v2.0.0/"
    "swinv2_tiny_patch4_window8_256.pth"
)
model = dict(
    backbone=dict(
        type="swin_mm.SwinTransformerV2",
        window_size=8,
        pretrain_img_size=256,
        init_cfg=dict(checkpoint=weights),
    )
)
optim_wrapper = dict(
    paramwise_cfg=dict(
        custom_keys={
            "cpb_mlp": dict(decay_mult=0.0),
            "logit_scale": dict(decay_mult=0.0),
        }
    )
)
zoo = dict(
    backbone="SwinV2-T",
    version=2,
    published=dict(_delete_=True),
    source=None,
    params=60.0,
    flops=940.1,
)
