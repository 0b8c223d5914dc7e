"""What goes into a prompt at its start: all that is known, a line a fact, in a fixed order."""

from kg.context.listing import listing
from kg.context.narrate import narrate
from kg.context.view import View, consolidate, view

__all__ = ["View", "consolidate", "listing", "narrate", "view"]
