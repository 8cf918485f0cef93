"""DINO with Swin-L on COCO, five scales, 36 epochs (3x), multi-scale training.

Recipe: https://github.com/open-mmlab/mmdetection,
configs/dino/dino-5scale_swin-l_8xb2-36e_coco.py. Published there on val2017,
single scale: 58.4 box AP. 218.5 M parameters. Not retrained by this project.
Start: Swin-L's ImageNet-22K weights of 384 px by its authors, windows of 12
tokens. Activations of the backbone are recomputed (`with_cp`), as there.
"""

_base_ = [
    "./_base_/models/dino_five_scale.py",
    "./_base_/datasets/coco_detection.py",
    "./_base_/schedules/coco_dino_3x.py",
    "./_base_/runtime/detection.py",
]

weights = (
    "https://github.com/SwinTransformer/storage/releases/download/v1.0.0/"
    "swin_large_patch4_window12_384_22k.pth"
)
model = dict(
    backbone=dict(
        variant="large",
        pretrain_img_size=384,
        window_size=12,
        drop_path_rate=0.2,
        with_cp=True,
        init_cfg=dict(type="Pretrained", checkpoint=weights),
    ),
    neck=dict(in_channels=[192, 384, 768, 1536]),
)
# Pictures without an instance are seen too.
train_dataloader = dict(dataset=dict(filter_cfg=dict(filter_empty_gt=False)))
zoo = dict(
    method="DINO",
    backbone="Swin-L",
    version=1,
    data="COCO",
    schedule="3x",
    published=dict(box_ap=58.4),
    source="https://github.com/open-mmlab/mmdetection",
    params=218.5,
    flops=None,
    input="800x1280",
    start="ImageNet-22K",
)
