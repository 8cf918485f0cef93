import pytest

from swin_mm.doctor.child import Answer, ask


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Put a library of one file in front of whatever is installed."""

    def written(code, name="openvino"):
        (tmp_path / f"{name}.py").write_text(code)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    return written


def test_facts_come_through_whatever_a_library_prints(library):
    library("print('ask the @doctor of this', end='')\n__version__ = '7'", "safetensors")
    answer = ask("library:safetensors", timeout=60)
    assert answer == Answer(True, {"version": "7"}, step="import safetensors")


def test_what_is_installed_is_examined_before_the_clone(library):
    library("__version__ = '7'", "swin_mm")
    assert ask("library:swin_mm", timeout=60).facts == {"version": "7"}


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "killed by SIGSEGV"),
        ("import os, sys; print('no luck', file=sys.stderr); os._exit(3)", "with code 3: no luck"),
        ("raise SystemExit('go away')", "SystemExit: go away"),
        ("raise OSError('libGL.so.1:\\n  cannot open')", "OSError: libGL.so.1: cannot open"),
    ],
)
def test_a_library_that_dies_at_its_import_is_an_answer(library, code, says):
    library(code)
    answer = ask("library:openvino", timeout=60)
    assert (answer.ok, answer.step) == (False, "import openvino")
    assert says in answer.error


def test_a_library_that_hangs_is_an_answer_with_the_place(library):
    library("import time; time.sleep(60)")
    answer = ask("library:openvino", timeout=2)
    assert answer == Answer(False, step="import openvino", error="no answer in 2 s")


def test_a_module_that_is_not_there_is_named():
    answer = ask("library:no_such_library.at_all", timeout=60)
    assert (answer.ok, answer.missing) == (False, "no_such_library")
