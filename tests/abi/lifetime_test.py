#!/usr/bin/env python3
"""Proves the life of objects, callbacks and the library: lifetime.c, lifetime_graphs.c,
lifetime_caches.c, lifetime_gradients.c, lifetime_journals.c, lifetime_plans.c,
lifetime_probes.c, lifetime_programs.c, reload.c."""
import sys
import tempfile

import program

whole = program.run("lifetime", program.TINY)
# Exit without releasing, which to a leak checker would be the point.
left = program.run("lifetime", program.TINY, "leave",
                   environment={"ASAN_OPTIONS": "detect_leaks=0"})
print(f"{int(left == 0)} passed, {int(left != 0)} failed")
graphs = program.run("lifetime_graphs")
with tempfile.TemporaryDirectory() as folder:
    caches = program.run("lifetime_caches", folder)
gradients = program.run("lifetime_gradients")
journals = program.run("lifetime_journals")
plans = program.run("lifetime_plans")
probes = program.run("lifetime_probes")
programs = program.run("lifetime_programs", program.TINY, program.TINY.replace("q4_1", "q8_0"))
again = program.run("reload", program.LIBRARY, linked=False)
sys.exit(whole or left or graphs or caches or gradients or journals or plans or probes or programs
         or again)
