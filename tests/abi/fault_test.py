#!/usr/bin/env python3
"""Proves that exhausted memory is an error like others, at each allocation there is: fault.c."""
import sys
import tempfile

import program

with tempfile.TemporaryDirectory() as folder:
    sys.exit(program.run("fault", program.TINY, folder))
