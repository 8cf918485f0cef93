"""A world that the tests of this room look at together."""

import pytest

from swin_mm.data import Scene, WrittenScenes, render_scene, write_scenes

SIZE = (160, 120)  # px: a quarter of the usual area keeps these tests quick


@pytest.fixture(scope="session")
def scenes() -> list[Scene]:
    return [render_scene(5, index, SIZE) for index in range(300)]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> WrittenScenes:
    folder = tmp_path_factory.mktemp("worlds") / "with a space"
    return write_scenes(folder, train=40, val=20, seed=5, size=SIZE)
