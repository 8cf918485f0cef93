import pytest
from bench.timing import summed_up, take_turns, turn_order


@pytest.fixture(autouse=True)
def breathless(monkeypatch):
    monkeypatch.setattr("bench.timing._BREATH", 0)


def let(names, took, **limits):
    """Take turns with a stopwatch that always shows the same."""
    called = []
    calls = {name: lambda name=name: called.append(name) for name in names}

    def stopwatch(call):
        call()
        return took

    return take_turns(calls, stopwatch=stopwatch, **limits), called


def test_everybody_comes_first_in_turn():
    orders = [turn_order(["a", "b", "c"], turn) for turn in range(4)]
    assert orders == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"], ["a", "b", "c"]]


def test_networks_take_turns_in_that_order():
    _, called = let("ab", 5, seconds=1, least=2)
    assert called == ["a", "b", "b", "a"]


def test_slow_networks_run_the_least_number_of_rounds():
    times, _ = let("ab", 5.0, seconds=1, least=3)
    assert times == {"a": [5.0] * 3, "b": [5.0] * 3}


def test_fast_networks_run_until_as_much_was_measured():
    times, _ = let("ab", 0.5, seconds=6, least=3)
    assert len(times["a"]) == 6


def test_rounds_end_however_fast_networks_are():
    times, _ = let("a", 0.0, seconds=6, least=3, most=9)
    assert len(times["a"]) == 9


def test_a_sum_holds_the_middle_and_both_ends():
    assert summed_up([3.0, 1.0, 9.0]) == {"median": 3.0, "min": 1.0, "max": 9.0, "rounds": 3}
