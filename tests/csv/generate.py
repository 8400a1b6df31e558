"""
Write ``cases.txt``: nasty CSV files and what they are read as.

Answers are DuckDB's, except where it loses rows or fails; those cases say why and what is expected instead.
Run ``python tests/csv/generate.py`` after a change here, and look at the difference.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import duckdb


@dataclass(frozen=True)
class Case:
    """A file, how it is read, and what comes of it where that is not DuckDB's answer."""

    name: str
    data: bytes
    options: str
    why: str | None
    rows: list[str] | None
    error: str | None

    def answer(self, path: Path) -> list[str]:
        """The lines that say what is expected."""
        rows, error = self.rows, self.error
        if rows is None and error is None:
            path.write_bytes(self.data)
            try:
                rows = duckdb_rows(path, self.options)
            except duckdb.Error as failure:
                print(f"{self.name}: DuckDB fails: {str(failure).splitlines()[0]}")
                error = "?"
        return [f"error: {error}"] if error or not rows else [f"columns: {rows[0]}", *rows[1:]]

    def lines(self, path: Path) -> list[str]:
        """The case as it stands in the file."""
        parts = [f"=== {self.name}"]
        if self.why:
            parts.append(f"why: {self.why}")
        if self.options:
            parts.append(f"options: {self.options}")
        return [*parts, f"bytes: {escape(self.data)}", *self.answer(path), ""]


CASES: list[Case] = []


def case(
    name: str,
    data: str | bytes,
    options: str = "",
    why: str | None = None,
    rows: list[str] | None = None,
    error: str | None = None,
) -> None:
    """Add a case; `rows` (columns first) or `error` where DuckDB's answer is not ours."""
    data = data.encode() if isinstance(data, str) else data
    CASES.append(Case(name, data, options, why, rows, error))


def quotes() -> None:
    case("quotes: doubled quotes", 'a,b\n1,"x ""q"" y"\n2,"""z"""\n')
    case("quotes: delimiter inside", 'a,b\n1,"x,y"\n2,",,,"\n')
    case("quotes: line feed inside", 'a,b\n1,"x\ny"\n2,"\n"\n')
    case("quotes: CRLF inside", 'a,b\r\n1,"x\r\ny"\r\n2,z\r\n')
    case("quotes: empty", 'a,b\n1,""\n2,x\n')
    case("quotes: every field", '"a","b"\n"1","2"\n"3","4"\n')
    case("quotes: numbers in quotes", 'a,b\n"1",x\n"2",y\n')
    case("quotes: only quotes", 'a,b\n1,""""\n2,""""""\n')
    case("quotes: quote in the middle of a field", 'a,b\n1,x"y\n2,z\n')
    case("quotes: inches", 'a,b\n1,5" pipe\n2,6" pipe\n')
    case("quotes: last field of the file without line end", 'a,b\n1,"x"')
    case("quotes: quoted last field spans lines at the end", 'a,b\n1,"x\ny"')
    case("quotes: single quotes", "a,b\n'1,2',3\n'4',5\n")
    case("quotes: single quotes given", "a,b\n'x''y',3\n'z',5\n", "quote=''''")
    case("quotes: apostrophes in text", "a,b\nit's,1\nthat's,2\n")
    case("quotes: none", 'a,b\n1,"x"\n2,"y"\n', "quote=''")
    case("quotes: none, and a lonely one", 'a,b\n1,"x\n2,y\n', "quote=''")
    case("quotes: backslash escapes", 'a,b\n1,"x\\"y"\n2,"z"\n', "escape='\\'")
    case("quotes: backslash escapes found out", 'a,b\n1,"x\\"y"\n2,"z,\\"w"\n')
    case("quotes: escaped escape", 'a,b\n1,"x\\\\"\n2,"y\\"z"\n', "escape='\\'")
    case("quotes: backslash is ordinary", 'a,b\n1,"C:\\temp\\new"\n2,x\n')
    case("quotes: path that ends in a backslash", 'a,b\n1,"C:\\temp\\"\n2,"x"\n')
    case("quotes: space before", 'a,b\n1, "x,y"\n2, "z"\n')
    case("quotes: space behind", 'a,b\n1,"x,y" \n2,"z"  \n')
    case("quotes: space behind, in front of a delimiter", 'a,b\n"x,y" ,1\n"z"  ,2\n')
    case("quotes: number in quotes with spaces", 'a,b\n1, "5" \n2,"6"\n')
    for text, name in [('"8"q,9', "text behind the closing quote"), ('x,"y"z', "text behind the last closing quote")]:
        case(
            f"quotes: {name}",
            f"a,b\n{text}\n1,2\n",
            error="text follows a closing quote",
            why="DuckDB reads the quotes as text; which was meant is unknown",
        )
        case(
            f"quotes: {name}, not strict",
            f"a,b\n{text}\n1,2\n",
            "strict_mode=false; quote='\"'; all_varchar=true",
            rows=["a VARCHAR, b VARCHAR", text.replace(",", " | "), "1 | 2"],
            why="DuckDB changes the text",
        )
    case(
        "quotes: not closed",
        'a,b\n1,2\n3,"4\n5,6\n',
        error="line 3: a quoted value is not closed",
        why="DuckDB reads lines of one column",
    )
    case(
        "quotes: not closed, not strict",
        'a,b\n1,2\n3,"4\n5,6\n',
        "strict_mode=false; quote='\"'; delim=','",
        rows=["a BIGINT, b VARCHAR", "1 | 2", '3 | "4', "5 | 6"],
        why="DuckDB fails",
    )
    case(
        "quotes: not closed, errors ignored",
        'a,b\n1,2\n3,"4\n5,6\n',
        "ignore_errors=true; quote='\"'; delim=','",
        rows=["a BIGINT, b BIGINT", "1 | 2", "5 | 6"],
        why="only the line with the quote is left out",
    )
    case("quotes: header with delimiter", '"a,1","b\n2"\n1,2\n')
    case("quotes: header with quotes", '"a ""x""",b\n1,2\n')
    case("quotes: null in quotes", 'a,b\n"",1\n,2\nx,3\n')
    case("quotes: null in quotes is text", 'a,b\n"",1\n,2\nx,3\n', "allow_quoted_nulls=false")
    case("quotes: nullstr in quotes", 'a,b\n"NA",1\nNA,2\nx,3\n', "nullstr='NA'")
    case("quotes: nullstr in quotes is text", 'a,b\n"NA",1\nNA,2\nx,3\n', "nullstr='NA'; allow_quoted_nulls=false")
    case("quotes: field of many lines", 'a,b\n1,"' + "l\n" * 50 + '"\n2,x\n')
    case("quotes: JSON in a field", 'a,b\n1,"{""k"": [1,2]}"\n2,"{}"\n')
    case("quotes: other quote character", "a,b\n1,~x,y~\n2,~z~\n", "quote='~'; delim=','")


def line_ends() -> None:
    for name, end in [("LF", "\n"), ("CRLF", "\r\n"), ("CR", "\r")]:
        case(f"line ends: {name}", end.join(["a,b", "1,2", "3,4", ""]))
        case(f"line ends: {name}, none at the end", end.join(["a,b", "1,2", "3,4"]))
        case(f"line ends: {name}, empty lines", end.join(["a,b", "", "1,2", "", "", "3,4", "", ""]))
        case(f"line ends: {name}, one column", end.join(["a", "x", "y", ""]))
        case(f"line ends: {name}, one column with empty lines", end.join(["a", "1", "", "2", ""]))
        case(f"line ends: {name}, quoted", end.join(['"a","b"', '"1","x"', '"3","y"', ""]))
        case(f"line ends: {name}, null at the end", end.join(["a,b", "1,", "3,4", ""]))
    case(
        "line ends: CRLF and LF",
        "a,b\r\n1,2\n3,4\r\n",
        rows=["a BIGINT, b BIGINT", "1 | 2", "3 | 4"],
        why="DuckDB fails unless strict_mode = false",
    )
    case("line ends: LF and a CR in a quoted field", 'a,b\n1,"x\ry"\n2,z\n')
    case("line ends: one line alone", "a,b,c")
    case("line ends: new_line given", "a,b\r\n1,2\r\n", "new_line='\\r\\n'")


def small() -> None:
    case("small: empty", "")
    case("small: a line end", "\n")
    case("small: two line ends", "\n\n", rows=["column0 VARCHAR"], why="nothing is in it; DuckDB reads a NULL")
    case("small: CRLF alone", "\r\n")
    case("small: one letter", "a")
    case("small: one letter and a line end", "a\n")
    case("small: one number", "1")
    case("small: one number and a line end", "1\n")
    case("small: a delimiter", ",")
    case("small: delimiters", "a,b\n,\n,\n")
    case("small: BOM alone", b"\xef\xbb\xbf", rows=["column0 VARCHAR"])
    case("small: header alone", "a,b\n")
    case("small: header of numbers alone", "1,2\n")
    case("small: header and one row", "a,b\n1,2\n")
    case("small: three lines", "name,age\nAnn,31\nBob,27\n")
    case("small: three lines of text", "x,y\nz,w\nu,v\n")
    case("small: a space", " \n")
    case("small: no header of numbers", "1,2\n3,4\n")
    case("small: header said", "1,2\n3,4\n", "header=true")
    case("small: no header said", "a,b\n1,2\n", "header=false")
    case("small: no header and text", "a,b\nc,d\n", "header=false")


def ragged() -> None:
    case(
        "ragged: short row",
        "a,b\n1,2\n3\n4,5\n",
        error="line 3: expected 2 fields",
        why="DuckDB reads lines of one column",
    )
    case("ragged: short row padded", "a,b\n1,2\n3\n4,5\n", "null_padding=true")
    case(
        "ragged: long row",
        "a,b\n1,2\n3,4,5\n6,7\n",
        error="line 3: expected 2 fields",
        why="DuckDB reads lines of one column or drops the header",
    )
    case(
        "ragged: long row ignored",
        "a,b\n1,2\n3,4,5\n6,7\n",
        "ignore_errors=true; delim=','",
        rows=["a BIGINT, b BIGINT", "1 | 2", "6 | 7"],
        why="DuckDB leaves out the lines of two fields",
    )
    case("ragged: short row ignored", "a,b\n1,2\n3\n6,7\n", "ignore_errors=true; delim=','")
    case(
        "ragged: header shorter than rows",
        "a,b\n1,2,3\n3,4,5\n",
        error="skip = 1",
        why="DuckDB drops the header without a word",
    )
    case(
        "ragged: header longer than rows",
        "a,b,c\n1,2\n3,4\n",
        error="expected 3 fields",
        why="DuckDB drops the header without a word",
    )
    case("ragged: header longer, padded", "a,b,c\n1,2\n3,4\n", "null_padding=true")
    case("ragged: rows end in a delimiter", "a,b\n1,2,\n3,4,\n")
    case("ragged: header and rows end in a delimiter", "a,b,\n1,2,\n3,4,\n")
    case("ragged: as dbgen writes", "1|x|\n2|y|\n")
    case(
        "ragged: text before the header",
        "made by a tool\non Monday\na,b\n1,2\n3,4\n",
        error="skip = 2",
        why="DuckDB drops the lines without a word",
    )
    case("ragged: text before the header skipped", "made by a tool\non Monday\na,b\n1,2\n3,4\n", "skip=2")
    case(
        "ragged: total below",
        "a,b\n1,2\n3,4\ntotal: 2 rows\n",
        error="line 4: expected 2 fields",
        why="DuckDB reads lines of one column",
    )
    case("ragged: many widths, padded", "a,b,c,d\n1\n1,2\n1,2,3\n1,2,3,4\n", "null_padding=true")
    case(
        "ragged: padded, quoted line end",
        'a,b,c\n1,"x\ny"\n2,z,3\n',
        "null_padding=true",
        rows=["a BIGINT, b VARCHAR, c BIGINT", "1 | x\\ny | NULL", "2 | z | 3"],
        why="DuckDB fails",
    )
    case(
        "ragged: row of one column with a delimiter",
        "a\n1\n2,3\n4\n",
        error="expected 1 field",
        why="DuckDB pads or drops",
    )
    case("ragged: skip more than there is", "a,b\n1,2\n", "skip=9", rows=["column0 VARCHAR"], why="DuckDB fails")
    case("ragged: skip the header", "a,b\n1,2\n3,4\n", "skip=1")
    case("ragged: skip lines with quotes", 'say "hi\n"\na,b\n1,2\n', "skip=2")
    case("ragged: skip empty lines", "\n\na,b\n1,2\n", "skip=2")


def comments() -> None:
    case("comments: given", "a,b\n1,x\n#no\n2,y\n", "comment='#'")
    case("comments: at the end of a line", "a,b\n1,x#no\n2,y #no\n", "comment='#'")
    case(
        "comments: in quotes",
        'a,b\n1,"x#y"\n#"\n2,z\n',
        "comment='#'",
        rows=["a BIGINT, b VARCHAR", "1 | x#y", "2 | z"],
        why="DuckDB begins a comment in the quotes",
    )
    case("comments: another character", "a,b\n1,x\n;no, no\n2,y\n", "comment=';'; delim=','")
    case("comments: first lines", "#one\n#two\na,b\n1,x\n2,y\n")
    case("comments: between", "a,b\n1,x\n#no\n2,y\n")
    case("comments: last line", "a,b\n1,x\n2,y\n#end\n")
    case(
        "comments: with a delimiter is data",
        "a,b\n1,x\n#2,y\n3,z\n",
        rows=["a VARCHAR, b VARCHAR", "1 | x", "#2 | y", "3 | z"],
        why="a row that begins with # is a row",
    )
    case("comments: # in values", "a,b\n1,#x\n2,#y\n")
    case("comments: header begins with #", "#a,b\n1,2\n3,4\n")
    case("comments: only comments", "#a\n#b\n", "comment='#'", rows=["column0 VARCHAR"], why="DuckDB fails")
    case("comments: none", "a,b\n#1,x\n2,y\n", "comment=''")


def delimiters() -> None:
    for name, mark in [("semicolon", ";"), ("bar", "|"), ("tab", "\t"), ("comma", ",")]:
        case(f"delimiters: {name}", mark.join("ab") + "\n" + mark.join("12") + "\n" + mark.join("34") + "\n")
        case(f"delimiters: {name}, quoted", f'a{mark}b\n"x{mark}y"{mark}2\n"z"{mark}4\n')
    case(
        "delimiters: tilde",
        "a~b\n1~2\n3~4\n",
        rows=["a BIGINT, b BIGINT", "1 | 2", "3 | 4"],
        why="DuckDB does not try it",
    )
    case("delimiters: given colon", "a:b\n1:2\n3:4\n", "delim=':'")
    case("delimiters: given space", "a b\n1 2\n3 4\n", "delim=' '")
    case("delimiters: given tab as \\t", "a\tb\n1\t2\n", "sep='\\t'")
    case("delimiters: two characters", "a||b\n1||2\n3||4\n", "delim='||'")
    case("delimiters: two characters, one inside", "a||b\n1|x||2\n3||4\n", "delim='||'")
    case("delimiters: two characters, quoted", 'a||b\n"1||x"||2\n3||4\n', "delim='||'")
    case("delimiters: three characters", "a<->b\n1<->2\n", "delim='<->'")
    case("delimiters: not an ASCII character", "a§b\n1§2\n", "delim='§'")
    case(
        "delimiters: comma in text of a semicolon file",
        "a;b\n1,5;x\n2,5;y,z\n",
        rows=["a VARCHAR, b VARCHAR", "1,5 | x", "2,5 | y,z"],
        why="DuckDB drops the header and the first row",
    )
    case("delimiters: one column", "a\n1\n2\n")
    case("delimiters: one column of sentences", "text\nhello world\ngood bye\n")
    case("delimiters: wide", ",".join(f"c{i}" for i in range(60)) + "\n" + ",".join(str(i) for i in range(60)) + "\n")


def types() -> None:
    for value in [
        "7", "-7", "007", "+7", " 7 ", "7.0", "7.", ".7", "1e5", "1E-3", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "1.7976931348623157e308", "nan", "true", "FALSE", "t", "F", "yes", "No", "y",
        "2024-02-29", "2023-02-29", "2024-1-2", "2024/12/31", "31/12/2024", "12/31/2024", "01/02/2024", "1/2/2024",
        "31.12.2024", "31-12-2024", "24/12/31", "20241231", "12:30", "12:30:15", "12:30:15.123456", "1:02",
        "2024-12-31 10:11:12", "2024-12-31T10:11:12", "2024-12-31 10:11", "2024-12-31 10:11:12.5",
        "31/12/2024 10:11:12", "12/31/2024 10:11:12", "12/31/2024 10:11:12 PM", "2024/12/31 10:11:12",
        "1 day", "NULL", "None", "-", "x", "1,5", "$5", "5%", "1 000", "[1]", "{}",
        "550e8400-e29b-41d4-a716-446655440000",
    ]:  # fmt: skip
        case(f"types: {value}", f"a|b\n1|{value}\n", "delim='|'")
    case(
        "types: 0x10",
        "a|b\n1|0x10\n",
        "delim='|'",
        rows=["a BIGINT, b VARCHAR", "1 | 0x10"],
        why="DuckDB reads 16; addresses and hashes are no numbers",
    )
    case("types: 1e400", "a|b\n1|1e400\n", "delim='|'")
    case("types: integers and a fraction", "a,b\n1,x\n2.5,y\n")
    case("types: integers and a text", "a,b\n1,x\nz,y\n2,w\n")
    case(
        "types: dates and moments",
        "a,b\n2024-01-01,1\n2024-01-02 10:00:00,2\n",
        rows=["a TIMESTAMP, b BIGINT", "2024-01-01 00:00:00 | 1", "2024-01-02 10:00:00 | 2"],
        why="a date is its midnight",
    )
    case("types: dates and text", "a,b\n2024-01-01,1\nsoon,2\n")
    case("types: days before months", "a,b\n01/02/2024,1\n31/12/2024,2\n")
    case("types: months before days", "a,b\n01/02/2024,1\n12/31/2024,2\n")
    case(
        "types: no date fits all",
        "a,b\n31/12/2024,1\n12/31/2024,2\n",
        rows=["a VARCHAR, b BIGINT", "31/12/2024 | 1", "12/31/2024 | 2"],
        why="DuckDB fails",
    )
    case("types: booleans and numbers", "a,b\ntrue,1\n0,2\n")
    case("types: nulls and numbers", "a,b\n,1\n5,\n")
    case("types: nulls alone", "a,b\n1,\n2,\n")
    case("types: zip codes", "zip,n\n01234,1\n98765,2\n")
    case("types: all_varchar", "a,b\n1,2024-01-01\n", "all_varchar=true")
    case("types: by name", "a,b\n1,2\n", "types={'b': 'DECIMAL(9,2)'}")
    case("types: by position", "a,b\n1,2\n", "types=['SMALLINT']")
    case("types: nested", 'a,b\n1,"[1,2]"\n', "types={'b': 'INTEGER[]'}")
    case("types: structs", "a|b\n1|{'x': 1}\n", "types={'b': 'STRUCT(x INTEGER)'}; delim='|'; quote=''")
    case("types: columns", "1|x\n2|y\n", "columns={'n': 'TINYINT', 's': 'VARCHAR'}; delim='|'")
    case("types: columns with a header", "n,s\n1,x\n", "columns={'n': 'TINYINT', 's': 'VARCHAR'}")
    case("types: names", "1,2\n3,4\n", "names=['x', 'y']")
    case("types: fewer names", "a,b\n1,2\n", "names=['x']")
    case("types: candidates", "a,b\n1,2.5\n", "auto_type_candidates=['INTEGER', 'VARCHAR']")
    case("types: decimal candidates", "a,b\n1,2.5\n", "auto_type_candidates=['DECIMAL(10,3)', 'VARCHAR']")
    case("types: date format", "a,b\n1,2024.31.12\n", "dateformat='%Y.%d.%m'")
    case("types: month names", "a,b\n1,31-Dec-2024\n", "dateformat='%d-%b-%Y'")
    case("types: timestamp format", "a,b\n1,31.12.2024 23h59\n", "timestampformat='%d.%m.%YT%Hh%M'".replace("T", " "))
    case("types: decimal comma", "a;b\n1;1,5\n2;-0,25\n", "decimal_separator=','")
    case("types: thousands", 'a,b\n1,"1,234.5"\n2,"2,000"\n', "thousands=','")
    case("types: thousands and comma", "a;b\n1;1.234,5\n2;7\n", "decimal_separator=','; thousands='.'")
    case("types: decimals with a comma", "a;b\n1;1,5\n", "decimal_separator=','; types={'b': 'DECIMAL(9,2)'}")
    case("types: too large", "a,b\n1,300\n", "types={'b': 'TINYINT'}", error="'300' is no TINYINT")
    case("types: not a number", "a,b\n1,x\n", "types={'b': 'INTEGER'}", error="line 2: column \"b\": 'x' is no INTEGER")
    case("types: not a number, ignored", "a,b\n1,x\n2,3\n", "types={'b': 'INTEGER'}; ignore_errors=true")
    case("types: several nullstr", "a,b\nNA,-\n1,x\n", "nullstr=['NA', '-']")
    case("types: force_not_null", "a,b\n,1\nx,2\n", "force_not_null=['a']")
    case("types: unknown column", "a,b\n1,2\n", "types={'z': 'INTEGER'}", error="it has a, b")


def encodings() -> None:
    text = "a,b\n1,é😀\n2,ü\n"
    case("encodings: UTF-8", text)
    case("encodings: UTF-8 with BOM", b"\xef\xbb\xbf" + text.encode())
    case(
        "encodings: BOM and quoted header",
        b'\xef\xbb\xbf"a","b"\n1,2\n',
        rows=["a BIGINT, b BIGINT", "1 | 2"],
        why="DuckDB leaves the quotes in the name",
    )
    case("encodings: BOM and skip", b"\xef\xbb\xbfjunk\na,b\n1,2\n", "skip=1")
    case(
        "encodings: UTF-16 with BOM",
        text.encode("utf-16"),
        rows=["a BIGINT, b VARCHAR", "1 | é😀", "2 | ü"],
        why="DuckDB has to be told",
    )
    case(
        "encodings: UTF-16 said",
        text.encode("utf-16"),
        "encoding='utf-16'",
        rows=["a BIGINT, b VARCHAR", "1 | é😀", "2 | ü"],
        why="DuckDB reads no characters of four bytes",
    )
    case(
        "encodings: UTF-16 without BOM",
        text.encode("utf-16-le"),
        "encoding='utf-16'",
        rows=["a BIGINT, b VARCHAR", "1 | é😀", "2 | ü"],
        why="DuckDB reads no characters of four bytes",
    )
    case(
        "encodings: UTF-16, big endian",
        b"\xfe\xff" + text.encode("utf-16-be"),
        rows=["a BIGINT, b VARCHAR", "1 | é😀", "2 | ü"],
        why="DuckDB has to be told",
    )
    case("encodings: UTF-16, odd length", text.encode("utf-16") + b"x", "encoding='utf-16'", error="not UTF-16")
    case("encodings: Latin-1", "a,b\n1,é\n2,ü\n".encode("latin-1"), "encoding='latin-1'")
    case("encodings: Latin-1 read as UTF-8", "a,b\n1,é\n2,ü\n".encode("latin-1"), error='line 2: column "b"')
    case("encodings: Latin-1 in a header", "größe,b\n1,2\n".encode("latin-1"), "encoding='latin-1'")
    case("encodings: Windows-1252", b"a,b\n1,\x80\n", "encoding='windows-1252'", rows=["a BIGINT, b VARCHAR", "1 | €"])
    case("encodings: broken UTF-8 ignored", b"a,b\n1,\xff\n2,x\n", "ignore_errors=true")
    case("encodings: unknown", text, "encoding='klingon'", error="encoding")
    case("encodings: NUL", b"a,b\n1,\x00\n2,x\x00y\n")
    case("encodings: characters of two to four bytes", "a,b\n" + "é€😀,日本\n" * 3)
    case("encodings: names in other scripts", "имя,年齢\nx,1\n")
    case("encodings: no-break space", "a,b\n1,\u00a05\n")


def names() -> None:
    case("names: repeated", "a,a,A\n1,2,3\n")
    case(
        "names: repeated with a suffix there",
        "a,a_1,a\n1,2,3\n",
        rows=["a BIGINT, a_1 BIGINT, a_2 BIGINT", "1 | 2 | 3"],
        why="DuckDB calls the last one a_1_1",
    )
    case("names: empty", "a,,b\n1,2,3\n")
    case("names: spaces around", " a , b\n1,2\n")
    case("names: normalised", "A b,1x,select,é,A_b\n1,2,3,4,5\n", "normalize_names=true")
    case("names: long", "n" * 300 + ",b\n1,2\n")
    case("names: number and text", "2023,name\n1,x\n2,y\n")
    case("names: years", "2022,2023\n1,2\n3,4\n")


def large() -> None:
    case("large: field of 100 kB", "a,b\n1," + "x" * 100_000 + "\n2,y\n")
    case("large: quoted field of 100 kB", 'a,b\n1,"' + 'x""' * 30_000 + '"\n2,y\n')
    case("large: many quoted line ends", 'a,b\n1,"' + "x\n" * 20_000 + '"\n2,y\n')
    case(
        "large: line over the limit",
        "a,b\n1," + "x" * 50 + "\n2,y\n",
        "max_line_size=20",
        error="more than max_line_size",
    )
    case(
        "large: line over the limit ignored",
        "a,b\n1," + "x" * 50 + "\n2,y\n",
        "max_line_size=20; ignore_errors=true",
        rows=["a BIGINT, b VARCHAR", "2 | y"],
    )
    case("large: more rows than a vector holds", "i\n" + "".join(f"{i}\n" for i in range(2100)))
    case("large: quoted rows", "i,t\n" + "".join(f'{i},"t\n{i}"\n' for i in range(300)))
    case(
        "large: text behind the sample",
        "a\n" + "1\n" * 30 + "x\n",
        "sample_size=10",
        error="'x' is no BIGINT",
        why="DuckDB's sample has at least 2048 lines",
    )


SPECIAL = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def repeated(text: str, at: int) -> tuple[str, int]:
    """What is repeated from `at` on over more than 200 characters, and how often; otherwise one character, once."""
    for width in (1, 2, 3):
        unit = text[at : at + width]
        count = 1
        while len(unit) == width and text.startswith(unit, at + count * width):
            count += 1
        if count * width > 200:
            return unit, count
    return text[at], 1


def escaped(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if character in SPECIAL:
        return SPECIAL[character]
    if code < 32 or code in (127, 0xFEFF, 0x85, 0x2028, 0x2029):
        return "".join(f"\\x{byte:02x}" for byte in character.encode())
    return character


def escape(data: bytes) -> str:
    """Bytes as they stand behind ``bytes:``."""
    out, at = [], 0
    text = data.decode("utf-8", "surrogateescape")
    while at < len(text):
        unit, count = repeated(text, at)
        if count > 1:
            out.append(f"\\{{{count}:{''.join(SPECIAL.get(c, c) for c in unit)}}}")
        else:
            out.append(escaped(unit))
        at += len(unit) * count
    return "".join(out)


def shown(value: str | None) -> str:
    """A value as it stands in a row."""
    if value is None:
        return "NULL"
    if len(value) > 1000:
        return escape(value.encode()).replace("|", "\\|")
    special = SPECIAL | {"|": "\\|", "\x7f": "\\x7f"}
    return "".join(special.get(c, f"\\x{ord(c):02x}" if ord(c) < 32 else c) for c in value)


def duckdb_rows(path: Path, options: str) -> list[str]:
    con = duckdb.connect()
    con.execute("SET threads = 1")
    given = "".join(f", {option}" for option in options.split("; ") if option)
    con.execute(f"CREATE TABLE t AS FROM read_csv('{path}'{given})")
    columns = con.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 't'").fetchall()
    rows = con.execute("SELECT CAST(COLUMNS(*) AS VARCHAR) FROM t").fetchall()
    types = ", ".join(f"{shown(name)} {ty}" for name, ty in columns)
    return [types] + [" | ".join(shown(value) for value in row) for row in rows]


def main() -> None:
    for family in (quotes, line_ends, small, ragged, comments, delimiters, types, encodings, names, large):
        family()
    out = [
        "Nasty CSV files and what they are read as; made by generate.py, read by crates/inlay-formats/tests/corpus.rs.",
        "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for each in CASES:
            out += each.lines(Path(folder) / "t.csv")
    target = Path(__file__).with_name("cases.txt")
    target.write_text("\n".join(out), newline="\n")
    print(len(CASES), "cases,", target.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
