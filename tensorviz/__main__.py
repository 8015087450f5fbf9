"""``python -m tensorviz``. Imports the command line only."""

from tensorviz.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
