#!/usr/bin/env python3
"""Proves the life of objects, callbacks and the library: lifetime.c, reload.c."""
import sys

import program

whole = program.run("lifetime", program.TINY)
left = program.run("lifetime", program.TINY, "leave")
print(f"{int(left == 0)} passed, {int(left != 0)} failed")  # exit without releasing
again = program.run("reload", program.LIBRARY, linked=False)
sys.exit(whole or left or again)
