import cv2
import numpy as np
import pytest

from swin_mm.inference import PictureError, video
from swin_mm.inference.video import VideoReader, VideoWriter


def frames(count, size=(48, 64)):
    return [np.full((*size, 3), 20 * number, np.uint8) for number in range(count)]


def written(stem, some, rate=12.5):
    with VideoWriter(str(stem), rate=rate) as writer:
        for frame in some:
            writer.write(frame)
        writer.close()
    return writer.path


def test_a_video_comes_back_frame_by_frame(tmp_path):
    path = written(tmp_path / "new folder/clip", frames(7))
    reader = VideoReader(path)
    read = list(reader)
    assert (reader.frames, reader.rate, reader.broken) == (7, 12.5, "")
    assert path.endswith("clip.mp4")
    for frame, expected in zip(read, frames(7), strict=True):
        assert frame.shape == (48, 64, 3)
        assert abs(frame.mean() - expected.mean()) < 10  # of steps of 20
    assert [one.name for one in (tmp_path / "new folder").iterdir()] == ["clip.mp4"]


def test_odd_sides_lose_no_row_and_no_column(tmp_path):
    path = written(tmp_path / "odd", frames(2, (49, 65)))
    assert next(iter(VideoReader(path))).shape == (50, 66, 3)


def test_a_size_that_one_codec_cannot_write_is_written_by_the_other(tmp_path):
    path = written(tmp_path / "wide", frames(2, (20, 9000)))
    assert path.endswith("wide.avi")
    assert len(list(VideoReader(path))) == 2


def test_a_size_that_no_codec_writes_is_an_error_that_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(video, "_CODECS", (("none", ".mp4"),))
    with pytest.raises(PictureError, match=r"writes no video of 64x48 px here \(tried none\)"):
        written(tmp_path / "clip", frames(1))
    assert not list(tmp_path.iterdir())


def test_a_video_that_reads_back_otherwise_is_refused(tmp_path, monkeypatch):
    counts = iter([2, 3])  # the trial's, then the video's
    monkeypatch.setattr(video, "_frames_in", lambda *_: next(counts))
    with pytest.raises(PictureError, match=r"wrote 4 frames .* and reads back 3"):
        written(tmp_path / "clip", frames(4))
    assert not list(tmp_path.iterdir())


def test_an_interruption_leaves_no_half_of_a_video(tmp_path):
    with pytest.raises(KeyboardInterrupt), VideoWriter(str(tmp_path / "clip"), rate=25) as writer:
        writer.write(frames(1)[0])
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


def test_without_a_frame_there_is_no_video(tmp_path):
    assert written(tmp_path / "clip", []) == ""
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "reason"), [(b"", "is empty"), (b"no video", "is not a video"), (None, "is not a")]
)
def test_what_is_no_video_is_named(tmp_path, content, reason):
    path = tmp_path / "clip.mp4"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PictureError, match=rf"clip\.mp4 {reason}"):
        VideoReader(str(path))


def test_a_video_that_breaks_off_gives_what_it_has_and_says_so(tmp_path):
    writer = cv2.VideoWriter(
        str(tmp_path / "whole.avi"), cv2.VideoWriter_fourcc(*"MJPG"), 25, (64, 48)
    )
    for frame in np.random.default_rng(0).integers(0, 256, (20, 48, 64, 3), dtype=np.uint8):
        writer.write(frame)
    writer.release()
    content = (tmp_path / "whole.avi").read_bytes()
    (tmp_path / "half.avi").write_bytes(content[: len(content) // 2])
    reader = VideoReader(str(tmp_path / "half.avi"))
    given = len(list(reader))
    assert 5 < given < 15
    assert f"half.avi breaks off after {given} of 20 frames" in reader.broken


@pytest.mark.parametrize("codec", [0, 1], ids=["mp4v", "MJPG"])
@pytest.mark.parametrize("size", [(200, 1), (200, 4), (1, 200), (40, 2)])
def test_sides_that_end_the_process_are_never_encoded(tmp_path, monkeypatch, codec, size):
    monkeypatch.setattr(video, "_CODECS", video._CODECS[codec : codec + 1])
    encoded = []
    writer = cv2.VideoWriter
    monkeypatch.setattr(
        cv2, "VideoWriter", lambda *words: encoded.append(words[3]) or writer(*words)
    )
    path = written(tmp_path / "thin", frames(3, size))
    assert {min(sides) for sides in encoded} == {16}
    for frame, expected in zip(VideoReader(path), frames(3, size), strict=True):
        assert frame.shape == (max(size[0], 16), max(size[1], 16), 3)
        assert abs(frame.mean() - expected.mean()) < 10  # filled up with what is there


def test_a_colon_in_a_name_is_no_protocol(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = written("12:30", frames(2))
    assert path == "12:30.mp4"
    assert len(list(VideoReader(path))) == 2
