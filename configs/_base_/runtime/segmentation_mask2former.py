"""How a Mask2Former for segmentation runs: the optimizer's constructor, MMDetection's parts."""

_base_ = "./segmentation.py"

custom_imports = dict(imports=["swin_mm", "swin_mm.engine", "mmdet.models"])
default_hooks = dict(checkpoint=dict(interval=5000))
