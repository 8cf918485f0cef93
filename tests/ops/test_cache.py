from concurrent.futures import ThreadPoolExecutor

from swin_mm.ops.cache import BoundedCache


def test_a_value_is_made_once():
    cache, made = BoundedCache(100), []
    for _ in range(3):
        assert cache.get("a", lambda: (made.append(1) or "value", 10)) == "value"
    assert made == [1]


def test_the_least_recently_used_goes_first():
    cache, made = BoundedCache(100), []

    def ask(key):
        return cache.get(key, lambda: (made.append(key) or key, 40))

    for key in "abacab":
        ask(key)
    assert made == ["a", "b", "c", "b"]
    assert cache.size == 80


def test_what_is_larger_than_the_limit_is_made_but_not_kept():
    cache = BoundedCache(100)
    cache.get("small", lambda: (1, 10))
    assert cache.get("large", lambda: (2, 1000)) == 2
    assert cache.size == 0


def test_none_is_a_value_too():
    cache, made = BoundedCache(100), []
    for _ in range(2):
        assert cache.get("a", lambda: (made.append(1), 0)) is None
    assert made == [1]


def test_threads_find_the_bytes_right():
    cache = BoundedCache(1000)
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda i: cache.get(i % 50, lambda: (i % 50, 30)), range(4000)))
    assert got == [i % 50 for i in range(4000)]
    assert cache.size == 30 * (1000 // 30)
