"""What the set-up does about the kernels."""

import pytest
from pretend_clone import INSTALLED, KERNELS, Clone


@pytest.fixture
def clone(tmp_path):
    return Clone(tmp_path)


def test_changed_kernels_are_compiled_anew_and_nothing_else(clone):
    clone.make("setup")
    with open(clone.root / KERNELS / "gelu.h", "a") as file:
        file.write("// Changed.\n")
    assert "kernels anew" in clone.make("setup").stdout
    assert clone.notes.read_text() == f"{INSTALLED}\n"
    clone.make("setup")
    assert clone.notes.read_text() == ""


def test_kernels_that_do_not_compile_stop_no_set_up(clone):
    made = clone.make("setup", KERNELS_FAIL="1")
    assert made.returncode == 0, made.stderr
    assert "without compiled kernels, slower on the CPU: they were not compiled" in made.stdout
    assert ".venv is ready" in clone.make("setup").stdout
    assert clone.notes.read_text() == ""  # the same compiler would fail again
    assert "without compiled" not in clone.make("setup", CXX="bash").stdout
    assert clone.did(INSTALLED)


def test_what_was_cleaned_away_is_compiled_again(clone):
    clone.make("setup")
    assert len(list((clone.root / KERNELS).glob("*.so"))) == 2
    clone.make("clean")
    assert not list((clone.root / KERNELS).glob("*.so"))
    clone.make("setup")
    assert clone.notes.read_text() == f"{INSTALLED}\n"
