#!/usr/bin/env python3
"""Proves the C++ wrapper: wrapper.cpp, wrapper_steps.cpp."""
import sys

import program

whole = program.run("wrapper", program.TINY)
steps = program.run("wrapper_steps")
sys.exit(whole or steps)
