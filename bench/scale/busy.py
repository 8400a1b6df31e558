"""What the machine gives to two threads: a loop that needs but a processor, in one process and in two at once."""

from __future__ import annotations

import subprocess
import sys

STEPS = 800_000
LOOP = """
import sys
for line in sys.stdin:
    total = 0
    for number in range(int(line)):
        total += number
    print(total, flush=True)
"""


class Busy:
    """Processes that wait for their turn."""

    def __init__(self) -> None:
        self.processes = [
            subprocess.Popen([sys.executable, "-c", LOOP], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(2)
        ]

    def run(self, count: int) -> list[int]:
        """The loop's result, of so many processes at once."""
        pipes = [(process.stdin, process.stdout) for process in self.processes[:count]]
        for stdin, _ in pipes:
            if stdin:
                stdin.write(f"{STEPS}\n")
                stdin.flush()
        return [int(stdout.readline()) for _, stdout in pipes if stdout]

    def close(self) -> None:
        """End the processes."""
        for process in self.processes:
            process.communicate()
