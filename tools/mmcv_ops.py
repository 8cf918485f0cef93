"""Answer what tools/setup_env.sh asks about mmcv's compiled operators.

`plan VERSION` names the wheel to compile and the device it is for, `intact WHEEL` succeeds if the
file is a whole wheel, `check` runs two operators and says which device training uses.
"""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path


def cpu_reason() -> str | None:
    """Say why the operators cannot be compiled for CUDA, None if they can."""
    import torch
    from torch.utils.cpp_extension import CUDA_HOME

    if torch.version.cuda is None:
        return f"torch {torch.__version__} is not a CUDA build"
    if not torch.cuda.is_available() and os.environ.get("FORCE_CUDA") != "1":
        return "torch finds no CUDA device"
    nvcc = Path(CUDA_HOME or "/usr") / "bin" / "nvcc"
    if not nvcc.exists():
        return "there is a CUDA device but no nvcc: install the CUDA toolkit or set CUDA_HOME"
    told = subprocess.check_output([nvcc, "--version"], text=True).partition("release ")[2]
    if told.split(".")[0] != torch.version.cuda.split(".")[0]:
        return f"torch was built with CUDA {torch.version.cuda}, but {nvcc} is {told.split(',')[0]}"
    return None


def build_key(version: str, on_cpu: bool) -> str:
    """Name everything that a compiled wheel depends on."""
    import torch  # here: `intact` has no need of it

    found = {torch.cuda.get_device_capability(i) for i in range(torch.cuda.device_count())}
    kinds = os.environ.get("TORCH_CUDA_ARCH_LIST", "").replace(";", " ").split()
    kinds = kinds or [f"sm{major}{minor}" for major, minor in sorted(found)]
    device = "cpu" if on_cpu else "-".join([f"cuda{torch.version.cuda}", *kinds])
    here = f"{sys.implementation.cache_tag}{sys.abiflags}_{sysconfig.get_platform()}"
    return f"mmcv-{version}_torch-{torch.__version__}_{here}_{device}"


def intact(wheel: str) -> bool:
    """Tell a whole wheel from one that a full disk or a kill left behind."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return archive.testzip() is None and any("_ext" in n for n in archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


def check() -> str:
    """Run the operators that Mask R-CNN needs and say which device training uses."""
    import torch
    from mmcv import ops

    boxes = torch.tensor([[0.0, 0.0, 4.0, 4.0], [0.0, 0.0, 4.0, 3.9]])
    assert ops.nms(boxes, torch.tensor([0.9, 0.8]), 0.5)[1].tolist() == [0]
    assert ops.roi_align(torch.ones(1, 1, 4, 4), torch.tensor([[0, 0.0, 0, 4, 4]]), 2).sum() == 4
    if not torch.cuda.is_available():
        return f"training uses the CPU: torch {torch.__version__} finds no CUDA device"
    if ops.get_compiling_cuda_version() == "not available":
        return "training uses the CPU: mmcv's operators were compiled without CUDA"
    return f"training uses the GPU: {torch.cuda.get_device_name()}"


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["plan", version]:
            why = cpu_reason()
            print(build_key(version, on_cpu=bool(why)))
            print(f"the CPU ({why})" if why else "CUDA")
        case ["intact", wheel]:
            sys.exit(not intact(wheel))
        case ["check"]:
            print(check())
        case _:
            sys.exit(__doc__)
