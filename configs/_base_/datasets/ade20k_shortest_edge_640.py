"""ADE20K as Mask2Former sees it, everything a quarter larger than in `ade20k_shortest_edge.py`."""

_base_ = "./ade20k_640.py"

crop = (640, 640)  # px

train_pipeline = [
    *_base_.train_pipeline[:2],
    dict(
        type="RandomChoiceResize",
        scales=[640 * tenths // 10 for tenths in range(5, 21)],
        resize_type="ResizeShortestEdge",
        max_size=2560,
    ),
    dict(type="RandomCrop", crop_size=crop),
    *_base_.train_pipeline[4:],
]

train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
