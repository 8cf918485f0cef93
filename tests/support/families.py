"""Which family of OpenMMLab's libraries the tests run on."""

from swin_mm.doctor.packages import OPENMMLAB, installed

MAINTAINED = all(one.maintained for library in OPENMMLAB for one in installed()[library])
