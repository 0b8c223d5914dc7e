"""Why the store believes what it believes, what changed when, and whether it is sound.

Reads only, but for `drafts.commit`, which commits what a person has edited by hand.
"""
