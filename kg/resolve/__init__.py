"""What a mention refers to. Pure: it decides on what it is shown and touches no file.

Today an entity is looked up by id, exact name or alias; the scorers, the bands and the
measured cutoffs join here as further sources of candidates, and `Decision` stays what the
write path consumes.
"""

from kg.resolve.decision import Created, Decision, Matched, Pending, decide
from kg.resolve.names import slug_of, suffixed

__all__ = ["Created", "Decision", "Matched", "Pending", "decide", "slug_of", "suffixed"]
