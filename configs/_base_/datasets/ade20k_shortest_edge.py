"""ADE20K as Mask2Former sees it: the shorter edge is 0.5 to 2 times 512 px, then a crop.

Cheng et al. 2022, as in https://github.com/facebookresearch/Mask2Former: sixteen
sizes, no bound on how much of a crop one class may take.
"""

_base_ = "./ade20k.py"

crop = (512, 512)  # px

train_pipeline = [
    *_base_.train_pipeline[:2],
    dict(
        type="RandomChoiceResize",
        scales=[512 * tenths // 10 for tenths in range(5, 21)],
        resize_type="ResizeShortestEdge",
        max_size=2048,
    ),
    dict(type="RandomCrop", crop_size=crop),
    *_base_.train_pipeline[4:],
]

train_dataloader = dict(dataset=dict(pipeline=train_pipeline))
