"""Run a host's own tools/train.py and tools/test.py in one process, which saves the imports.

Arguments: the host's package, and a JSON list of command lines, such as ["train.py", "my.py"].
"""

import importlib.util
import json
import runpy
import sys
from pathlib import Path

package, commands = sys.argv[1], json.loads(sys.argv[2])
tools = Path(importlib.util.find_spec(package).origin).parent / ".mim/tools"
for tool, *arguments in commands:
    sys.argv = [str(tools / tool), *arguments]
    runpy.run_path(sys.argv[0], run_name="__main__")
print("swin_mm from", Path(sys.modules["swin_mm"].__file__).parents[1])
