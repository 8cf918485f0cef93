"""The command line."""

import pytest

from swin_mm.engine.arguments import ToolParser


@pytest.fixture
def parser() -> ToolParser:
    parser = ToolParser("Do something.")
    parser.add_argument("config")
    parser.add_run_arguments()
    return parser


@pytest.mark.parametrize("word", ["--data-rot", "--data-roots=x", "--launch"])
def test_an_unknown_option_ends_with_the_near_one(
    word: str, parser: ToolParser, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(["c.py", word])
    assert stop.value.code == 2
    assert "did you mean --" in capsys.readouterr().err


def test_the_help_says_where_a_tools_results_go_by_default(
    parser: ToolParser, capsys: pytest.CaptureFixture
) -> None:
    other = ToolParser("Do something else.")
    other.add_run_arguments(work_dir="elsewhere")
    for one, place in ((parser, "work_dirs/CONFIG"), (other, "elsewhere")):
        one.print_help()
        assert f"(default: {place})" in " ".join(capsys.readouterr().out.split())


def test_options_come_as_their_values(parser: ToolParser) -> None:
    args = parser.parse_args(["c.py", "--cfg-options", "a.b=3", "c=[1,2]", "d=(4,5)", "e=None"])
    assert args.options == {"a.b": 3, "c": [1, 2], "d": (4, 5), "e": None}
