"""Why the store believes what it believes, what changed when, and whether it is sound.

Reads, and takes back: `revert`, `forget`, `purge`, `retype` and `mend` each make one commit;
`drafts.commit` commits what a person has edited by hand.
"""
