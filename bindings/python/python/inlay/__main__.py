"""`python -m inlay` is the command `inlay`."""

import sys

from inlay._shell import main

if __name__ == "__main__":
    sys.exit(main())
