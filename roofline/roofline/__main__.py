"""``python -m roofline``."""

import sys

from roofline.cli.program import main

if __name__ == "__main__":
    sys.exit(main())
