"""The 43 queries of ClickBench, Q0 to Q42, with names of columns in lower case: not every engine folds case alike.

The least number of views of a site or host follows the number of rows (100,000 of 100 million); Q41 has a smaller
OFFSET than the original's 10,000.
Answers are compared by what they are ordered by and by all rows that do not tie with the last one.
"""

from __future__ import annotations

from bench.sql import Query

SITE_62 = "counterid = 62 AND eventdate >= DATE '2013-07-01' AND eventdate <= DATE '2013-07-31' AND isrefresh = 0"
HOST = r"^https?://(?:www\.)?([^/]+)/.*$"


def top(columns: str, value: str, where: str = "", limit: str = "LIMIT 10") -> str:
    """The groups with the largest value, which is called `c`."""
    condition = f" WHERE {where}" if where else ""
    return f"SELECT {columns}, {value} AS c FROM hits{condition} GROUP BY {columns} ORDER BY c DESC {limit}"


def by_host(rows: int, function: str) -> str:
    """Referers by host; the function that takes the host out is the engine's."""
    return (
        f"SELECT {function} AS k, avg(length(referer)) AS l, count(*) AS c, min(referer) AS m FROM hits "
        f"WHERE referer <> '' GROUP BY k HAVING count(*) > {rows // 1000} ORDER BY l DESC LIMIT 25"
    )


def queries(rows: int) -> dict[str, Query]:
    """The queries by name, for a table of so many rows."""
    widths = ", ".join(f"sum(resolutionwidth + {number}) AS s{number}" for number in range(90))
    users, views = "count(DISTINCT userid)", "count(*)"
    found = "searchphrase <> ''"
    stats = "count(*) AS c, sum(isrefresh) AS r, avg(resolutionwidth) AS w"
    offset = "LIMIT 10 OFFSET 1000"
    minutes = "date_trunc('minute', eventtime)"
    source = "CASE WHEN searchengineid = 0 AND advengineid = 0 THEN referer ELSE '' END"
    texts = [
        Query("SELECT count(*) AS c FROM hits"),
        Query("SELECT count(*) AS c FROM hits WHERE advengineid <> 0"),
        Query("SELECT sum(advengineid) AS s, count(*) AS c, avg(resolutionwidth) AS w FROM hits"),
        Query("SELECT avg(userid) AS a FROM hits"),
        Query("SELECT count(DISTINCT userid) AS c FROM hits"),
        Query("SELECT count(DISTINCT searchphrase) AS c FROM hits"),
        Query("SELECT min(eventdate) AS a, max(eventdate) AS b FROM hits"),
        Query(top("advengineid", views, "advengineid <> 0", "")),
        Query(top("regionid", users), keys=(1,)),
        Query(
            "SELECT regionid, sum(advengineid) AS s, count(*) AS c, avg(resolutionwidth) AS w, "
            "count(DISTINCT userid) AS u FROM hits GROUP BY regionid ORDER BY c DESC LIMIT 10",
            keys=(2,),
        ),
        Query(top("mobilephonemodel", users, "mobilephonemodel <> ''"), keys=(1,)),
        Query(top("mobilephone, mobilephonemodel", users, "mobilephonemodel <> ''"), keys=(2,)),
        Query(top("searchphrase", views, found), keys=(1,)),
        Query(top("searchphrase", users, found), keys=(1,)),
        Query(top("searchengineid, searchphrase", views, found), keys=(2,)),
        Query(top("userid", views), keys=(1,)),
        Query(top("userid, searchphrase", views), keys=(2,)),
        Query("SELECT userid, searchphrase, count(*) AS c FROM hits GROUP BY userid, searchphrase LIMIT 10", keys=()),
        Query(
            "SELECT userid, extract(minute FROM eventtime) AS m, searchphrase, count(*) AS c FROM hits "
            "GROUP BY userid, m, searchphrase ORDER BY c DESC LIMIT 10",
            keys=(3,),
            dialects={
                "hyper": "SELECT userid, extract(minute FROM eventtime) AS m, searchphrase, count(*) AS c FROM hits "
                "GROUP BY userid, extract(minute FROM eventtime), searchphrase ORDER BY c DESC LIMIT 10"
            },
        ),
        Query("SELECT userid FROM hits WHERE userid = 435090932899640449"),
        Query("SELECT count(*) AS c FROM hits WHERE url LIKE '%google%'"),
        Query(
            "SELECT searchphrase, min(url) AS u, count(*) AS c FROM hits WHERE url LIKE '%google%' AND "
            "searchphrase <> '' GROUP BY searchphrase ORDER BY c DESC LIMIT 10",
            keys=(2,),
        ),
        Query(
            "SELECT searchphrase, min(url) AS m, min(title) AS t, count(*) AS c, count(DISTINCT userid) AS u FROM hits "
            "WHERE title LIKE '%Google%' AND url NOT LIKE '%.google.%' AND searchphrase <> '' "
            "GROUP BY searchphrase ORDER BY c DESC LIMIT 10",
            keys=(3,),
        ),
        Query(
            "SELECT * FROM hits WHERE url LIKE '%google%' ORDER BY eventtime LIMIT 10",
            check="SELECT eventtime, url, watchid FROM hits WHERE url LIKE '%google%' ORDER BY eventtime LIMIT 10",
            keys=(0,),
        ),
        Query(
            f"SELECT searchphrase FROM hits WHERE {found} ORDER BY eventtime LIMIT 10",
            check=f"SELECT eventtime, searchphrase FROM hits WHERE {found} ORDER BY eventtime LIMIT 10",
            keys=(0,),
        ),
        Query(f"SELECT searchphrase FROM hits WHERE {found} ORDER BY searchphrase LIMIT 10"),
        Query(f"SELECT searchphrase FROM hits WHERE {found} ORDER BY eventtime, searchphrase LIMIT 10"),
        Query(
            "SELECT counterid, avg(length(url)) AS l, count(*) AS c FROM hits WHERE url <> '' GROUP BY counterid "
            f"HAVING count(*) > {rows // 1000} ORDER BY l DESC LIMIT 25",
            keys=(1,),
        ),
        Query(
            by_host(rows, rf"regexp_replace(referer, '{HOST}', '\1')"),
            keys=(1,),
            dialects={
                "chdb": by_host(rows, "replaceRegexpOne(referer, '^https?://(?:www\\\\.)?([^/]+)/.*$', '\\\\1')"),
            },
        ),
        Query(f"SELECT {widths} FROM hits"),
        Query(
            f"SELECT searchengineid, clientip, {stats} FROM hits WHERE {found} GROUP BY searchengineid, clientip "
            "ORDER BY c DESC LIMIT 10",
            keys=(2,),
        ),
        Query(
            f"SELECT watchid, clientip, {stats} FROM hits WHERE {found} GROUP BY watchid, clientip "
            "ORDER BY c DESC LIMIT 10",
            keys=(2,),
        ),
        Query(
            f"SELECT watchid, clientip, {stats} FROM hits GROUP BY watchid, clientip ORDER BY c DESC LIMIT 10",
            keys=(2,),
        ),
        Query(top("url", views), keys=(1,)),
        Query("SELECT 1 AS one, url, count(*) AS c FROM hits GROUP BY one, url ORDER BY c DESC LIMIT 10", keys=(2,)),
        Query(
            "SELECT clientip, clientip - 1 AS a, clientip - 2 AS b, clientip - 3 AS d, count(*) AS c FROM hits "
            "GROUP BY clientip, clientip - 1, clientip - 2, clientip - 3 ORDER BY c DESC LIMIT 10",
            keys=(4,),
        ),
        Query(top("url", views, f"{SITE_62} AND dontcounthits = 0 AND url <> ''"), keys=(1,)),
        Query(top("title", views, f"{SITE_62} AND dontcounthits = 0 AND title <> ''"), keys=(1,)),
        Query(top("url", views, f"{SITE_62} AND islink <> 0 AND isdownload = 0", offset), keys=(1,)),
        Query(
            f"SELECT traficsourceid, searchengineid, advengineid, {source} AS src, url AS dst, count(*) AS c FROM hits "
            f"WHERE {SITE_62} GROUP BY traficsourceid, searchengineid, advengineid, {source}, url "
            f"ORDER BY c DESC {offset}",
            keys=(5,),
        ),
        Query(
            top(
                "urlhash, eventdate",
                views,
                f"{SITE_62} AND traficsourceid IN (-1, 6) AND refererhash = 3594120000172545465",
                "LIMIT 10 OFFSET 100",
            ),
            keys=(2,),
        ),
        Query(
            top(
                "windowclientwidth, windowclientheight",
                views,
                f"{SITE_62} AND dontcounthits = 0 AND urlhash = 2868770270353813622",
                "LIMIT 10 OFFSET 100",
            ),
            keys=(2,),
        ),
        Query(
            f"SELECT {minutes} AS m, count(*) AS c FROM hits WHERE counterid = 62 AND eventdate >= DATE '2013-07-14' "
            f"AND eventdate <= DATE '2013-07-15' AND isrefresh = 0 AND dontcounthits = 0 GROUP BY {minutes} "
            f"ORDER BY {minutes} {offset}"
        ),
    ]
    return {f"Q{number}": query for number, query in enumerate(texts)}
