# SPDX-License-Identifier: BSD-2-Clause
"""hot.py - Python calling Python, C that calls back Python, and a regular expression."""
import os
import re


def hot_inner(text):
    return sorted(range(200), key=lambda number: -number), re.sub(r"(a|b)+c", "x", text), sum(i * i for i in range(500))


def main():
    print(f"ready {os.getpid()}", flush=True)
    while True:
        hot_inner("aababc" * 50)


main()
