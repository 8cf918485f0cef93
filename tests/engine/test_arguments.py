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


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        ("a.b", "takes KEY=VALUE, got 'a.b'"),
        ("a.b=[1,2", "a bracket is not closed in 'a.b=[1,2'"),
        (
            "a.b=dict(c=1,d=2)",
            "got 'a.b=dict(c=1,d=2)'; set what a group holds one by one, a.b.NAME=",
        ),
        ("a.b=],[", "takes lists [a,b], tuples (a,b) and single values, got 'a.b=],['"),
    ],
)
def test_a_value_that_cannot_be_read_is_an_error(
    pair: str, told: str, parser: ToolParser, capsys: pytest.CaptureFixture
) -> None:
    with pytest.raises(SystemExit) as stop:
        parser.parse_args(["c.py", "--cfg-options", pair])
    assert stop.value.code == 2
    assert told in capsys.readouterr().err
