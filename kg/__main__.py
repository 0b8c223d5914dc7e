"""python -m kg: the same as the command kg."""

from kg.entry import main

if __name__ == "__main__":
    main()
