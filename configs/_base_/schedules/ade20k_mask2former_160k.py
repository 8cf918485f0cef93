"""Mask2Former's AdamW for 160k iterations of ADE20K, the rate falling with a power of 0.9.

Batch 16 (8 GPUs of 2), no warm-up, gradients clipped to a norm of 0.01. The
backbone learns at a tenth of the rate. Norms, bias tables and embeddings do
not decay: `swin_no_decay` spares those of the backbone, `norm_decay_mult` the
head's.
"""

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
    dict(type="PolyLR", eta_min=0.0, power=0.9, by_epoch=False, begin=0, end=160000),
]
train_cfg = dict(type="IterBasedTrainLoop", max_iters=160000, val_interval=5000)
val_cfg = dict(type="ValLoop")
test_cfg = dict(type="TestLoop")
auto_scale_lr = dict(enable=False, base_batch_size=16)
