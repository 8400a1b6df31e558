"""The screen of a terminal: what a program's output looks like, character by character, and as an SVG picture.

Understands what line editors and pagers write: cursor movement, erasing, scrolling, colours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from html import escape

TOKEN = re.compile(
    r"\x1b\[([0-9;?]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()][A-Z0-9]|\x1b[=>78DMc]|[\x00-\x1f]"
)
# Of a terminal with a dark background: black, red, green, yellow, blue, magenta, cyan, white, and again brighter.
PALETTE = (
    *("#45475a", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#f5c2e7", "#94e2d5", "#bac2de"),
    *("#6c7086", "#f38ba8", "#a6e3a1", "#f9e2af", "#89b4fa", "#f5c2e7", "#94e2d5", "#ffffff"),
)
FOREGROUND, BACKGROUND = "#cdd6f4", "#1e1e2e"
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 16


@dataclass(frozen=True)
class Style:
    """How a character is drawn."""

    color: str = FOREGROUND
    bold: bool = False
    dim: bool = False
    underlined: bool = False


PLAIN = Style()


@dataclass
class Screen:
    """A grid of characters with a cursor."""

    columns: int = 100
    lines: int = 30
    row: int = 0
    column: int = 0
    style: Style = PLAIN
    saved: tuple[int, int] = (0, 0)
    cells: list[list[tuple[str, Style]]] = field(default_factory=list)
    rest: str = ""

    def __post_init__(self) -> None:
        self.cells = [self.blank() for _ in range(self.lines)]

    def blank(self) -> list[tuple[str, Style]]:
        return [(" ", PLAIN)] * self.columns

    def text(self) -> str:
        """The lines as they stand there, without blanks at their ends."""
        return "\n".join("".join(character for character, _ in line).rstrip() for line in self.cells).rstrip("\n")

    def feed(self, output: str) -> None:
        """Show more output. A sequence that is cut off waits for its end."""
        output = self.rest + output
        cut = output.rfind("\x1b", max(0, len(output) - 40))
        self.rest = "" if cut < 0 or TOKEN.match(output, cut) else output[cut:]
        output = output[: len(output) - len(self.rest)]
        at = 0
        for found in TOKEN.finditer(output):
            self.print(output[at : found.start()])
            at = found.end()
            if found[2]:
                self.control(found[1], found[2])
            else:
                self.character(found[0])
        self.print(output[at:])

    def print(self, text: str) -> None:
        for character in text:
            if self.column == self.columns:
                self.column = 0
                self.down()
            self.cells[self.row][self.column] = (character, self.style)
            self.column += 1

    def down(self) -> None:
        if self.row + 1 < self.lines:
            self.row += 1
        else:
            self.cells = [*self.cells[1:], self.blank()]

    def character(self, token: str) -> None:
        match token:
            case "\n":
                self.down()
            case "\r":
                self.column = 0
            case "\b":
                self.column = max(0, self.column - 1)
            case "\t":
                self.column = min(self.columns - 1, (self.column // 8 + 1) * 8)
            case "\x1b7":
                self.saved = (self.row, self.column)
            case "\x1b8":
                self.row, self.column = self.saved

    def control(self, arguments: str, letter: str) -> None:
        if arguments.startswith("?"):
            return
        numbers = [int(part or 0) for part in arguments.split(";")]
        first = max(1, numbers[0])
        match letter:
            case "A":
                self.row = max(0, self.row - first)
            case "B":
                self.row = min(self.lines - 1, self.row + first)
            case "C":
                self.column = min(self.columns - 1, self.column + first)
            case "D":
                self.column = max(0, self.column - first)
            case "E" | "F":
                self.row = min(self.lines - 1, max(0, self.row + (first if letter == "E" else -first)))
                self.column = 0
            case "G":
                self.column = min(self.columns, first) - 1
            case "H" | "f":
                self.row = min(self.lines, first) - 1
                self.column = min(self.columns, max(1, numbers[1]) if len(numbers) > 1 else 1) - 1
            case "J":
                self.erase_lines(numbers[0])
            case "K":
                self.erase_in_line(numbers[0])
            case "s":
                self.saved = (self.row, self.column)
            case "u":
                self.row, self.column = self.saved
            case "m":
                self.restyle(numbers)

    def erase_in_line(self, what: int) -> None:
        line = self.cells[self.row]
        start = self.column if what == 0 else 0
        end = self.column + 1 if what == 1 else self.columns
        for place in range(start, min(end, self.columns)):
            line[place] = (" ", PLAIN)

    def erase_lines(self, what: int) -> None:
        self.erase_in_line(what)
        rows = range(self.row + 1, self.lines) if what == 0 else range(self.row) if what == 1 else range(self.lines)
        for row in rows:
            self.cells[row] = self.blank()

    def restyle(self, numbers: list[int]) -> None:
        numbers = list(numbers)
        while numbers:
            number = numbers.pop(0)
            match number:
                case 0:
                    self.style = PLAIN
                case 1:
                    self.style = replace(self.style, bold=True)
                case 2:
                    self.style = replace(self.style, dim=True)
                case 4:
                    self.style = replace(self.style, underlined=True)
                case 22:
                    self.style = replace(self.style, bold=False, dim=False)
                case 24:
                    self.style = replace(self.style, underlined=False)
                case 39:
                    self.style = replace(self.style, color=FOREGROUND)
                case 38 | 48:
                    color = indexed(numbers)
                    self.style = replace(self.style, color=color) if number == 38 else self.style
                case _ if 30 <= number <= 37:
                    self.style = replace(self.style, color=PALETTE[number - 30])
                case _ if 90 <= number <= 97:
                    self.style = replace(self.style, color=PALETTE[number - 82])

    def svg(self, title: str) -> str:
        """The screen up to its last line that is not blank, as a picture."""
        shown = self.cells[: len(self.text().split("\n"))]
        width = self.columns * CELL_WIDTH + 2 * MARGIN
        height = len(shown) * CELL_HEIGHT + 2 * MARGIN
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" role="img">',
            f"<title>{escape(title)}</title>",
            f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>',
            '<g font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14" '
            f'fill="{FOREGROUND}" xml:space="preserve">',
        ]
        for row, line in enumerate(shown):
            place = 0
            while place < self.columns:
                style, start = line[place][1], place
                while place < self.columns and line[place][1] == style:
                    place += 1
                run = "".join(character for character, _ in line[start:place])
                if run.strip():
                    out.append(span(run, style, MARGIN + start * CELL_WIDTH, MARGIN + (row + 0.8) * CELL_HEIGHT))
        return "\n".join([*out, "</g>", "</svg>", ""])


def indexed(numbers: list[int]) -> str:
    """The color of `38;5;n` or `38;2;r;g;b`, whose numbers are taken off the list."""
    if numbers[:1] == [2] and len(numbers) >= 4:
        _, red, green, blue = (numbers.pop(0) for _ in range(4))
        return f"#{red:02x}{green:02x}{blue:02x}"
    if numbers[:1] == [5] and len(numbers) >= 2:
        numbers.pop(0)
        number = numbers.pop(0)
        if number < 16:
            return PALETTE[number]
        if number >= 232:
            return "#" + f"{(number - 232) * 10 + 8:02x}" * 3
        levels = (0, 95, 135, 175, 215, 255)
        number -= 16
        return f"#{levels[number // 36]:02x}{levels[number // 6 % 6]:02x}{levels[number % 6]:02x}"
    return FOREGROUND


def span(run: str, style: Style, x: float, y: float) -> str:
    """Characters of one style. Their length is given, so that columns stand below each other in any font."""
    text = run.rstrip()
    x += (len(text) - len(text.lstrip())) * CELL_WIDTH
    text = text.lstrip()
    parts = [f'x="{x:.1f}" y="{y:.1f}" textLength="{len(text) * CELL_WIDTH:.1f}"']
    if style.color != FOREGROUND:
        parts.append(f'fill="{style.color}"')
    if style.bold:
        parts.append('font-weight="bold"')
    if style.dim:
        parts.append('opacity="0.6"')
    if style.underlined:
        parts.append('text-decoration="underline"')
    return f"<text {' '.join(parts)}>{escape(text)}</text>"
