"""ADE20K in crops of 640x640 px, everything a quarter larger than in `ade20k.py`."""

_base_ = "./ade20k.py"

crop = (640, 640)  # px
scale = (2560, 640)

train_pipeline = [
    *_base_.train_pipeline[:2],
    dict(type="RandomResize", scale=scale, ratio_range=(0.5, 2.0), keep_ratio=True),
    dict(type="RandomCrop", crop_size=crop, cat_max_ratio=0.75),
    *_base_.train_pipeline[4:],
]
test_pipeline = [
    _base_.test_pipeline[0],
    dict(type="Resize", scale=scale, keep_ratio=True),
    *_base_.test_pipeline[2:],
]
scales = [
    dict(type="Resize", scale=(int(2560 * ratio), int(640 * ratio)), keep_ratio=True)
    for ratio in (0.5, 0.75, 1.0, 1.25, 1.5, 1.75)
]
tta_pipeline = [
    _base_.tta_pipeline[0],
    dict(type="TestTimeAug", transforms=[scales, *_base_.tta_pipeline[1].transforms[1:]]),
]

train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader
