"""What setup.cfg cannot say: the page of the package index, and the extension, which is optional.

`python setup.py build_ext --inplace` builds the extension here.

TB_STEPTIME_PURE=1 leaves it out: the wheel is for every machine then, and Python reads the traces.
"""

import os

from setuptools import setup

from build_backend.description import description
from build_backend.extension import extension, options

PAGE = {"long_description": description(), "long_description_content_type": "text/markdown"}

if os.environ.get("TB_STEPTIME_PURE", "0") in ("", "0"):
    setup(**PAGE, ext_modules=[extension()], options=options())
else:
    setup(**PAGE)
