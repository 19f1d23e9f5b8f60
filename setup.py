"""What setup.cfg cannot say: the extension, which is optional. `python setup.py build_ext --inplace` builds it here.

TB_STEPTIME_PURE=1 leaves it out: the wheel is for every machine then, and Python reads the traces.
"""

import os

from setuptools import setup

from build_backend.extension import extension, options

if os.environ.get("TB_STEPTIME_PURE", "0") in ("", "0"):
    setup(ext_modules=[extension()], options=options())
else:
    setup()
