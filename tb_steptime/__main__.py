"""`python -m tb_steptime` is `tb-steptime`, for an environment whose scripts are not on the path."""

import sys

from tb_steptime.cli import main

if __name__ == "__main__":
    sys.exit(main())
