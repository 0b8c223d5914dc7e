#!/usr/bin/env python3
"""recall QUERY...: the same as `kg recall`, with nothing installed.

For agents and hooks, with an absolute interpreter: python3 -S /path/to/scripts/recall.py QUERY
"""

import os
import sys

sys.path[0] = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

from kg.entry import recall  # noqa: E402 - the line above is what makes it importable

recall()
