"""`roofline audit`: contradictions in published figures, whoever published them.

reading (JSON or table) -> `StatedRow` -> rules -> report. A new kind of table is a layout, a new check a rule.
"""

from __future__ import annotations

from roofline.audits.auditing import SUFFIXES, Audit, AuditFiles, audit, on_devices, read, read_one
from roofline.audits.rules import RULES

__all__ = ["RULES", "SUFFIXES", "Audit", "AuditFiles", "audit", "on_devices", "read", "read_one"]
