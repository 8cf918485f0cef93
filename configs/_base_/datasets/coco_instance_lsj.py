"""COCO 2017 instances with large-scale jitter: 0.1 to 2 times, cropped to 1024x1024 px.

Ghiasi et al. 2021, as in https://github.com/facebookresearch/Mask2Former. Batches
are drawn for a loop of iterations.
"""

_base_ = "./coco_instance.py"

crop = (1024, 1024)  # px

load = dict(type="LoadImageFromFile", to_float32=True)
train_pipeline = [
    load,
    dict(type="LoadAnnotations", with_bbox=True, with_mask=True),
    dict(type="RandomFlip", prob=0.5),
    dict(type="RandomResize", scale=crop, ratio_range=(0.1, 2.0), keep_ratio=True),
    dict(
        type="RandomCrop",
        crop_size=crop,
        crop_type="absolute",
        recompute_bbox=True,
        allow_negative_crop=True,
    ),
    # What the crop left nothing of: an instance without a pixel has no mask to learn.
    dict(type="FilterAnnotations", min_gt_bbox_wh=(1e-5, 1e-5), by_mask=True),
    dict(type="PackDetInputs"),
]
test_pipeline = [load, *_base_.test_pipeline[1:]]
tta_pipeline = [load, *_base_.tta_pipeline[1:]]

train_dataloader = dict(
    sampler=dict(type="InfiniteSampler", shuffle=True),
    dataset=dict(pipeline=train_pipeline),
)
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
