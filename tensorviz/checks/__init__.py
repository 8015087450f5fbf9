"""Checks that run alongside a backward pass: gradients against finite differences, op by op and from the root. Imports no view or widget."""

from tensorviz.checks.breakpoints import break_on
from tensorviz.checks.curve import error_curve
from tensorviz.checks.function import gradcheck
from tensorviz.checks.report import CheckReport, CheckRow
from tensorviz.checks.run import check

__all__ = ["CheckReport", "CheckRow", "break_on", "check", "error_curve", "gradcheck"]
