"""Mask2Former with Swin-L on COCO's instances, 200 queries, 100 epochs of large-scale jitter.

Recipe: https://github.com/facebookresearch/Mask2Former,
configs/coco/instance-segmentation/swin/maskformer2_swin_large_IN21k_384_bs16_100ep.yaml
(there in mixed precision: `--amp`), on 16 GPUs of one picture. Published there
on val2017: 50.1 mask AP. The paper counts 216 M parameters, and 868 GFLOPs as the
mean over val2017. Not retrained by this project. Start: Swin-L's ImageNet-22K
weights of 384 px by its authors, windows of 12 tokens.
"""

_base_ = "./mask2former_instance_swin_t.py"

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_large_patch4_window12_384_22k.pth"
)
iterations = 737_500  # twice the 50 epochs
model = dict(
    backbone=dict(
        variant="large",
        pretrain_img_size=384,
        window_size=12,
        init_cfg=dict(checkpoint=weights),
    ),
    panoptic_head=dict(in_channels=[192, 384, 768, 1536], num_queries=200),
)
train_dataloader = dict(batch_size=1)
param_scheduler = [
    dict(
        type="MultiStepLR",
        by_epoch=False,
        begin=0,
        end=iterations,
        milestones=[655_556, 710_184],
        gamma=0.1,
    ),
]
train_cfg = dict(max_iters=iterations, dynamic_intervals=[(735_001, iterations)])
zoo = dict(
    backbone="Swin-L",
    schedule="100 epochs",
    published=dict(mask_ap=50.1),
    params=215.5,
    start="ImageNet-22K",
)
