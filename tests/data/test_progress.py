from swin_mm.data.progress import bar


def test_a_bar_counts_up_to_the_total_on_stderr(capsys):
    with bar("scenes", 30, shown=True) as done:
        done.add(10)
        done.add(20)
    out, err = capsys.readouterr()
    assert out == ""
    assert "30/30" in err
    assert "/s" in err


def test_a_hidden_bar_says_nothing(capsys):
    with bar("scenes", 30, shown=False) as done:
        done.add(30)
    assert capsys.readouterr() == ("", "")
