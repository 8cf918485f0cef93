"""COCO 2017 boxes with the augmentation of `coco_instance.py`, without masks."""

_base_ = "./coco_instance.py"

load_boxes = dict(type="LoadAnnotations", with_bbox=True)
train_pipeline = [_base_.train_pipeline[0], load_boxes, *_base_.train_pipeline[2:]]
test_pipeline = [*_base_.test_pipeline[:2], load_boxes, _base_.test_pipeline[3]]
views = list(_base_.tta_pipeline[1]["transforms"])
views[2] = [load_boxes]
tta_pipeline = [_base_.tta_pipeline[0], dict(type="TestTimeAug", transforms=views)]

train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
val_dataloader = dict(dataset=dict(pipeline=test_pipeline))
test_dataloader = val_dataloader

val_evaluator = dict(metric="bbox")
test_evaluator = val_evaluator
