"""UPerNet with an auxiliary FCN head on a Swin backbone, 150 classes.

Xiao et al. 2018, with the numbers of
https://github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation.
Which Swin, and the heads' `in_channels` that follow from it, is the business
of the config that inherits this one.
"""

norm_cfg = dict(type="SyncBN", requires_grad=True)

model = dict(
    type="EncoderDecoder",
    data_preprocessor=dict(
        type="SegDataPreProcessor",
        mean=[123.675, 116.28, 103.53],  # ImageNet, RGB, 0 to 255
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
        pad_val=0,
        seg_pad_val=255,
        size=(512, 512),  # px, the training crop
    ),
    backbone=dict(type="swin_mm.SwinTransformer", out_indices=(0, 1, 2, 3)),
    decode_head=dict(
        type="UPerHead",
        in_index=[0, 1, 2, 3],
        pool_scales=(1, 2, 3, 6),
        channels=512,
        dropout_ratio=0.1,
        num_classes=150,
        norm_cfg=norm_cfg,
        align_corners=False,
        loss_decode=dict(type="CrossEntropyLoss", use_sigmoid=False, loss_weight=1.0),
    ),
    auxiliary_head=dict(
        type="FCNHead",
        in_index=2,
        channels=256,
        num_convs=1,
        concat_input=False,
        dropout_ratio=0.1,
        num_classes=150,
        norm_cfg=norm_cfg,
        align_corners=False,
        loss_decode=dict(type="CrossEntropyLoss", use_sigmoid=False, loss_weight=0.4),
    ),
    train_cfg=dict(),
    test_cfg=dict(mode="whole"),
)
tta_model = dict(type="SegTTAModel")
