"""Sparse R-CNN of 300 proposals and six stages with a feature pyramid on a Swin backbone.

Sun et al. 2021, with the numbers of https://github.com/open-mmlab/mmdetection.
Which Swin, and the pyramid's `in_channels` that follow from it, is the business
of the config that inherits this one.
"""

stages = 6
proposals = 300

model = dict(
    type="SparseRCNN",
    data_preprocessor=dict(
        type="DetDataPreprocessor",
        mean=[123.675, 116.28, 103.53],  # ImageNet, RGB, 0 to 255
        std=[58.395, 57.12, 57.375],
        bgr_to_rgb=True,
        pad_size_divisor=32,
    ),
    backbone=dict(type="swin_mm.SwinTransformer", out_indices=(0, 1, 2, 3)),
    neck=dict(type="FPN", out_channels=256, num_outs=4),
    rpn_head=dict(type="EmbeddingRPNHead", num_proposals=proposals, proposal_feature_channel=256),
    roi_head=dict(
        type="SparseRoIHead",
        num_stages=stages,
        stage_loss_weights=[1] * stages,
        proposal_feature_channel=256,
        bbox_roi_extractor=dict(
            type="SingleRoIExtractor",
            roi_layer=dict(type="RoIAlign", output_size=7, sampling_ratio=2),
            out_channels=256,
            featmap_strides=[4, 8, 16, 32],
        ),
        bbox_head=[
            dict(
                type="DIIHead",
                num_classes=80,
                num_ffn_fcs=2,
                num_heads=8,
                num_cls_fcs=1,
                num_reg_fcs=3,
                feedforward_channels=2048,
                in_channels=256,
                dropout=0.0,
                ffn_act_cfg=dict(type="ReLU", inplace=True),
                dynamic_conv_cfg=dict(
                    type="DynamicConv",
                    in_channels=256,
                    feat_channels=64,
                    out_channels=256,
                    input_feat_shape=7,
                    act_cfg=dict(type="ReLU", inplace=True),
                    norm_cfg=dict(type="LN"),
                ),
                loss_bbox=dict(type="L1Loss", loss_weight=5.0),
                loss_iou=dict(type="GIoULoss", loss_weight=2.0),
                loss_cls=dict(
                    type="FocalLoss", use_sigmoid=True, gamma=2.0, alpha=0.25, loss_weight=2.0
                ),
                bbox_coder=dict(
                    type="DeltaXYWHBBoxCoder",
                    clip_border=False,
                    target_means=[0.0, 0.0, 0.0, 0.0],
                    target_stds=[0.5, 0.5, 1.0, 1.0],
                ),
            )
            for _ in range(stages)
        ],
    ),
    train_cfg=dict(
        rpn=None,
        rcnn=[
            dict(
                assigner=dict(
                    type="HungarianAssigner",
                    match_costs=[
                        dict(type="FocalLossCost", weight=2.0),
                        dict(type="BBoxL1Cost", weight=5.0, box_format="xyxy"),
                        dict(type="IoUCost", iou_mode="giou", weight=2.0),
                    ],
                ),
                sampler=dict(type="PseudoSampler"),
                pos_weight=1,
            )
            for _ in range(stages)
        ],
    ),
    test_cfg=dict(rpn=None, rcnn=dict(max_per_img=proposals)),
)
