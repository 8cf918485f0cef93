import os
import re
import runpy
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

here = Path(__file__).parent
version = re.search(r'^__version__ = "(.+)"$', (here / "swin_mm/__init__.py").read_text(), re.M)
readme = here / "README.md"
EXPORT = ["onnx>=1.17", "onnxruntime>=1.20", "onnxscript>=0.5"]
kernels = runpy.run_path(str(here / "swin_mm/ops/kernels/recipe.py"))
# Not Python modules but libraries that swin_mm/ops/kernels/library.py opens. Their threads are
# OpenMP's, of the copy that torch brings: none is linked, or there would be two. Where they do not
# compile they are left out, and torch's own operators do the work.
KERNELS = [
    Extension(
        f"swin_mm.ops.kernels.{name}",
        [f"swin_mm/ops/kernels/{level}.cpp"],
        extra_compile_args=[*kernels["FLAGS"], *kernels["LEVELS"][level]],
        language="c++",
        optional=True,
    )
    for level, name in kernels["libraries"]().items()
]
TEST = ["hypothesis>=6.100", "pytest>=8", "pytest-xdist>=3.5", "safetensors>=0.4"]


class BuildKernels(build_ext):
    """Build libraries that are not for one Python alone, all at once."""

    def finalize_options(self):
        super().finalize_options()
        self.force = True  # what a kill has left half written is newer than its sources too
        self.parallel = self.parallel or max(len(KERNELS), 1)

    def get_ext_filename(self, fullname):
        return f"{os.path.join(*fullname.split('.'))}.so"

    def run(self):
        for folder in (here, Path(self.build_lib)):
            for file in kernels["others"](folder / "swin_mm/ops/kernels"):
                file.unlink()
        super().run()
        if not all(Path(self.get_ext_fullpath(one.name)).exists() for one in self.extensions):
            self.warn("torch's own operators do the work, slower, of kernels that did not compile")

    def copy_file(self, infile, outfile, level=1):
        # Beside and renamed: a kill leaves no half library, and one that is in use stays whole.
        beside = f"{outfile}.{os.getpid()}"
        copied = super().copy_file(infile, beside, level=level)
        os.replace(beside, outfile)
        return outfile, copied[1]


setup(
    name="swin_mm",
    version=version[1],
    description="Swin Transformer as a dense-prediction backbone for OpenMMLab's toolboxes",
    long_description=readme.read_text(encoding="utf-8") if readme.exists() else "",
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    classifiers=[
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: Python :: 3.10",
        "Programming Language :: Python :: 3.11",
        "Programming Language :: Python :: 3.12",
        "Programming Language :: Python :: 3.13",
        "Topic :: Scientific/Engineering :: Image Recognition",
    ],
    packages=find_packages(include=["swin_mm", "swin_mm.*"]),
    ext_modules=KERNELS,
    cmdclass={"build_ext": BuildKernels},
    options={"bdist_wheel": {"py_limited_api": "cp310"}},  # one wheel for every Python
    package_data={"swin_mm.reporting": ["templates/*"], "swin_mm.ops.kernels": ["*.cpp", "*.h"]},
    python_requires=">=3.10",
    # MMEngine and its kin are extras: two distributions provide them under the same import names,
    # and whoever has one must not be given the other.
    install_requires=["torch>=2.6", "numpy>=1.24"],
    extras_require={
        "onedl": [
            "onedl-mmengine>=0.10.12,<0.11",
            "onedl-mmcv>=2.3.6,<2.4",
            "onedl-mmdetection>=3.5.1,<3.6",
            "onedl-mmsegmentation>=1.4.2,<1.5",
        ],
        "openmmlab": [
            "mmengine>=0.10.7,<0.11",
            "mmcv>=2.1.0,<2.2",
            "mmdet>=3.3.0,<3.4",
            "mmsegmentation>=1.2.2,<1.3",
            "ftfy",  # mmsegmentation imports both without asking for them
            "regex",
        ],
        "safetensors": ["safetensors>=0.4"],
        "triton": ["triton>=3.2,<3.10"],
        "export": EXPORT,
        "openvino": [*EXPORT, "openvino>=2025.0"],  # OpenVINO's files are made from ONNX's
        "docs": ["furo>=2024.8", "myst-parser>=4", "sphinx>=8"],
        "test": TEST,
        "dev": ["ruff>=0.9", *TEST],
    },
)
