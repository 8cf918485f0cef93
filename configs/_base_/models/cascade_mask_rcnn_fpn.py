"""Cascade Mask R-CNN with a feature pyramid on a Swin backbone.

Cai and Vasconcelos 2018, with the heads of Swin's authors: four convolutions
and one layer for each of the three boxes, GIoU times 10, SyncBN
(https://github.com/SwinTransformer/Swin-Transformer-Object-Detection). Pyramid,
proposals and masks are Mask R-CNN's but for the numbers below.
"""

_base_ = "./mask_rcnn_fpn.py"

# By stage: how far a box may be from its truth (IoU), what deviations its
# offsets are divided by, and the weight of its losses.
ious = (0.5, 0.6, 0.7)
deviations = (
    [0.1, 0.1, 0.2, 0.2],
    [0.05, 0.05, 0.1, 0.1],
    [0.033, 0.033, 0.067, 0.067],
)

model = dict(
    type="CascadeRCNN",
    rpn_head=dict(
        loss_bbox=dict(_delete_=True, type="SmoothL1Loss", beta=1 / 9, loss_weight=1.0),
    ),
    roi_head=dict(
        type="CascadeRoIHead",
        num_stages=3,
        stage_loss_weights=[1, 0.5, 0.25],
        bbox_head=[
            dict(
                type="ConvFCBBoxHead",
                num_shared_convs=4,
                num_shared_fcs=1,
                in_channels=256,
                conv_out_channels=256,
                fc_out_channels=1024,
                roi_feat_size=7,
                num_classes=80,
                bbox_coder=dict(
                    type="DeltaXYWHBBoxCoder",
                    target_means=[0.0, 0.0, 0.0, 0.0],
                    target_stds=stds,
                ),
                reg_class_agnostic=False,
                reg_decoded_bbox=True,
                norm_cfg=dict(type="SyncBN", requires_grad=True),
                loss_cls=dict(type="CrossEntropyLoss", use_sigmoid=False, loss_weight=1.0),
                loss_bbox=dict(type="GIoULoss", loss_weight=10.0),
            )
            for stds in deviations
        ],
    ),
    train_cfg=dict(
        rpn=dict(allowed_border=0),
        rpn_proposal=dict(max_per_img=2000),
        rcnn=[
            dict(
                assigner=dict(
                    type="MaxIoUAssigner",
                    pos_iou_thr=iou,
                    neg_iou_thr=iou,
                    min_pos_iou=iou,
                    match_low_quality=False,
                    ignore_iof_thr=-1,
                ),
                sampler=dict(
                    type="RandomSampler",
                    num=512,
                    pos_fraction=0.25,
                    neg_pos_ub=-1,
                    add_gt_as_proposals=True,
                ),
                mask_size=28,
                pos_weight=-1,
                debug=False,
            )
            for iou in ious
        ],
    ),
)
