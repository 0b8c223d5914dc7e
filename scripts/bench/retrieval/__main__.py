"""retrieval --data DIR [SET...]: how well recall answers the questions of public sets.

DIR holds a folder for each set: locomo, precisionmembench, automemorybench. Plain BM25 over the
same texts is measured in the same run. any@N and all@N are the share of questions, in percent,
with one or all of their gold answers among the first N.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile

sys.path[0] = os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
)

from scripts.bench.measure import print_json, print_table, scrubbed  # noqa: E402 - as names.py
from scripts.bench.retrieval import automemory, locomo, precision  # noqa: E402

SETS = {
    "locomo": locomo.measure,
    "precisionmembench": precision.measure,
    "automemorybench": automemory.measure,
}


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(prog="retrieval", description=__doc__)
    parser.add_argument("sets", nargs="*", default=[*SETS], help=", ".join(SETS))
    parser.add_argument("--data", required=True, help="the folder of the sets")
    parser.add_argument("--stores", help="a folder to make the stores in and keep them")
    parser.add_argument("--baseline", action="store_true", help="only BM25")
    parser.add_argument("--misses", help="a file to write to what kg did not find")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    scrubbed()
    tables, misses = {}, []
    with tempfile.TemporaryDirectory(prefix="kg-bench-") as folder:
        for name in options.sets:
            data, stores = os.path.join(options.data, name), options.stores or folder
            tables[name], missed = SETS[name](data, stores, baseline=options.baseline)
            misses += missed
    if options.misses:
        with open(options.misses, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in misses)
    if options.json:
        print_json("kg.bench.retrieval/v1", tables)
        return
    for name, rows in tables.items():
        print_table(name, rows)


if __name__ == "__main__":
    main()
