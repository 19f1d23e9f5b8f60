"""What setup.cfg cannot say: the extension, which is optional. `python setup.py build_ext --inplace` builds it here."""

from setuptools import setup

from build_backend.extension import extension, options

setup(ext_modules=[extension()], options=options())
