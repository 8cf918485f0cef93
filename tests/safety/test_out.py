"""No tool writes over what is there unless it is told to; each has a test of its own for it."""

from pathlib import Path

import pytest

TOOLS = sorted((Path(__file__).parents[2] / "tools").glob("*.py"))
WRITERS = [tool for tool in TOOLS if '"--out"' in tool.read_text() or '"out"' in tool.read_text()]


@pytest.mark.parametrize("tool", WRITERS, ids=lambda tool: tool.name)
def test_a_tool_that_is_told_where_to_write_takes_force(tool: Path) -> None:
    assert '"--force"' in tool.read_text()


def test_there_are_such_tools() -> None:
    names = {tool.stem for tool in WRITERS}
    wanted = {"convert_checkpoint", "draw", "export", "infer", "make_scenes", "report", "test"}
    assert names >= wanted
