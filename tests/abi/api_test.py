#!/usr/bin/env python3
"""Proves that the headers keep the rules of ABI.md, and what is made from them is up to date."""
import pathlib
import subprocess
import sys

EXTRACT = pathlib.Path(__file__).with_name("extract_api.py")
sys.exit(subprocess.run([sys.executable, EXTRACT, "--check"], check=False).returncode)
