"""Data that would stop a training, or spoil it in silence: found before, or skipped and counted."""

from swin_mm.checking.check import SPLITS, check_data, check_sample
from swin_mm.checking.faults import DataError, Fault, Findings, Group
from swin_mm.checking.report import format_summary, print_report, write_json
from swin_mm.checking.rules import RULES, Level, Rule
from swin_mm.checking.skipping import SkipBroken, SkipReportHook, skip_broken

__all__ = [
    "RULES",
    "SPLITS",
    "DataError",
    "Fault",
    "Findings",
    "Group",
    "Level",
    "Rule",
    "SkipBroken",
    "SkipReportHook",
    "check_data",
    "check_sample",
    "format_summary",
    "print_report",
    "skip_broken",
    "write_json",
]
