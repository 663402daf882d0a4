"""The command: `python -m benchmarks --help`."""

import sys

from benchmarks.run import main

sys.exit(main())
