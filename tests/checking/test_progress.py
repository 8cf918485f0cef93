"""The bar hands everything through and shows the count."""

from swin_mm.checking.progress import watch


def test_all_is_handed_through_and_counted(capsys):
    assert list(watch(iter("abc"), "train", 3, shown=True)) == list("abc")
    assert "3/3" in capsys.readouterr().err


def test_nothing_is_shown_where_nothing_should_be(capsys):
    assert list(watch("abc", "train", 3, shown=False)) == list("abc")
    assert capsys.readouterr() == ("", "")
