"""How a detector's run logs, saves and draws; counted in epochs."""

default_scope = "mmdet"
custom_imports = dict(imports=["swin_mm", "swin_mm.engine"], allow_failed_imports=False)

default_hooks = dict(
    timer=dict(type="IterTimerHook"),
    logger=dict(type="LoggerHook", interval=50),
    param_scheduler=dict(type="ParamSchedulerHook"),
    checkpoint=dict(type="CheckpointHook", interval=1, max_keep_ckpts=3),
    sampler_seed=dict(type="DistSamplerSeedHook"),
    visualization=dict(type="DetVisualizationHook"),
)
env_cfg = dict(
    cudnn_benchmark=False,
    mp_cfg=dict(mp_start_method="fork", opencv_num_threads=0),
    dist_cfg=dict(backend="nccl"),
)
vis_backends = [dict(type="LocalVisBackend")]
visualizer = dict(type="DetLocalVisualizer", vis_backends=vis_backends, name="visualizer")
log_processor = dict(type="LogProcessor", window_size=50, by_epoch=True)
log_level = "INFO"
load_from = None
resume = False
# What `tools/test.py --tta` merges: boxes by NMS, masks by vote.
tta_model = dict(type="swin_mm.InstanceTTAModel", iou_threshold=0.5, max_per_img=100)
