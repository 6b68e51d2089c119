#!/usr/bin/env python3
"""Proves the C++ wrapper: wrapper.cpp."""
import sys

import program

sys.exit(program.run("wrapper", program.TINY))
