"""What is installed, what works with it, and the command that mends what does not.

This room imports nothing but the standard library, and nothing of swin_mm: `import swin_mm` wants
torch and MMEngine, which may be what is broken. `tools/doctor.py` therefore loads it by its path.
Whatever has to be imported to be examined is imported in a process of its own (`probes.py`).
"""

from .abilities import Ability, Finding
from .diagnosis import Diagnosis, examine
from .report import as_json, as_text

__all__ = ["Ability", "Diagnosis", "Finding", "as_json", "as_text", "examine"]
