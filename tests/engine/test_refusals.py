"""What a config asks for in vain is told in a sentence; errors of code keep their traceback."""

import re

import pytest
from mmengine.registry import HOOKS, MODELS, Registry

from swin_mm.engine.errors import run_tool
from swin_mm.engine.refusals import refusal_of

TOYS = Registry("toy")


@TOYS.register_module()
class Toy:
    """Takes one argument, and has a fault of its own."""

    def __init__(self, width: int, *, broken: bool = False) -> None:
        self.width = width
        if broken:
            Toy(width=1, wdith=2)


def error_of(registry: Registry, cfg: dict) -> Exception:
    with pytest.raises(Exception) as caught:
        registry.build(cfg)
    return caught.value


def test_a_misspelt_type_gets_the_near_ones() -> None:
    said = refusal_of(error_of(HOOKS, {"type": "mmengine.EMAHok"}))
    # Which registry is asked depends on the scope that the process has by now.
    assert re.fullmatch(r"the config asks for a hook 'mmengine\.EMAHok', which \w+ does .*", said)
    assert "did you mean EMAHook" in said
    assert "a model 'Nothing', which" in refusal_of(error_of(MODELS, {"type": "Nothing"}))


def test_a_misspelt_argument_is_named() -> None:
    said = refusal_of(error_of(TOYS, {"type": "Toy", "wdith": 3}))
    assert said.startswith("the config gives an argument that is not taken: ") and "'wdith'" in said


def test_a_missing_package_is_named() -> None:
    missing = ImportError('Please run "pip install wandb" to install wandb')
    assert "needs a package that is not here: Please run" in refusal_of(missing)


@pytest.mark.parametrize(
    "error",
    [
        KeyError("depths"),
        TypeError("can only concatenate str"),
        ImportError("cannot import name 'x'", name="swin_mm.engine"),
    ],
)
def test_errors_of_code_are_left_alone(error: Exception) -> None:
    assert refusal_of(error) is None


def test_a_fault_inside_what_is_built_is_left_alone() -> None:
    assert refusal_of(error_of(TOYS, {"type": "Toy", "width": 1, "broken": True})) is None


def test_a_command_ends_without_a_traceback(capsys: pytest.CaptureFixture) -> None:
    assert run_tool(lambda: HOOKS.build({"type": "EMAHok"})) == 2
    assert capsys.readouterr().err.startswith("error: the config asks for a hook 'EMAHok'")
    with pytest.raises(KeyError, match="mine"):
        run_tool(lambda: {}["mine"])
