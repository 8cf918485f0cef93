import pytest
from mmengine.config import Config
from mmengine.registry import DATASETS, MODELS, Registry, init_default_scope

from swin_mm.inference.registered import find_class, scope_of

DETECTION, SEGMENTATION = Config({"default_scope": "mmdet"}), Config({"default_scope": "mmseg"})


@pytest.mark.parametrize(
    ("cfg", "name"), [(DETECTION, "CocoDataset"), (SEGMENTATION, "ADE20KDataset")]
)
@pytest.mark.parametrize("current", ["mmdet", "mmseg"])
def test_a_bare_name_is_found_in_its_configs_scope_whatever_was_loaded_last(cfg, name, current):
    init_default_scope(current)
    found = find_class(cfg, DATASETS, name)
    assert found.__module__.startswith(cfg.default_scope)
    assert find_class(cfg, DATASETS, f"{cfg.default_scope}.{name}") is found


def test_a_class_is_itself_and_an_unknown_name_is_nothing():
    assert find_class(DETECTION, DATASETS, dict) is dict
    assert find_class(DETECTION, DATASETS, "NoSuchDataset") is None


def test_what_the_hosts_print_as_they_are_imported_is_not_shown(monkeypatch, capsys):
    monkeypatch.setattr(Registry, "import_from_location", lambda self: print("could not import"))
    with scope_of(Config({"default_scope": "mmseg"}), MODELS):
        print("built")
    assert capsys.readouterr().out == "built\n"
