#!/usr/bin/env python3
"""`ropewalk` on the path, as pip installs it: the program of the package."""

import sys

try:
    from ropewalk._program import main

    main()
except ImportError as error:  # such as a torch of another version
    print(f"error: {error}", file=sys.stderr)
    sys.exit(4)  # the machine refused (docs/cli.md)
except KeyboardInterrupt:  # before the program itself has begun
    sys.exit(130)
