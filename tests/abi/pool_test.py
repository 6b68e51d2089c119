#!/usr/bin/env python3
"""Proves that branches meet on the library's threads and on a host's: pool.c."""
import sys

import program

sys.exit(program.run("pool"))
