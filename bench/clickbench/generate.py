"""The table `hits` of ClickBench, generated: the same 105 columns, and distributions like those of the original.

The original is a month of page views of a web analytics service. What its queries feel is kept: rows lie in the order
of site, day and user; sites, users, pages, titles, referrers and phrases follow Zipf's law; one view in eight comes
from a search and has a phrase, one in eighteen is from a phone, one in 160 from an advertisement, one in 6,000 is of a
page with `google` in its address; titles and phrases are mostly Cyrillic; most other columns are nearly constant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SCHEMA = """
watchid:i8 javaenable:i2 title goodevent:i2 eventtime:time eventdate:date counterid:i4 clientip:i4 regionid:i4
userid:i8 counterclass:i2 os:i2 useragent:i2 url referer isrefresh:i2 referercategoryid:i2 refererregionid:i4
urlcategoryid:i2 urlregionid:i4 resolutionwidth:i2 resolutionheight:i2 resolutiondepth:i2 flashmajor:i2 flashminor:i2
flashminor2 netmajor:i2 netminor:i2 useragentmajor:i2 useragentminor cookieenable:i2 javascriptenable:i2 ismobile:i2
mobilephone:i2 mobilephonemodel params ipnetworkid:i4 traficsourceid:i2 searchengineid:i2 searchphrase advengineid:i2
isartifical:i2 windowclientwidth:i2 windowclientheight:i2 clienttimezone:i2 clienteventtime:time
silverlightversion1:i2 silverlightversion2:i2 silverlightversion3:i4 silverlightversion4:i2 pagecharset codeversion:i4
islink:i2 isdownload:i2 isnotbounce:i2 funiqid:i8 originalurl hid:i4 isoldcounter:i2 isevent:i2 isparameter:i2
dontcounthits:i2 withhash:i2 hitcolor localeventtime:time age:i2 sex:i2 income:i2 interests:i2 robotness:i2
remoteip:i4 windowname:i4 openername:i4 historylength:i2 browserlanguage browsercountry socialnetwork socialaction
httperror:i2 sendtiming:i4 dnstiming:i4 connecttiming:i4 responsestarttiming:i4 responseendtiming:i4 fetchtiming:i4
socialsourcenetworkid:i2 socialsourcepage paramprice:i8 paramorderid paramcurrency paramcurrencyid:i2
openstatservicename openstatcampaignid openstatadid openstatsourceid utmsource utmmedium utmcampaign utmcontent
utmterm fromtag hasgclid:i2 refererhash:i8 urlhash:i8 clid:i4
"""
COLUMNS = {name: kind for name, _, kind in (column.partition(":") for column in SCHEMA.split())}
SITES = 6_500
SPECIAL_SITE, SPECIAL_SHARE = 62, 0.015
SPECIAL_USER = 435090932899640449
SPECIAL_URL_HASH, SPECIAL_REFERER_HASH = 2868770270353813622, 3594120000172545465
SYLLABLES = "ка но ти ра ве ло ми со пре на до га ску шо зе ли ста при вор тен".split()  # noqa: RUF001, SIM905
LATIN = "ka no ti ra ve lo mi so pre na do ga sku sho ze li sta pri vor ten".split()  # noqa: SIM905
PHONES = [f"{maker} {number}" for maker in ("iPhone", "iPad", "Nokia", "HTC", "Samsung") for number in range(30)]
FIRST_SECOND, DAYS = 1372723200, 30


def hits(rows: int) -> Iterable[tuple[str, Iterable[pa.Table]]]:
    """The table of so many rows."""
    yield "hits", [table(rows)]


def ranks(random: np.random.Generator, size: int, rows: int) -> Any:
    """Numbers below `size` that follow Zipf's law."""
    return np.minimum(size ** random.random(rows), size - 1).astype("i8")


def scrambled(numbers: Any, seed: int) -> Any:
    """64-bit hashes of numbers (SplitMix64): the same number has the same hash."""
    with np.errstate(over="ignore"):
        bits = numbers.astype("u8") + np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return (bits ^ (bits >> np.uint64(31))).astype("i8")


def vocabulary(syllables: list[str], size: int, seed: int) -> list[str]:
    """Words of two to five syllables."""
    random = np.random.default_rng(seed)
    drawn, lengths = random.integers(0, len(syllables), (size, 5)).tolist(), random.integers(2, 6, size).tolist()
    return ["".join(syllables[place] for place in row[:length]) for row, length in zip(drawn, lengths, strict=True)]


def texts_of(keys: Any, make: Callable[[Any], Any]) -> Any:
    """A text per key, each distinct one made once, as an Arrow column."""
    distinct, places = np.unique(keys, return_inverse=True)
    return make(distinct).take(pa.array(places))


def joined(parts: list[Any], separator: str = "") -> Any:
    """Columns of texts, value by value."""
    return pc.binary_join_element_wise(*parts, separator)


def chosen(words: list[str], keys: Any, seed: int) -> Any:
    """A word for each key, frequent ones first."""
    spread = (scrambled(keys, seed).astype("u8") >> np.uint64(11)).astype("f8") / 2**53
    return pa.array(words).take(pa.array(np.minimum(len(words) ** spread, len(words) - 1).astype("i4")))


def sentence(words: list[str], keys: Any, seed: int, lengths: tuple[int, int]) -> Any:
    """Some words for each key."""
    low, high = lengths
    count = low + scrambled(keys, seed).astype("u8") % np.uint64(high - low + 1)
    parts = [
        pc.if_else(pa.array(count > place), chosen(words, keys, seed + 1 + place), pa.scalar(None, pa.string()))
        for place in range(high)
    ]
    options = pc.JoinOptions(null_handling="skip")
    return pc.binary_join_element_wise(*parts, " ", options=options)


def table(rows: int) -> pa.Table:
    """All columns."""
    random = np.random.default_rng(rows)
    site = ranks(random, SITES, rows) + 100
    site[random.random(rows) < SPECIAL_SHARE] = SPECIAL_SITE
    user = ranks(random, max(rows // 2, 2), rows)
    second = FIRST_SECOND + random.integers(0, DAYS, rows) * 86_400 + (random.beta(3, 2, rows) * 86_400).astype("i8")
    order = np.lexsort((second, user, second // 86_400, site))
    site, user, second = site[order], user[order], second[order]
    columns = pages(random, site, user, rows) | visit(random, user, rows)
    columns |= {
        "counterid": site,
        "eventtime": second * 1_000_000,
        "eventdate": second // 86_400,
        "clienteventtime": (second + random.integers(-3600, 3600, rows)) * 1_000_000,
        "localeventtime": (second + 14_400) * 1_000_000,
    }
    return pa.table({name: column(kind, columns.get(name), rows) for name, kind in COLUMNS.items()})


def column(kind: str, values: Any, rows: int) -> Any:
    """Values as an Arrow column of a kind; zero or empty where there are none."""
    if kind == "time":
        return pa.array(values).cast(pa.timestamp("us"))
    if kind == "date":
        return pa.array(values.astype("i4")).cast(pa.date32())
    if kind:
        return pa.array(np.zeros(rows, kind) if values is None else values.astype(kind))
    return values if values is not None else pa.array([""]).take(pa.array(np.zeros(rows, "i4")))


def pages(random: np.random.Generator, site: Any, user: Any, rows: int) -> dict[str, Any]:
    """Addresses, titles, referrers, phrases, and hashes of them."""
    latin, cyrillic = vocabulary(LATIN, 3_000, 1), vocabulary(SYLLABLES, 20_000, 2)
    page = site * 10**9 + ranks(random, max(rows // 40, 2), rows)
    back = (ranks(random, SITES, rows) + 100) * 10**9 + ranks(random, max(rows // 20, 2), rows)
    phrase = np.where(random.random(rows) < 0.13, ranks(random, max(rows // 6, 2), rows) + 1, 0)
    phrase = np.where((phrase != 0) & (random.random(rows) < 0.3), 1 + scrambled(user, 9) % 1000, phrase)
    direct, empty = random.random(rows) < 0.2, random.random(rows) < 0.15
    rare = random.random(rows)

    def address(keys: Any) -> Any:
        host = keys // 10**9
        google = scrambled(keys, 20).astype("u8") % np.uint64(6_000) == 0
        hosts = pc.if_else(pa.array(google), "www.google.", joined([chosen(latin, host, 21), "."]))
        www = pc.if_else(pa.array(host % 3 == 0), "www.", "")
        folders = sentence(latin, keys // 50, 22, (1, 3))
        number = pa.array((keys % 10**9).astype("i8")).cast(pa.string())
        ending = pc.if_else(
            pa.array(keys % 4 == 0), ".html", pc.if_else(pa.array(keys % 4 == 1), "?page=2&sort=price", "/")
        )
        return joined(["http://", www, hosts, "ru/", pc.replace_substring(folders, " ", "/"), "/", number, ending])

    def title(keys: Any) -> Any:
        google = pa.array(scrambled(keys, 30).astype("u8") % np.uint64(3_000) == 0)
        return joined([sentence(cyrillic, keys, 31, (2, 9)), pc.if_else(google, " Google", " | Яндекс")])

    def phrases(keys: Any) -> Any:
        return pc.if_else(pa.array(keys == 0), "", sentence(cyrillic, keys, 50, (1, 5)))

    url, referer = texts_of(page, address), texts_of(back, address)
    # The addresses that two queries ask for, on the site that they ask for.
    url_hash, referer_hash = scrambled(page, 60), scrambled(back, 61)
    asked = site == SPECIAL_SITE
    url_hash[asked & (rare < 0.1)] = SPECIAL_URL_HASH
    referer_hash[asked & (rare > 0.8)] = SPECIAL_REFERER_HASH
    return {
        "url": pc.if_else(pa.array(rare > 0.9995), "", url),
        "referer": pc.if_else(pa.array(direct), "", referer),
        "title": pc.if_else(pa.array(empty), "", texts_of(page // 2, title)),
        "originalurl": pc.if_else(pa.array(rare < 0.05), url, ""),
        "searchphrase": texts_of(phrase, phrases),
        "searchengineid": np.where(phrase > 0, np.minimum(2 + ranks(random, 60, rows), 60), 0),
        "traficsourceid": np.where(phrase > 0, 2, random.choice([-1, 0, 1, 6], rows, p=[0.5, 0.2, 0.25, 0.05])),
        "urlhash": url_hash,
        "refererhash": referer_hash,
        "urlcategoryid": page % 90 * (page % 3 == 0),
        "urlregionid": page % 200 * (page % 5 == 0),
        "referercategoryid": back % 90 * (back % 3 == 0),
        "refererregionid": back % 200 * (back % 5 == 0),
    }


def visit(random: np.random.Generator, user: Any, rows: int) -> dict[str, Any]:
    """Who came, from where, and with what: mostly a matter of the user."""

    def flag(share: float) -> Any:
        return (random.random(rows) < share).astype("i2")

    def of_user(seed: int, size: int) -> Any:
        return (scrambled(user, seed).astype("u8") % np.uint64(size)).astype("i8")

    def zipf_of_user(seed: int, size: int) -> Any:
        return np.minimum(size ** (of_user(seed, 2**30) / 2**30), size - 1).astype("i8")

    def few(words: list[str], share: float) -> Any:
        places = np.where(random.random(rows) < share, random.integers(1, len(words), rows), 0)
        return pa.array(words).take(pa.array(places))

    widths = np.array([1366, 1920, 1280, 1024, 1600, 1440, 1680, 1360, 320, 768, 800, 1152])
    heights = np.array([768, 1080, 1024, 768, 900, 900, 1050, 768, 480, 1024, 600, 864])
    screen = zipf_of_user(3, len(widths))
    phone = of_user(4, 1000) < 56
    ids = scrambled(user, 5)
    ids[user == 1000] = SPECIAL_USER
    watch = random.integers(4 * 10**18, 9 * 10**18, rows)
    watch[1:][random.random(rows - 1) < 1e-5] = watch[0]
    advertised = random.random(rows) < 0.0063
    words = {"": 0, "UTF-8": 1, "windows-1251": 2}
    return {
        "watchid": watch,
        "userid": ids,
        "clientip": scrambled(user + of_user(17, 3) * 10**9, 6) >> np.int64(33),
        "remoteip": scrambled(user, 7) >> np.int64(33),
        "ipnetworkid": of_user(8, 4_000_000),
        "funiqid": scrambled(user, 12),
        "regionid": np.where(of_user(10, 100) < 18, 229, zipf_of_user(11, 9_000)),
        "resolutionwidth": widths[screen],
        "resolutionheight": heights[screen],
        "resolutiondepth": np.where(of_user(13, 10) < 8, 24, 32),
        "windowclientwidth": np.maximum(widths[screen] - random.integers(0, 200, rows), 0),
        "windowclientheight": np.maximum(heights[screen] - 80 - random.integers(0, 200, rows), 0),
        "os": zipf_of_user(14, 90) + 1,
        "useragent": zipf_of_user(15, 80) + 1,
        "useragentmajor": of_user(16, 30),
        "useragentminor": pa.array(["", "0", "1", "01", "D\u0420", "2"]).take(pa.array(of_user(18, 6))),
        "flashmajor": np.where(of_user(19, 5) < 4, 11, 0),
        "flashminor": of_user(23, 10),
        "flashminor2": pa.array(["", "202.235", "700.224", "0"]).take(pa.array(of_user(24, 4))),
        "ismobile": phone.astype("i2"),
        "mobilephone": np.where(phone, of_user(25, 8) + 1, 0),
        "mobilephonemodel": pa.array(["", *PHONES]).take(pa.array(np.where(phone, zipf_of_user(26, 150) + 1, 0))),
        "advengineid": np.where(advertised, np.array([2, 27, 13, 45, 44, 3, 62, 52])[random.integers(0, 8, rows)], 0),
        "age": of_user(27, 60),
        "sex": of_user(28, 3),
        "income": of_user(29, 4),
        "interests": of_user(32, 16_000),
        "robotness": of_user(33, 4),
        "clienttimezone": np.array([-240, -180, -120, 0, 60])[zipf_of_user(34, 5)],
        "browserlanguage": pa.array(["ru", "en", "uk", "be", "tr"]).take(pa.array(zipf_of_user(35, 5))),
        "browsercountry": pa.array(["RU", "UA", "BY", "KZ", "TR"]).take(pa.array(zipf_of_user(36, 5))),
        "pagecharset": pa.array(list(words)).take(pa.array(random.choice(3, rows, p=[0.1, 0.8, 0.1]))),
        "hitcolor": pa.array(["D", "5", "g", "S"]).take(pa.array(random.integers(0, 4, rows))),
        "params": few(["", '{"price":"10"}', '{"order":"1"}'], 0.02),
        "socialnetwork": few(["", "vk", "facebook", "twitter"], 0.001),
        "socialaction": few(["", "like", "share"], 0.001),
        "utmsource": few(["", "direct", "market", "news", "mail"], 0.02),
        "utmmedium": few(["", "cpc", "banner", "email"], 0.02),
        "utmcampaign": few(["", *map(str, range(200))], 0.02),
        "fromtag": few(["", "toolbar", "top"], 0.01),
        "openstatservicename": few(["", "direct.yandex.ru", "begun"], 0.01),
        "paramcurrency": few(["NH\u001c", "RUR", "USD"], 0.01),
        "paramprice": np.where(random.random(rows) < 0.01, random.integers(1, 10**6, rows), 0),
        "isrefresh": flag(0.14),
        "islink": flag(0.1),
        "isdownload": flag(0.01),
        "isnotbounce": flag(0.3),
        "dontcounthits": flag(0.06),
        "isevent": flag(0.15),
        "isparameter": flag(0.02),
        "isartifical": flag(0.07),
        "withhash": flag(0.03),
        "javaenable": flag(0.8),
        "goodevent": np.ones(rows, "i2"),
        "cookieenable": flag(0.98),
        "javascriptenable": flag(0.97),
        "codeversion": np.full(rows, 1601) + random.integers(0, 80, rows),
        "hid": random.integers(0, 2**30, rows),
        "windowname": random.integers(-1, 2**16, rows),
        "openername": random.integers(-1, 2**16, rows),
        "historylength": ranks(random, 50, rows),
        "sendtiming": ranks(random, 30_000, rows) * flag(0.5),
        "dnstiming": ranks(random, 1_000, rows) * flag(0.5),
        "connecttiming": ranks(random, 3_000, rows) * flag(0.5),
        "responsestarttiming": ranks(random, 10_000, rows),
        "responseendtiming": ranks(random, 20_000, rows),
        "fetchtiming": ranks(random, 20_000, rows),
    }
