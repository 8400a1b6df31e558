"""What a reader needs to judge a figure: processor, cores, memory, system, commit."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any


def description() -> dict[str, str | int]:
    """The machine and the commit, as the history keeps them."""
    return {
        "processor": first_match(Path("/proc/cpuinfo"), "model name") or platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 0,
        "memory_gib": round(memory_bytes() / 2**30),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "commit": commit(),
    }


def record(suite: str, threads: int, **rest: Any) -> dict[str, Any]:
    """One line of a suite's history."""
    time = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"time": time, "suite": suite, "threads": threads, "machine": description(), **rest}


def first_match(path: Path, field: str) -> str:
    """Value of the first `field : value` line, empty when there is none."""
    if not path.exists():
        return ""
    lines = (line.partition(":") for line in path.read_text().splitlines())
    return next((value.strip() for name, _, value in lines if name.strip() == field), "")


def memory_bytes() -> int:
    """Installed memory, 0 where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def commit() -> str:
    """Short commit id, with a plus sign when files have changed since."""
    try:
        run = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return run.stdout.strip()
