"""Mask2Former's AdamW for 50 epochs of COCO, counted in iterations.

Batch 16 (8 GPUs of 2), no warm-up, gradients clipped to a norm of 0.01. The
backbone learns at a tenth of the rate. Norms, bias tables and embeddings do
not decay: `swin_no_decay` spares those of the backbone, `norm_decay_mult` the
head's.
"""

iterations = 368_750
interval = 5000  # between validations; the last is at the end

optim_wrapper = dict(
    type="OptimWrapper",
    constructor="swin_mm.LayerDecayOptimWrapperConstructor",
    optimizer=dict(type="AdamW", lr=1e-4, betas=(0.9, 0.999), weight_decay=0.05),
    clip_grad=dict(max_norm=0.01, norm_type=2),
    paramwise_cfg=dict(
        swin_no_decay=True,
        norm_decay_mult=0.0,
        custom_keys={
            "backbone": dict(lr_mult=0.1),
            "query_embed": dict(decay_mult=0.0),
            "query_feat": dict(decay_mult=0.0),
            "level_embed": dict(decay_mult=0.0),
        },
    ),
)
param_scheduler = [
    dict(
        type="MultiStepLR",
        by_epoch=False,
        begin=0,
        end=iterations,
        milestones=[327_778, 355_092],
        gamma=0.1,
    ),
]
train_cfg = dict(
    type="IterBasedTrainLoop",
    max_iters=iterations,
    val_interval=interval,
    dynamic_intervals=[(iterations // interval * interval + 1, iterations)],
)
val_cfg = dict(type="ValLoop")
test_cfg = dict(type="TestLoop")
auto_scale_lr = dict(enable=False, base_batch_size=16)
