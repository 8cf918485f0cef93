"""How commands fail."""

import os
import sys
from pathlib import Path

import pytest

from swin_mm.engine.errors import UsageError, command, command_again, near, run_tool


def fail() -> None:
    raise UsageError("no picture\nuse one")


def test_a_usage_error_is_one_message_and_exit_code_two(capsys: pytest.CaptureFixture) -> None:
    assert run_tool(fail) == 2
    out, err = capsys.readouterr()
    assert (out, err) == ("", "error: no picture\nuse one\n")


def test_only_the_first_process_of_a_machine_tells_the_whole_error(
    capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOCAL_RANK", "1")
    run_tool(fail)
    assert capsys.readouterr().err == "error (local rank 1): no picture\n"


def test_what_a_function_takes_as_unsafe_is_named_as_the_commands_flag(
    capsys: pytest.CaptureFixture,
) -> None:
    def refused() -> None:
        raise UsageError("x.pth wants to call os.system. If you trust it, read it with unsafe=True")

    run_tool(refused)
    assert capsys.readouterr().err.endswith("read it with --unsafe\n")


def test_an_error_of_ours_keeps_its_traceback() -> None:
    def broken() -> None:
        raise KeyError("bug")

    with pytest.raises(KeyError):
        run_tool(broken)


def test_a_stop_by_the_user_is_exit_code_130() -> None:
    def stopped() -> None:
        raise KeyboardInterrupt

    assert run_tool(stopped) == 130


@pytest.mark.parametrize("length", [10, 100_000])  # within a buffer, and beyond
def test_output_that_nobody_reads_ends_a_command_in_silence(
    length: int, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told() -> None:
        print("x" * length)
        sys.exit(1)

    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert run_tool(told) == 141
    assert capsys.readouterr().err == ""


def test_another_pipe_that_breaks_is_an_error(capsys: pytest.CaptureFixture) -> None:
    def broken() -> None:
        raise BrokenPipeError(32, "Broken pipe")

    assert run_tool(broken) == 2
    assert "Broken pipe" in capsys.readouterr().err


def test_a_name_that_is_no_text_can_be_printed(capsys: pytest.CaptureFixture) -> None:
    assert run_tool(lambda: print("caf\udce9 \u00e9")) == 0
    assert capsys.readouterr().out == "caf\\udce9 \u00e9\n"


def test_only_near_names_are_proposed() -> None:
    assert near("embed_dim", ["embed_dims", "depths"]) == "; did you mean embed_dims?"
    assert near("zzz", ["embed_dims"]) == ""


def test_a_proposed_command_survives_the_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["my tools/train.py"])
    assert command("test.py", "a b") == "python 'my tools/test.py' 'a b'"


def test_a_command_is_proposed_again_with_what_was_wrong_replaced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    words = ["c.py", "--weights", "a.pth", "--data-root=d", "--amp", "--cfg-options", "a=[1,2]"]
    monkeypatch.setattr("sys.argv", ["tools/train.py", *words])
    proposed = command_again({"--weights": "none", "--data-root": "my data"})
    start = "python tools/train.py --weights none --data-root 'my data' c.py --amp"
    assert proposed == f"{start} --cfg-options 'a=[1,2]'"


def test_what_the_system_refuses_is_one_message(capsys: pytest.CaptureFixture) -> None:
    def main() -> None:
        Path("/proc/nobody/writes/here").write_text("")

    assert run_tool(main) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and "/proc/nobody/writes/here" in error
