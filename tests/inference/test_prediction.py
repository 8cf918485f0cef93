import numpy as np
import pytest
from mmengine.model import revert_sync_batchnorm
from mmengine.registry import MODELS
from model_facts import read
from shrinking import shrunk

from swin_mm.data import render_scene
from swin_mm.engine.predicting import configure
from swin_mm.inference import Options, PictureError, Predictor, predict
from swin_mm.inference.prediction import label_type


@pytest.fixture(scope="module")
def find(detector):
    return detector.predictor()


@pytest.fixture(scope="module")
def label(segmentor):
    return segmentor.predictor()


def scene(index=0, size=(160, 120)):
    return render_scene(0, index, size=size).image


def checked(predictor, **asked):
    return Options(**asked).checked(predictor.classes, instances=predictor.finds_instances)


def only(predictor, picture, **asked):
    (result,) = predict(predictor, [picture], checked(predictor, **asked))
    return result


def test_labels_take_one_byte_or_two_with_a_number_for_none():
    assert label_type(255) == np.uint8  # 0 to 254, and 255
    assert label_type(256) == np.uint16


def test_instances_of_tiles_lie_in_the_pictures_pixels(find):
    ticks = []
    options = checked(find, tile=64, overlap=16)
    (found,) = predict(find, [scene()], options, tick=lambda *told: ticks.append(told))
    instances = found.instances
    assert found.sample is None and len(instances)
    assert (instances.height, instances.width) == (120, 160)
    assert instances.boxes[:, [0, 2]].max() > 100
    assert instances.boxes.min() >= 0 and (instances.boxes.max(0) <= [160, 120, 160, 120]).all()
    assert all(np.diff(instances.scores) <= 0)
    assert ticks[0] == (0, 9) and ticks[-1] == (9, 9)


@pytest.mark.parametrize("task", ["find", "label"])
def test_a_batch_of_tiles_changes_nothing(request, task):
    predictor = request.getfixturevalue(task)
    one, other = (only(predictor, scene(), tile=64, batch_size=size) for size in (1, 4))
    if task == "find":
        assert len(one.instances) == len(other.instances)
        np.testing.assert_allclose(one.instances.scores, other.instances.scores, atol=1e-5)
    else:
        assert (one.labels == other.labels).mean() > 0.999


def test_a_single_tile_labels_as_the_whole_does(label):
    whole = only(label, scene()).labels
    assert whole.shape == (120, 160) and whole.dtype == np.uint8
    tiled = only(label, scene(size=(161, 120)), tile=160, overlap=80).labels
    assert tiled.shape == (120, 161)
    assert np.array_equal(only(label, scene(), tile=160).labels, whole)


def test_every_tile_leaves_its_own_labels_away_from_the_borders(label):
    picture = scene()
    tiled = only(label, picture, tile=64, overlap=8).labels
    corner = only(label, np.ascontiguousarray(picture[:64, :64])).labels
    assert np.array_equal(tiled[:56, :56], corner[:56, :56])
    assert not np.array_equal(tiled, only(label, picture).labels)


def test_pictures_of_several_sizes_keep_their_places(find):
    pictures = [scene(0), scene(1, (96, 140)), scene(2), scene(0)]
    results = predict(find, pictures, checked(find, batch_size=4))
    for picture, result in zip(pictures, results, strict=True):
        alone = only(find, picture).instances
        assert (result.instances.height, result.instances.width) == picture.shape[:2]
        np.testing.assert_allclose(result.instances.boxes, alone.boxes, atol=1e-2)


def test_a_picture_that_fails_fails_alone(find):
    first, failed, last = predict(
        find, [scene(), np.zeros((1, 9000, 3), np.uint8), scene()], checked(find)
    )
    assert isinstance(failed, PictureError) and "9000x1 px" in str(failed)
    assert len(first.instances) == len(last.instances) > 0


def test_a_batch_that_does_not_fit_into_memory_is_looked_at_one_by_one(find, monkeypatch):
    find_all, sizes = find.find, []

    def find_one(pictures):
        sizes.append(len(pictures))
        if len(pictures) > 1:
            raise PictureError("do not fit into memory")
        return find_all(pictures)

    monkeypatch.setattr(find, "find", find_one)
    results = predict(find, [scene(), scene()], checked(find, batch_size=2))
    assert sizes == [2, 1, 1] and all(len(result.instances) for result in results)


@pytest.mark.parametrize("tile", [0, 64])
def test_classes_that_are_not_asked_for_are_left_out(find, tile):
    every = only(find, scene(), tile=tile).instances
    name = find.classes.names[every.labels[0]]
    some = only(find, scene(), tile=tile, classes=(name,))
    assert 0 < len(some.instances) < len(every)
    assert set(some.instances.labels) == {every.labels[0]}
    if not tile:
        assert len(some.sample.pred_instances) == len(some.instances)


@pytest.mark.parametrize("tile", [0, 64])
def test_pixels_of_other_classes_get_the_number_for_none(label, tile):
    every = only(label, scene(), tile=tile).labels
    kept = int(np.bincount(every.ravel()).argmax())
    some = only(label, scene(), tile=tile, classes=(label.classes.names[kept],)).labels
    assert np.array_equal(some == kept, every == kept)
    assert set(np.unique(some)) == {kept, 255}


KINDS = {  # of models, and whether they have masks; None for those that label pixels
    "retinanet_swin_t": False,
    "dino_swin_l": False,
    "cascade_mask_rcnn_swin_t_1x": True,
    "mask2former_instance_swin_t": True,
    "sem_fpn_swin_t": None,
    "mask2former_semantic_swin_t": None,
}


@pytest.mark.usefixtures("own_mmengine")
@pytest.mark.parametrize("name", KINDS)
def test_models_of_every_kind_look_at_pictures_whole_and_by_tiles(name, root):
    options = shrunk(read(name)) | {"model.backbone.init_cfg": None}
    options["test_dataloader.dataset.pipeline.1.scale"] = (64, 64)
    cfg, _ = configure(str(root / f"configs/{name}.py"), options, device="cpu")
    model = revert_sync_batchnorm(MODELS.build(cfg.model)).eval()
    predictor = Predictor(cfg, model, {})
    for tile in (0, 96):
        found = only(predictor, scene(), tile=tile)
        if KINDS[name] is None:
            assert found.labels.shape == (120, 160)
        else:
            assert (found.instances.masks is not None) == KINDS[name]
            assert found.instances.boxes.shape[1] == 4
