"""The page in a real browser, by keys and by what a person sees.

    python -m pytest server/page/tests

INLAY_PAGE_URL is where a server runs, with an empty database; else `inlay serve` of the checkout's .venv is
started, or where that is not built the stand-in, which needs the package `inlay` (INLAY_PYTHON is the interpreter
that has it, if it is not the one of the tests).
Needs Debian's chromium (or CHROMIUM) and the package playwright; without them the tests say so and are skipped.
INLAY_PAGE_SHOTS is a folder for pictures.
"""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.parse

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="the package playwright is not installed")

HERE = pathlib.Path(__file__).resolve().parent
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
SHOTS = os.environ.get("INLAY_PAGE_SHOTS")
PATIENCE_MS = 30_000

STATUS = "document.querySelector('.status-state').textContent"
FIRST_CELL = "document.querySelector('.grid-row .cell')"

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed (apt-get install chromium)")


@contextlib.contextmanager
def served(shell):
    """Address of `inlay serve`."""
    command = [shell, "serve", "--postgres-port", "off", "--http-port", "0", "--grace", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    line = process.stdout.readline()
    found = re.search(r"http=(\S+)", line)
    assert found, f"{shell} serve says {line!r}"
    yield f"http://{found[1]}/"
    process.terminate()
    process.wait()


@contextlib.contextmanager
def stand_in(*options):
    """Address of a stand-in that runs."""
    venv = HERE.parents[2] / ".venv" / "bin" / "python"
    python = os.environ.get("INLAY_PYTHON") or (str(venv) if venv.exists() else sys.executable)
    command = [python, str(HERE / "stand_in.py"), "0", ":memory:", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline().strip()
    if not line:
        pytest.skip(f"{python} has no package inlay for the stand-in")
    yield line
    process.terminate()
    process.wait()


@pytest.fixture(scope="session")
def address():
    """Where the page is."""
    if url := os.environ.get("INLAY_PAGE_URL"):
        yield url
        return
    shell = HERE.parents[2] / ".venv" / "bin" / "inlay"
    with served(str(shell)) if shell.exists() else stand_in() as url:
        yield url


@pytest.fixture(scope="session")
def browser():
    with sync_api.sync_playwright() as playwright:
        # Where shared memory is small, as in containers, it takes files.
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        try:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        except sync_api.Error as error:
            pytest.skip(f"chromium does not start here: {error.message.splitlines()[0]}")
        yield browser
        browser.close()


class Page:
    """The page as its user has it: keys, and what is to be seen."""

    def __init__(self, page, address):
        self.page, self.address = page, address
        self.asked, self.said = [], []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", self.hear)
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.set_default_timeout(PATIENCE_MS)

    def hear(self, message):
        # That an answer has status 400 is what the browser says of each wrong statement. And when a selection with
        # colours is written over, Chromium tries to keep them by an attribute, which the policy forbids; the editor
        # draws these lines itself.
        usual = ("Failed to load resource", "Applying inline style violates")
        if message.type in ("error", "warning") and not message.text.startswith(usual):
            self.said.append(message.text)

    def until(self, expression):
        """Waits until something holds. Playwright's own way needs eval in the page, which its policy forbids."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while not self.page.evaluate(expression):
            assert time.monotonic() < end, f"never so: {expression}"
            self.page.wait_for_timeout(30)

    def open(self):
        self.page.goto(self.address)
        self.page.locator("#where:not(:empty)").wait_for()
        return self

    def write(self, sql):
        self.page.keyboard.press("Alt+q")
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(sql)

    def run(self, sql, wait=True, keys="Control+Enter"):
        self.write(sql)
        before = self.status()
        self.page.evaluate("document.querySelector('.status-state').textContent = ''")
        self.page.keyboard.press(keys)
        if wait:
            self.until(f"/rows?\\b|Done|Failed|changed|easured/.test({STATUS}) && !/Running|keeping/.test({STATUS})")
        return before

    def status(self):
        return self.page.locator(".status-state").inner_text()

    def cell(self, row, column):
        return self.page.locator(f".grid-body [data-row='{row}'][data-column='{column}']")

    def row(self, row, count):
        return [self.cell(row, column).inner_text() for column in range(count)]

    def lists_statements(self):
        return self.page.request.get(self.address + "statements").status == 200

    def shot(self, name):
        if SHOTS:
            self.page.screenshot(path=str(pathlib.Path(SHOTS) / name), caret="initial")


@pytest.fixture
def page(browser, address):
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, permissions=["clipboard-read", "clipboard-write"]
    )
    page = Page(context.new_page(), address).open()
    yield page
    context.close()
    assert page.said == [], "the console is silent"


def test_first_query(page):
    page.run(
        "SELECT 9223372033328793741 AS big, 12345678901234567890.123456789::DECIMAL(38,9) AS exact, NULL AS nothing,\n"
        "'NULL' AS text, [1, NULL] AS list, 'nan'::DOUBLE AS odd, '<b>x</b>' AS html"
    )
    shown = ["9223372033328793741", "12345678901234567890.123456789", "NULL", "NULL", "[1, NULL]", "nan", "<b>x</b>"]
    assert page.row(0, 7) == shown
    classes = [page.cell(0, column).get_attribute("class").split() for column in (2, 3)]
    assert "null" in classes[0] and "null" not in classes[1]
    head = page.page.locator(".head-cell").all_inner_texts()
    assert head[0].split() == ["big", "bigint"] and head[1].split() == ["exact", "decimal(38,9)"]
    assert page.status().startswith("1 row · 7 columns")


def test_statements_and_selection(page):
    page.run("SELECT 1 AS a;\nSELECT 2 AS b, 'x;y' AS c;\n-- the end; of it\n")
    assert page.row(0, 2) == ["2", "x;y"], "the statement before the cursor"
    page.run("SELECT 1 AS a;\nSELECT 2 AS b", keys="Control+Shift+Enter")
    page.page.locator(".run-tabs button").nth(1).wait_for()
    assert page.row(0, 1) == ["2"]
    page.page.locator(".run-tabs button").nth(0).click()
    assert page.row(0, 1) == ["1"]
    # Only what is selected runs.
    page.write("SELECT 5 AS five, 6")
    for _ in range(3):
        page.page.keyboard.press("Shift+ArrowLeft")
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("Home")
    for _ in range(len("SELECT 5 AS five")):
        page.page.keyboard.press("Shift+ArrowRight")
    page.page.keyboard.press("Control+Enter")
    page.until(f"{FIRST_CELL}?.textContent === '5'")


def test_what_has_no_rows(page):
    page.run("CREATE OR REPLACE TABLE changed (a INTEGER)")
    message = page.page.locator(".message")
    assert "Done" in message.inner_text() or "changed" in message.inner_text()
    page.run("INSERT INTO changed VALUES (1), (2)")
    assert "2 rows changed" in message.inner_text()
    page.page.locator(".tree-item", has_text="changed").first.wait_for()
    page.run("SELECT * FROM changed WHERE a > 5")
    assert page.status().startswith("0 rows") and page.page.locator(".head-cell").count() == 1
    page.run("DROP TABLE changed")
    page.page.locator(".tree-item", has_text="changed").first.wait_for(state="detached")


def test_error_at_its_place(page):
    page.run("SELECT 1;\nSELECT 'é',\n       nothing FROM range(3)")
    card = page.page.locator(".error-card")
    assert "nothing" in card.inner_text() and "42703" in card.inner_text()
    underlined = page.page.locator(".editor .cm-lintRange-error")
    underlined.wait_for()
    assert underlined.inner_text() == "nothing"
    assert card.locator(".error-place").inner_text().splitlines()[1].index("^") == len("2  ") + len("       ")
    page.shot("page-error.png")
    card.get_by_role("button", name="Go there").click()
    page.page.keyboard.type("range AS ")
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Control+Enter")
    page.page.locator(".status-state", has_text="3 rows").wait_for()
    assert underlined.count() == 0


def test_ten_million_rows(page):
    page.run("SELECT i AS id, i * 7919 % 1000003 AS k, 's' || i % 1000 AS s FROM range(10000000) AS t(i)", wait=False)
    page.cell(0, 0).wait_for()
    page.page.locator(".status-state", has_text="10,000,000 rows").wait_for()
    grid = page.page.locator(".grid")
    assert page.page.locator(".grid-row").count() < 80, "only what is in sight is in the document"
    # To the end by the bar, and by keys.
    grid.evaluate("grid => { grid.scrollTop = grid.scrollHeight; }")
    page.until("document.querySelector('[data-row=\"9999999\"][data-column=\"0\"]')?.textContent === '9999999'")
    grid.evaluate("grid => { grid.scrollTop = grid.scrollHeight / 2; }")
    page.until(
        f"Math.abs({FIRST_CELL}.textContent - 5e6) < 1e5 && {FIRST_CELL}.dataset.row === {FIRST_CELL}.textContent"
    )
    top = int(page.page.locator(".grid-row .cell").first.get_attribute("data-row"))
    grid.hover()
    page.page.mouse.wheel(0, 270)
    page.until(f"{FIRST_CELL}.dataset.row === '{top + 10}' && {FIRST_CELL}.textContent === '{top + 10}'")
    page.page.keyboard.press("Alt+j")
    page.page.keyboard.press("Control+End")
    assert page.cell(9999999, 2).inner_text() == "s999"
    page.page.keyboard.press("PageUp")
    page.page.keyboard.press("Control+Home")
    page.until("document.querySelector('[data-row=\"0\"][data-column=\"0\"]')?.textContent === '0'")
    # In another order.
    page.page.locator(".head-cell").nth(1).click()
    page.page.get_by_role("menuitem", name="Descending").click()
    page.until("document.querySelector('[data-row=\"0\"][data-column=\"1\"]')?.textContent === '1000002'")
    page.until(f"!/sorting/.test({STATUS})")
    page.page.keyboard.press("Control+End")
    page.until("document.querySelector('[data-row=\"9999999\"][data-column=\"1\"]')?.textContent === '0'")
    heap = page.page.evaluate("performance.memory ? performance.memory.usedJSHeapSize : 0")
    assert heap < 200e6


def test_summaries_of_all_types(page):
    values = [
        *("true", "1::TINYINT", "170141183460469231731687303715884105727::HUGEINT", "1.5::FLOAT", "'inf'::DOUBLE"),
        *("DATE '2020-01-01'", "TIME '01:02:03'", "TIMESTAMPTZ '2020-01-01 00:00:00+00'", "INTERVAL 1 DAY"),
        *("'5d0a1a2c-7a3e-4b8a-9c1b-0a1b2c3d4e5f'::UUID", "'{\"a\":1}'::JSON", "'ab'::BLOB", "'101'::BIT"),
        *("'x'::ENUM('x','y')", "NULL", "TIMESTAMP_NS '2020-01-01 00:00:00.123456789'", "MAP {'a': 1}"),
        *("'it''s \"q\"' || chr(10)", "18446744073709551615::UBIGINT", "[1, 2]", "{'x': 1}"),
    ]
    names = [f"c{index}" for index in range(len(values))]
    page.page.set_viewport_size({"width": 5200, "height": 800})
    page.page.keyboard.press("Alt+s")
    for more in ("", ", range(2000)"):
        rows = f"(VALUES ({', '.join(values)}), ({', '.join(['NULL'] * len(values))})) AS t({', '.join(names)})"
        page.run(f"SELECT {', '.join(names)} FROM {rows}{more}")
        page.until("document.querySelectorAll('.head-summary').length === 21")
        page.until("document.querySelectorAll('.head-summary.waiting').length === 0")
        words = page.page.locator(".summary-words").all_inner_texts()
        assert [name for name, word in zip(names, words, strict=True) if "null" not in word] == []
        assert page.cell(0, 18).inner_text() == "18446744073709551615"
    page.page.keyboard.press("Alt+s")


def test_summaries_and_copy(page):
    page.run(
        "SELECT i AS id, CASE WHEN i % 4 = 0 THEN NULL ELSE 'ab'[i % 2 + 1] END AS letter,\n"
        "DATE '2020-01-01' + i::INTEGER AS day FROM range(5000) AS t(i)"
    )
    page.page.keyboard.press("Alt+s")
    page.page.locator(".head-summary svg").nth(2).wait_for()
    assert "25 % null" in page.page.locator(".head-cell").nth(1).inner_text()
    page.page.locator(".head-cell").nth(0).click()
    facts = page.page.locator(".menu .facts dl")
    facts.wait_for()
    assert "4999" in facts.inner_text() and "5,000" in facts.inner_text()
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Alt+s")
    page.cell(1, 0).click()
    page.cell(1, 0).dblclick()
    assert page.page.locator("dialog .value").inner_text() == "1"
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Shift+ArrowDown")
    page.page.keyboard.press("Shift+ArrowRight")
    page.page.keyboard.press("Control+c")
    page.page.locator(".status-said", has_text="4 cells copied").wait_for()
    assert page.page.evaluate("navigator.clipboard.readText()") == "1\tb\n2\ta"


@pytest.mark.parametrize("form", ["CSV", "Parquet", "Arrow", "JSON, a line", "Markdown"])
def test_download(page, form):
    page.run("SELECT i AS \"a b\", 'x' || i AS s FROM range(3) AS t(i)")
    page.page.keyboard.press("Alt+d")
    with page.page.expect_download() as download:
        page.page.get_by_role("menuitem", name=form).click()
    data = pathlib.Path(download.value.path()).read_bytes()
    if form == "CSV":
        assert data.decode().replace('"', "").split() == ["a", "b,s", "0,x0", "1,x1", "2,x2"]
    elif form == "Parquet":
        assert data[:4] == b"PAR1" == data[-4:]
    elif form == "JSON, a line":
        assert [json.loads(line) for line in data.splitlines()][2] == {"a b": 2, "s": "x2"}
    else:
        assert len(data) > 20


@pytest.mark.parametrize("kind", ["line", "bar", "scatter", "histogram"])
def test_chart(page, kind):
    page.run(
        "SELECT TIMESTAMP '2024-01-01' + to_hours(i::INTEGER) AS at,\n"
        "sin(i / 900.0) * 40 + random() * 25 + 60 AS load,\n"
        "['north', 'south', 'west'][i % 3 + 1] AS region FROM range(200000) AS t(i)"
    )
    page.page.keyboard.press("Alt+c")
    page.page.get_by_label("Chart", exact=True).select_option(kind)
    if kind == "bar":
        page.page.get_by_label("X", exact=True).select_option(label="region")
    if kind == "histogram":
        page.page.get_by_label("Of", exact=True).select_option(label="load")
    page.until("/rows|points/.test(document.querySelector('.chart-words').textContent)")
    marks = {"line": "path.line", "bar": "rect.mark", "scatter": "rect.cloud", "histogram": "rect.mark"}[kind]
    page.page.locator(f".chart-place {marks}").first.wait_for()
    count = page.page.locator(f".chart-place {marks}").count()
    assert count == {"line": 1, "bar": 3, "scatter": count, "histogram": 40}[kind]
    assert count < 6000, "rows are reduced by the engine"
    assert "200,000" in page.page.locator(".chart-place svg").get_attribute("aria-label")
    if kind != "scatter":
        page.page.locator(".chart-layer").focus()
        page.page.keyboard.press("ArrowRight")
        assert page.page.locator(".tip").is_visible()
    page.shot(f"page-chart-{kind}.png")


def test_cancel(page):
    page.run("SELECT count(*) FROM range(100000000000) AS t(i) WHERE i * 7 % 13 = 5", wait=False)
    page.page.get_by_role("button", name="Cancel").wait_for()
    page.page.locator(".status-state", has_text="Running").wait_for()
    page.page.locator("#side-running").click()
    if page.lists_statements():
        page.page.locator(".side-list .entry", has_text="range(100000000000)").wait_for()
    page.page.keyboard.press("Escape")
    page.page.locator(".error-card", has_text="cancelled").wait_for()
    if page.lists_statements():
        page.page.locator(".side-list .empty", has_text="Nothing runs").wait_for(timeout=5000)
    page.run("SELECT 42 AS answer")
    assert page.row(0, 1) == ["42"]


def test_kill(page):
    if not page.lists_statements():
        pytest.skip("this server does not tell what runs")
    page.run("SELECT count(*) FROM range(100000000000) AS t(i) WHERE i * 11 % 13 = 5", wait=False)
    page.page.locator("#side-running").click()
    page.page.get_by_role("button", name="End SELECT").click()
    page.page.locator(".error-card").wait_for(timeout=5000)
    assert "57014" in page.page.locator(".error-card").inner_text()


def test_a_closed_tab_ends_its_query(browser, address, page):
    if not page.lists_statements():
        pytest.skip("this server does not tell what runs")
    context = browser.new_context()
    other = Page(context.new_page(), address).open()
    other.run("SELECT count(*) FROM range(100000000000) AS t(i) WHERE i * 17 % 19 = 5", wait=False)
    page.page.locator("#side-running").click()
    page.page.locator(".side-list .entry", has_text="17 % 19").wait_for()
    context.close()
    page.page.locator(".side-list .empty", has_text="Nothing runs").wait_for(timeout=3000)


def test_plan(page):
    page.run("CREATE OR REPLACE TABLE planned AS SELECT i AS id, i % 100 AS g FROM range(200000) AS t(i)")
    page.write("SELECT g, count(*) AS n FROM planned JOIN range(1000) AS r(id) USING (id) GROUP BY g ORDER BY n DESC")
    page.page.keyboard.press("Alt+e")
    steps = page.page.locator(".plan-step")
    steps.first.wait_for()
    text = page.page.locator(".plan").inner_text()
    assert "Join" in text and "Scan planned" in text and "estimated" in text and " µs" in text
    steps.first.focus()
    page.page.keyboard.press("ArrowLeft")
    assert page.page.locator(".plan-step:visible").count() == 1
    page.page.keyboard.press("ArrowRight")
    page.run("DROP TABLE planned")


def test_catalog_completion_history(page):
    page.run('CREATE OR REPLACE TABLE orders_of_test (order_id BIGINT, customer VARCHAR, "total sum" DECIMAL(10,2))')
    page.page.locator(".tree-item", has_text="orders_of_test").first.wait_for()
    page.write("")
    page.page.keyboard.type("SELECT  FROM orders_of_test o")
    page.page.keyboard.press("Escape")
    for _ in range(len(" FROM orders_of_test o")):
        page.page.keyboard.press("ArrowLeft")
    page.page.keyboard.type("o.cus")
    options = page.page.locator(".editor .cm-tooltip-autocomplete li")
    options.first.wait_for()
    assert options.first.inner_text().startswith("customer") and "varchar" in options.first.inner_text()
    page.page.wait_for_timeout(150)
    page.page.keyboard.press("Tab")
    page.page.keyboard.press("Control+Enter")
    page.page.locator(".status-state", has_text="0 rows").wait_for()
    page.page.keyboard.type(", date_tr")
    page.page.locator(".editor .cm-tooltip-autocomplete li", has_text="date_trunc").first.wait_for()
    page.page.keyboard.press("Escape")
    # By keys through the tree: to the columns of the table.
    page.page.locator("#side-catalog").focus()
    page.page.locator(".filter").focus()
    page.page.keyboard.type("orders_of")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("ArrowRight")
    page.page.locator(".tree-item[aria-level='3']", has_text="total sum").wait_for()
    page.page.keyboard.press("Enter")
    page.until("document.title.startsWith('orders_of_test')")
    page.page.locator("#side-history").click()
    page.page.locator(".side-list .entry", has_text="SELECT o.customer FROM").first.wait_for()
    page.page.locator("#side-functions").click()
    page.page.locator(".filter").fill("date_trunc")
    page.page.locator(".side-list .entry", has_text="date_trunc").first.wait_for()
    page.run("DROP TABLE orders_of_test")


def test_tabs_and_saved_queries_stay(page):
    page.write("SELECT 'kept'")
    page.page.keyboard.press("Control+s")
    page.page.locator("dialog input").fill("My query")
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Alt+t")
    page.page.keyboard.insert_text("SELECT 'second'")
    page.page.wait_for_timeout(500)
    page.open()
    assert page.page.locator(".tab-name").all_inner_texts() == ["My query", "Query 2"]
    assert "second" in page.page.locator(".editor .cm-content").inner_text()
    page.page.keyboard.press("Alt+w")
    page.page.locator("#side-saved").click()
    page.page.locator(".entry", has_text="My query").click()
    assert "kept" in page.page.locator(".editor .cm-content").inner_text()


def test_keyboard_only(page):
    """The parts are reached by F6, nothing traps the focus, and all commands are in the palette."""
    parts = "['editor', 'results', 'side']"
    inside = f"{parts}.find((id) => document.getElementById(id).contains(document.activeElement)) ?? 'bar'"
    page.run("SELECT i FROM range(50) AS t(i)")
    seen = [page.page.evaluate(inside)]
    for _ in range(4):
        page.page.keyboard.press("F6")
        seen.append(page.page.evaluate(inside))
    assert seen == ["editor", "results", "side", "bar", "editor"]
    page.page.keyboard.press("F6")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.page.keyboard.press(key)
    assert page.page.locator("dialog .value").inner_text() == "2"
    page.page.keyboard.press("Escape")
    for key in ("Control+Home", "ArrowUp", "Enter"):
        page.page.keyboard.press(key)
    page.page.locator(".menu").wait_for()
    page.page.keyboard.press("ArrowDown")
    page.page.keyboard.press("Enter")
    page.until("document.querySelector('[data-row=\"0\"][data-column=\"0\"]').textContent === '49'")
    page.page.keyboard.press("Control+k")
    page.page.keyboard.type("close this")
    page.page.keyboard.press("Enter")
    page.until("!document.querySelector('dialog')")
    # Escape and Tab leave the editor, and Tab comes by every control once.
    page.page.keyboard.press("Alt+q")
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Tab")
    assert page.page.evaluate("document.activeElement.id") == "split"


def test_phone(browser, address):
    size = {"width": 390, "height": 780}
    context = browser.new_context(viewport=size, device_scale_factor=2, has_touch=True, is_mobile=True)
    page = Page(context.new_page(), address).open()
    page.page.locator(".editor .cm-content").tap()
    page.run("SELECT i AS id, 'row ' || i AS name, i * 1.25 AS price FROM range(100000) AS t(i)")
    assert page.row(3, 2) == ["3", "row 3"]
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390, "nothing sticks out"
    small = page.page.evaluate(
        "[...document.querySelectorAll('button')].filter((b) => b.offsetWidth && (b.offsetHeight < 24"
        " || b.offsetWidth < 24)).map((b) => b.outerHTML.slice(0, 80))"
    )
    assert small == [], "targets are large enough (WCAG 2.5.8)"
    page.shot("page-phone.png")
    page.page.locator("#drawer").tap()
    page.page.locator("#side").wait_for()
    page.page.locator("#side-history").tap()
    page.page.locator(".side-list .entry").first.tap()
    page.page.locator("#side").wait_for(state="hidden")
    assert page.said == []
    context.close()


def test_a_server_without_sessions(browser):
    """Long results, orders and charts need nothing but POST /query; so does a server under a prefix."""
    with stand_in("bare", "some/where") as address:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        page = Page(context.new_page(), address).open()
        page.run("SELECT i AS id, i % 7 AS k, [i] AS list FROM range(300000) AS t(i)")
        page.page.locator(".status-state", has_text="300,000 rows").wait_for()
        page.page.keyboard.press("Alt+j")
        page.page.keyboard.press("Control+End")
        page.until("document.querySelector('[data-row=\"299999\"][data-column=\"0\"]')?.textContent === '299999'")
        page.page.locator(".head-cell").nth(0).click()
        page.page.get_by_role("menuitem", name="Descending").click()
        page.page.keyboard.press("Control+Home")
        page.until("document.querySelector('[data-row=\"0\"][data-column=\"0\"]')?.textContent === '299999'")
        page.page.keyboard.press("Alt+c")
        page.page.locator(".chart-place svg").wait_for()
        page.page.locator("#side-running").click()
        page.page.locator(".side-list .empty", has_text="does not tell").wait_for()
        assert page.said == []
        context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_labels_and_contrast(browser, address, theme):
    context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=theme)
    page = Page(context.new_page(), address).open()
    page.run("CREATE OR REPLACE TABLE seen AS SELECT i AS id, 's' || i % 5 AS s, i * 0.5 AS d FROM range(3000) AS t(i)")
    look, press = page.page.locator, page.page.keyboard.press
    query = "-- a comment\nSELECT id, upper(s) AS s, 'text' AS t, NULL AS n, 12.5::DOUBLE AS f FROM seen"
    popup = ".editor .cm-tooltip-autocomplete li"
    states = {
        "rows": lambda: page.run(query),
        "summaries": lambda: (press("Alt+s"), look(".head-summary svg").nth(1).wait_for()),
        "menu": lambda: (look(".head-cell").nth(1).click(), look(".menu .facts .top, .menu dl").first.wait_for()),
        "chart": lambda: (press("Escape"), press("Alt+c"), look(".chart-place svg").wait_for()),
        "plan": lambda: (press("Alt+e"), look(".plan").wait_for()),
        "error": lambda: page.run("SELECT nothing FROM seen"),
        "completion": lambda: (page.write(""), page.page.keyboard.type("SELECT up"), look(popup).first.wait_for()),
        "functions": lambda: (
            press("Escape"),
            look("#side-functions").click(),
            look(".side-list .entry").first.wait_for(),
        ),
        "history": lambda: (look("#side-history").click(), look(".side-list .entry").first.wait_for()),
        "palette": lambda: (press("Control+k"), look(".palette-list li").first.wait_for()),
    }
    for name, reach in states.items():
        reach()
        found = page.page.evaluate((HERE / "check.js").read_text().split("\n", 1)[1])
        assert found["nameless"] == [], name
        assert found["twice"] == [], name
        assert found["faint"] == [], name
        assert found["checked"] > 20 and found["lang"] == "en" and found["headings"] == 1
    page.page.keyboard.press("Escape")
    page.run("DROP TABLE seen")
    assert page.said == []
    context.close()


def test_no_other_host_is_asked(page):
    """Nothing is asked of others, and the browser is told so; the page's files are small."""
    page.run("SELECT i, 'x' AS s FROM range(5000) AS t(i)")
    page.page.keyboard.press("Alt+c")
    page.page.keyboard.press("Alt+e")
    page.page.locator(".plan").wait_for()
    here = urllib.parse.urlsplit(page.address).netloc
    sent = [url for url in page.asked if not url.startswith(("data:", "blob:"))]
    elsewhere = [url for url in sent if urllib.parse.urlsplit(url).netloc != here]
    assert elsewhere == [] and len(page.asked) > 15
    answer = page.page.request.get(page.address)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "connect-src 'self'" in policy
    files = {url for url in page.asked if urllib.parse.urlsplit(url).path.endswith((".js", ".css", ".svg", "/"))}
    assert sum(len(page.page.request.get(url).body()) for url in files) < 600_000


TRIPS = """CREATE OR REPLACE TABLE trips AS
SELECT i AS trip_id,
    TIMESTAMP '2024-01-01' + to_seconds(i * 31) AS started_at,
    ['Zürich', 'Bern', 'Basel', 'Genf', 'Chur'][(i * i + i // 3) % 5 + 1] AS city,
    CASE WHEN i % 9 > 0 THEN (5 + 20 * random() ^ 2 + 4 * sin(i / 20000.0))::DECIMAL(10,2) END AS fare,
    (1 + 4 * random() ^ 3)::INTEGER AS riders
FROM range(1000000) AS t(i)"""


def test_the_server_knows_all_files():
    """What files.rs lists is what there is; a module that is not listed would be missing from the program."""
    listed = re.findall(r'include_bytes!\("([^"]+)"\)', (HERE.parent / "files.rs").read_text())
    found = [HERE.parent / "index.html", HERE.parent / "style.css", HERE.parent / "icon.svg"]
    found += [
        *(HERE.parent / "js").glob("*.js"),
        *(HERE.parent / "vendor" / name for name in ("codemirror.js", "LICENSES.txt")),
    ]
    assert sorted(listed) == sorted(str(file.relative_to(HERE.parent)) for file in found)


def test_pictures(browser, address):
    """What stands in docs/page.md."""
    if not SHOTS:
        pytest.skip("INLAY_PAGE_SHOTS names no folder")
    for theme in ("light", "dark"):
        context = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme=theme)
        page = Page(context.new_page(), address).open()
        page.run(TRIPS)
        page.run("CREATE OR REPLACE VIEW fares_by_city AS SELECT city, sum(fare) AS fares FROM trips GROUP BY city")
        page.page.locator(".tree-item", has_text="fares_by_city").first.wait_for()
        page.page.locator(".tree-row", has_text="trips").first.click()
        page.run(
            "-- The dear ones, newest first\nSELECT trip_id, started_at, city, fare, riders\nFROM trips\n"
            "WHERE fare > 12 OR fare IS NULL\nORDER BY started_at DESC"
        )
        page.page.keyboard.press("Alt+s")
        page.page.locator(".head-summary svg").nth(4).wait_for()
        page.page.mouse.move(5, 700)
        page.page.wait_for_timeout(300)
        page.shot(f"page-{theme}.png")
        if theme == "light":
            page.write(
                "SELECT city, count(*) AS trips, any_value(fares) AS fares\n"
                "FROM trips JOIN fares_by_city USING (city)\n"
                "WHERE riders > 2\nGROUP BY city\nORDER BY trips DESC"
            )
            page.page.keyboard.press("Alt+e")
            page.page.locator(".plan-step").first.wait_for()
            page.shot("page-plan.png")
        else:
            page.page.keyboard.press("Alt+c")
            page.page.locator("path.line").wait_for()
            page.page.get_by_label("Y", exact=True).select_option(label="fare")
            page.page.locator(".axis-title", has_text="fare").wait_for()
            page.shot("page-chart.png")
        page.page.keyboard.press("Alt+s")
        page.run("DROP VIEW fares_by_city; DROP TABLE trips", keys="Control+Shift+Enter")
        context.close()
