"""Whole networks of the shipped configs cost what the papers say."""

import pytest
import torch
from mmengine.registry import MODELS, DefaultScope
from mmengine.structures import InstanceData
from model_facts import build, products_of, read
from torch.utils.flop_counter import FlopCounterMode

# Parameters in millions, multiply-adds in thousand millions, at the size of `zoo.input`.
PUBLISHED = {
    # github.com/SwinTransformer/Swin-Transformer-Object-Detection, 800x1280 px
    "mask_rcnn_swin_t": (48, 267),
    "mask_rcnn_swin_t_1x": (48, 267),
    "mask_rcnn_swin_s": (69, 359),
    "cascade_mask_rcnn_swin_t": (86, 745),
    "cascade_mask_rcnn_swin_t_1x": (86, 745),
    "cascade_mask_rcnn_swin_s": (107, 838),
    "cascade_mask_rcnn_swin_b": (145, 982),
    # Liu et al. 2021, table 2, 800x1280 px
    "atss_swin_t": (36, 215),
    # github.com/SwinTransformer/Swin-Transformer-Semantic-Segmentation, 512x2048 px
    "upernet_swin_t": (60, 945),
    "upernet_swin_s": (81, 1038),
    "upernet_swin_b": (121, 1188),
    "upernet_swin_b_22k": (121, 1188),
    # and 640x2560 px; not the 3230 that it tells for Swin-L
    "upernet_swin_b_22k_640": (121, 1841),
    "upernet_swin_l_22k_640": (234, None),
    # Cheng et al. 2022, table 2; their FLOPs are means over val2017
    "mask2former_instance_swin_t": (47, None),
    "mask2former_instance_swin_s": (69, None),
    "mask2former_instance_swin_b": (107, None),
    "mask2former_instance_swin_l": (216, None),
}


@pytest.mark.parametrize(("name", "published"), PUBLISHED.items())
def test_parameters_and_products_are_the_published(name, published):
    cfg = read(name)
    model = build(cfg)
    millions, thousand_millions = published
    parameters = sum(parameter.numel() for parameter in model.parameters())
    assert abs(parameters / 1e6 - millions) < 0.51
    if thousand_millions is not None:
        counted = sum(products_of(model, cfg).values()) / 1e9
        assert counted == pytest.approx(thousand_millions, rel=0.01)


def test_sparse_rcnn_takes_172_gflops_where_only_layers_are_counted():
    """MMDetection's counter saw no product of two results: dynamic convolution, attention."""
    cfg = read("sparse_rcnn_swin_t")
    model = build(cfg)
    counted = sum(products_of(model, cfg).values())
    head, queries = model.roi_head.bbox_head[0], model.rpn_head.num_proposals
    with torch.device("meta"), FlopCounterMode(display=False) as counter, torch.no_grad():
        head(torch.empty(queries, 256, 7, 7), torch.empty(1, queries, 256))
    products = {
        str(name): count // 2 for name, count in counter.get_flop_counts()["Global"].items()
    }
    unseen = products["aten.bmm"] + queries * 256 * 3 * 256  # also the queries' own projections
    assert (counted - 6 * unseen) / 1e9 == pytest.approx(172, rel=0.002)


def test_a_detector_that_runs_takes_what_is_counted_without_running_it():
    """At a size that gives as many proposals as the count assumes."""
    cfg = read("mask_rcnn_swin_t")
    cfg.model.backbone.init_cfg = None
    cfg.zoo.input = "256x320"
    expected = sum(products_of(build(cfg), cfg).values())
    with DefaultScope.overwrite_default_scope("mmdet"):
        model = MODELS.build({**cfg.model, "_scope_": "mmdet"}).eval()
    sample = pytest.importorskip("mmdet.structures").DetDataSample(
        metainfo={"img_shape": (256, 320), "ori_shape": (256, 320), "scale_factor": (1.0, 1.0)}
    )
    sample.gt_instances = InstanceData()
    counter = FlopCounterMode(display=False)
    with counter:  # with gradients: attention is written out, and counted
        model(torch.randn(1, 3, 256, 320), [sample], mode="tensor")
    assert counter.get_total_flops() / 2 == pytest.approx(expected, rel=1e-3)
