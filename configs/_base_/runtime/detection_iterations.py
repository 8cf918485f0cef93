"""How a detector's run logs, saves and draws; counted in iterations."""

_base_ = "./detection.py"

default_hooks = dict(
    logger=dict(log_metric_by_epoch=False),
    checkpoint=dict(by_epoch=False, interval=5000, save_last=True),
)
log_processor = dict(by_epoch=False)
