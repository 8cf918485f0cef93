"""How many cases: 42 a test in the suite, always the same; 1700 a night, new ones each time.

With twelve tests that is 504 and 20,400.
"""

import itertools
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, settings

CASES = {"suite": 42, "nightly": 1700}


def is_nightly(config: pytest.Config) -> bool:
    expression = config.option.markexpr
    return "nightly" in expression and "not nightly" not in expression


def pytest_configure(config: pytest.Config) -> None:
    """Register the profile that the tests here are decorated with, before they are imported."""
    nightly = is_nightly(config)
    settings.register_profile(
        "fuzz",
        max_examples=CASES["nightly" if nightly else "suite"],
        derandomize=not nightly,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[*HealthCheck],
    )


@pytest.hookimpl(tryfirst=True)  # before marks are looked at
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let the night take these tests too, though they are the suite's."""
    if is_nightly(config):
        for item in items:
            if item.path.parent.name == "fuzz":
                item.add_marker("nightly")


@pytest.fixture
def counted(request: pytest.FixtureRequest) -> Callable[[], None]:
    """A function to call once a case; the number goes into the test's report."""
    numbers = itertools.count(1)

    def one_more() -> None:
        request.node.user_properties[:] = [("cases", next(numbers))]

    return one_more


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many cases were tried."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, [])]
    numbers = {one.nodeid: dict(one.user_properties).get("cases", 0) for one in reports}
    for nodeid, number in numbers.items():
        if number:
            terminalreporter.write_line(f"fuzz: {number:6} cases  {nodeid}")
    if any(numbers.values()):
        terminalreporter.write_line(f"fuzz: {sum(numbers.values()):6} cases in all")
