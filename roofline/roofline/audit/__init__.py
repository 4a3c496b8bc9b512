"""`roofline audit`: contradictions in published figures, whoever published them.

reading (JSON or table) -> `Row` -> rules -> report. A new kind of table is a layout, a new check a rule.
"""

from __future__ import annotations

from roofline.audit.audit import Audit, audit, on_devices
from roofline.audit.reading import rows_of, unread_columns
from roofline.audit.rules import RULES

__all__ = ["RULES", "Audit", "audit", "on_devices", "rows_of", "unread_columns"]
