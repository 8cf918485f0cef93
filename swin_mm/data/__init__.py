"""An offline world: scenes drawn from a seed, in COCO's and ADE20K's own layouts."""

from .kinds import KINDS, Kind
from .scene import Scene, Thing, render_scene
from .writer import WrittenScenes, write_scenes

__all__ = ["KINDS", "Kind", "Scene", "Thing", "WrittenScenes", "render_scene", "write_scenes"]
