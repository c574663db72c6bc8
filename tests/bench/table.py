# SPDX-License-Identifier: BSD-2-Clause
"""table.py - the table that the benchmark prints: goal, ours, peer, ratio.

Row        what was measured
FailedRow  what could not be
"""

import statistics

WHY_CHARACTERS = 200


class Row:
    """`ours` and `peer` are lists of the rounds' numbers; `peer` may be empty. `aim`: what the goal is about."""

    def __init__(self, name, ours, peer=(), goal=None, aim="at most", digits=1, note=""):
        self.name, self.ours, self.peer, self.goal, self.digits, self.note = name, ours, peer, goal, digits, note
        self.aim = aim  # "at most", "at least", or "ratio", which is to be at most the goal

    def number(self, value):
        return "-" if value is None else f"{value:,.{self.digits}f}".replace(",", " ")

    def ratio(self):
        pairs = [(a, b) for a, b in zip(self.ours, self.peer) if a >= 0 and b > 0]
        return statistics.median(a / b for a, b in pairs) if pairs else None

    def verdict(self):
        measured = self.ratio() if self.aim == "ratio" else statistics.median(self.ours)
        if self.goal is None or measured is None:
            return ""
        return "ok" if (measured >= self.goal if self.aim == "at least" else measured <= self.goal) else "MISSED"

    def goal_cell(self):
        if self.goal is None:
            return "-"
        if self.aim == "ratio":
            return f"ratio <= {self.goal}"
        return (">= " if self.aim == "at least" else "<= ") + self.number(self.goal)

    def cells(self):
        ratio = self.ratio()
        ratio = "-" if ratio is None else f"{ratio:.4f}" if 0 < ratio < 0.05 else f"{ratio:.2f}"
        ours = self.number(statistics.median(self.ours))
        peer = self.number(statistics.median(self.peer) if self.peer else None)
        return [self.name, self.goal_cell(), ours, peer, ratio, self.verdict(), self.note]


class FailedRow:
    """Something that could not be measured, and why."""

    def __init__(self, name, why):
        self.name, self.why = name, " ".join(str(why).split())[:WHY_CHARACTERS]

    def verdict(self):
        return "FAILED"

    def cells(self):
        return [self.name, "-", "-", "-", "-", self.verdict(), self.why]


def print_table(rows):
    lines = [["what", "goal", "ours", "perf", "ratio", "", ""]] + [row.cells() for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(7)]
    for index, line in enumerate(lines):
        cells = [line[0].ljust(widths[0])]
        cells += [line[column].rjust(widths[column]) for column in range(1, 5)]
        print("  ".join([*cells, line[5].ljust(widths[5]), line[6]]).rstrip())
        if index == 0:
            print("-" * (sum(widths[:6]) + 10))
