"""One page of a run: curves, figures by class, confusions, pictures, config, environment, speed."""

from swin_mm.reporting.page import MOST_SAMPLES, Wishes, make_page, require_run
from swin_mm.reporting.write import require_room, write_page

__all__ = ["MOST_SAMPLES", "Wishes", "make_page", "require_room", "require_run", "write_page"]
