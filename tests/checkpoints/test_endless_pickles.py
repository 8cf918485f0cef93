"""Plain pickles that would end the process, fill the memory, or take longer than anybody lives."""

import pytest

from swin_mm.checkpoints import CheckpointError, read_checkpoint

# Tuples that nest deeply, and forty that each hold the one before it twice, none of them fit to be
# hashed or printed.
DEEP = b")" + b"\x85" * 30_000
WIDE = b"\x8c\x01a\x94" + b"".join(b"0h%ch%c\x86\x94" % (place, place) for place in range(40))
NUMBER = b"J\xff\xff\xff\x7f"  # bytearray() of it has two thousand million bytes

DTYPE = b"cnumpy\ndtype\n\x8c\x02f4\x85R"
ARRAY = b"cnumpy.core.numeric\n_frombuffer\n"
CALLS = {
    "dtype": (b"cnumpy\ndtype\n%s\x85R", "a dtype must have a name"),
    "text": (b"c_codecs\nencode\n%s\x8c\x06latin1\x86R", "only text in latin1"),
    "encoding": (b"c_codecs\nencode\n\x8c\x01a%s\x86R", "only text in latin1"),
    "key": (b"ccollections\nOrderedDict\n]%sN\x86a\x85R", "key must be a name"),
    "item": (b"}%sNs", "key must be a name"),
    "shape": (ARRAY + b"(B\0\0\0\0" + DTYPE + b"%s\x85\x8c\x01CtR", "sides of an array"),
    "memory": (ARRAY + b"(%s" + DTYPE + b")\x8c\x01CtR", "numbers lie in bytes"),
}


@pytest.mark.parametrize("argument", [DEEP, WIDE], ids=["deep", "wide"])
@pytest.mark.parametrize(("call", "said"), CALLS.values(), ids=CALLS)
def test_what_may_not_end_is_neither_hashed_nor_printed(tmp_path, call, said, argument):
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04" + call % argument + b".")
    with pytest.raises(CheckpointError, match=said):
        read_checkpoint(tmp_path / "a.pkl")


def test_a_number_is_no_memory_of_an_array(tmp_path):
    call, said = CALLS["memory"]
    (tmp_path / "a.pkl").write_bytes(b"\x80\x04" + call % NUMBER + b".")
    with pytest.raises(CheckpointError, match=said):
        read_checkpoint(tmp_path / "a.pkl")
