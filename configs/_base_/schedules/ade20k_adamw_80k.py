"""AdamW for 80k iterations of ADE20K, the rate falling with a power of 0.9.

Batch 32 (8 GPUs of 4), no warm-up; everything decays, by 1e-4.
"""

optim_wrapper = dict(
    type="OptimWrapper",
    optimizer=dict(type="AdamW", lr=1e-4, betas=(0.9, 0.999), weight_decay=1e-4),
)
param_scheduler = [
    dict(type="PolyLR", eta_min=0.0, power=0.9, by_epoch=False, begin=0, end=80000),
]
train_cfg = dict(type="IterBasedTrainLoop", max_iters=80000, val_interval=8000)
val_cfg = dict(type="ValLoop")
test_cfg = dict(type="TestLoop")
auto_scale_lr = dict(enable=False, base_batch_size=32)
