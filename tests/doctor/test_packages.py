import json
from pathlib import Path

import pytest

from swin_mm.doctor.packages import installed


@pytest.fixture
def site(tmp_path):
    """Write what pip leaves of a distribution."""

    def written(name, version="1.0", folder="site", **origin):
        info = tmp_path / folder / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        if origin:
            (info / "direct_url.json").write_text(json.dumps(origin))
        return str(info.parent)

    return written


def test_a_fork_is_told_from_the_original_by_its_distribution(site):
    path = [site("onedl-mmcv", "2.3.6")]
    site("mmdet", "3.3.0")
    found = installed(path)
    assert [(one.name, one.version, one.maintained) for one in found["mmcv"]] == [
        ("onedl-mmcv", "2.3.6", True)
    ]
    assert [(one.name, one.maintained) for one in found["mmdet"]] == [("mmdet", False)]
    assert found["mmseg"] == () and found["torch"] == ()


def test_two_distributions_of_one_library_are_both_found(site):
    path = [site("mmcv-lite")]
    site("onedl_mmcv")  # names are compared as pip compares them
    assert {one.name for one in installed(path)["mmcv"]} == {"mmcv-lite", "onedl_mmcv"}


def test_an_editable_installation_lies_where_its_source_is(site):
    path = [site("swin_mm", url="file:///home/a%20b/swin_mm", dir_info={"editable": True})]
    (one,) = installed(path)["swin_mm"]
    assert (one.where, one.editable) == ("/home/a b/swin_mm", True)


def test_the_first_on_the_path_is_the_one_that_counts(site):
    path = [site("torch", "2.6", "first"), site("torch", "2.7", "second")]
    (one,) = installed(path)["torch"]
    assert (one.version, one.where, one.editable) == ("2.6", path[0], False)


def test_a_broken_record_is_survived(site, tmp_path):
    path = [site("torch", url="x")]
    (record,) = tmp_path.rglob("direct_url.json")
    record.write_text("{")
    assert installed(path)["torch"][0].editable is False


@pytest.mark.parametrize("origin", ["[1]", '{"dir_info": 3}', "no json", b"\xff\xfe"])
def test_what_pip_did_not_write_is_no_origin(origin, site):
    path = site("onedl-mmcv")
    file = next(Path(path).iterdir()) / "direct_url.json"
    file.write_bytes(origin if isinstance(origin, bytes) else origin.encode())
    (there,) = installed([path])["mmcv"]
    assert there.where == path and not there.editable


def test_what_is_left_of_a_deleted_distribution_is_none(site):
    path = site("onedl-mmcv")
    renamed = Path(path) / "~mcv-2.1.0.dist-info"  # as pip leaves it when it is stopped
    renamed.mkdir()
    (renamed / "METADATA").write_text("Name: mmcv\nVersion: 2.1.0\n")
    (Path(path) / "mmdet-3.0.dist-info").mkdir()
    (Path(path) / "torch-2.0.dist-info").mkdir()
    (Path(path) / "torch-2.0.dist-info" / "METADATA").write_text("Name: torch\n")
    found = installed([path])
    assert [one.name for one in found["mmcv"]] == ["onedl-mmcv"]
    assert found["mmdet"] == () and found["torch"][0].version == "unknown"
