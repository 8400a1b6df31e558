"""The package in a kernel of Jupyter, as notebooks have it."""

from __future__ import annotations

import os
import signal
import threading
import time
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

LONG = "SELECT sum(sqrt(x * y)) FROM range(3000) a(x), range(3000) b(y)"


def outputs_of(*cells: str, **options: Any) -> list[list[Any]]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", **options).execute()
    return [cell.outputs for cell in notebook.cells]


def test_magics_pictures_and_async_for() -> None:
    outputs = outputs_of(
        "%load_ext inlay\npeople = [{'name': 'Ada', 'age': 36}, {'name': 'Alan', 'age': 41}]",
        "%%sql old <<\nSELECT name FROM people WHERE age > 40",
        "old",
        "import inlay\nasync with inlay.aconnect() as con:\n"
        "    async for row in con.execute('SELECT * FROM range(2)'):\n        print(row)",
        "%sql SELECT 40 + 2 AS answer",
    )
    assert outputs[1] == []
    (picture,) = outputs[2]
    assert "Alan" in picture["data"]["text/html"] and "Alan" in picture["data"]["text/plain"]
    assert outputs[3][0]["text"] == "(0,)\n(1,)\n"
    assert "42" in outputs[4][0]["data"]["text/plain"]


def test_a_long_query_has_a_bar_that_is_gone_afterwards() -> None:
    setup = "import inlay\ncon = inlay.connect()\ncon.execute('SET progress_bar_time = 0')\nNone"
    seen: list[str] = []
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(cell) for cell in (setup, f"con.execute({LONG!r}).fetchall()")]
    )
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
    process = client.process_message

    def watched(message: Any, *others: Any) -> Any:
        if message["header"]["msg_type"] in ("display_data", "update_display_data"):
            seen.append(message["content"]["data"]["text/plain"])
        return process(message, *others)

    client.process_message = watched
    client.execute()
    assert seen[0] == "" and any("%" in text for text in seen) and seen[-1] == ""
    assert notebook.cells[1].outputs[-1]["output_type"] == "execute_result"


def test_stopping_a_cell_ends_its_query_and_the_connection_works_on() -> None:
    cells = [
        "import inlay\ncon = inlay.connect()",
        "con.execute('SELECT sum(x * y) FROM range(4000000) a(x), range(4000000) b(y)')",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", allow_errors=True)
    stopped_at: list[float] = []

    def stop() -> None:
        time.sleep(1.0)
        stopped_at.append(time.perf_counter())
        os.kill(client.km.provisioner.pid, signal.SIGINT)

    with client.setup_kernel():
        client.execute_cell(notebook.cells[0], 0)
        thread = threading.Thread(target=stop)
        thread.start()
        client.execute_cell(notebook.cells[1], 1)
        took = time.perf_counter() - stopped_at[0]
        thread.join()
        after = nbformat.v4.new_code_cell("con.execute('SELECT 42').fetchall()")
        notebook.cells.append(after)
        client.execute_cell(after, 2)
    assert notebook.cells[1].outputs[-1]["ename"] == "KeyboardInterrupt"
    print(f"the cell ended {took * 1000:.0f} ms after it was stopped")
    # Most of it is the kernel's; what the engine takes is in test_interrupt.py.
    assert took < 5
    assert after.outputs[0]["data"]["text/plain"] == "[(42,)]"
