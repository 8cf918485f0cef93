import pytest
from PIL import Image

from swin_mm.visualization import DrawingError, check_out, write_png
from swin_mm.visualization.style import blank_figure, panel_at, sign


@pytest.mark.parametrize(("dpi", "size"), [(100, (200, 90)), (200, (400, 180))])
def test_dots_an_inch_scale_the_file(tmp_path, dpi, size):
    path = write_png(blank_figure(200, 90), tmp_path / "new folder/a.png", dpi=dpi)
    with Image.open(path) as picture:
        assert picture.size == size
    assert [one.name for one in path.parent.iterdir()] == ["a.png"]


def test_a_file_that_is_there_is_not_replaced_unasked(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"mine")
    with pytest.raises(DrawingError, match=r"is there already.*--force"):
        check_out(path)
    assert check_out(path, force=True) == path
    assert path.read_bytes() == b"mine"


def test_a_figure_is_a_png_file(tmp_path):
    with pytest.raises(DrawingError, match=r"must end in .png, got .*\.jpg"):
        check_out(tmp_path / "a.jpg")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(DrawingError, match="is a folder"):
        check_out(tmp_path / "folder.png", force=True)


def test_a_signature_leaves_the_panels_where_they_were():
    figure = blank_figure(400, 200)
    axes = panel_at(figure, (40, 20, 100, 60))
    sign(figure, "of a test")
    width, height = (100 * side for side in figure.get_size_inches())
    box = axes.get_position(original=True)
    place = (box.x0 * width, (1 - box.y1) * height, box.width * width, box.height * height)
    assert place == pytest.approx((40, 20, 100, 60))
    assert (width, height) == pytest.approx((400, 230))
