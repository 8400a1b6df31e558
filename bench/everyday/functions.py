"""One expression over a million rows, function by function, beside DuckDB: which of them a user would wait for.

The values of an expression are counted, those of an aggregate by a thousand groups. Behind all rows there is one of
NULLs: without it some expressions are not computed at all, since statistics tell that none of their values is NULL.
Compared are the first values as texts, and the values of all groups.
"""

from __future__ import annotations

from bench.cases import Suite
from bench.everyday.generate import of_types
from bench.sql import Query, sql_suite

ROWS = 1_000_000
COMPARED = 2_000

# Expressions, with semicolons between.
SCALARS = {
    "arithmetic": """
        n + k; n * x; c * 2; c / 3; n // 7; n % 7; n / 7; x ** 2; abs(n - 500); round(x, 1); floor(x); ceil(x);
        sqrt(x); exp(x / 1000); ln(x + 1); log10(x + 1); sin(x); atan2(x, n); greatest(n, k); least(n, k, i);
        sign(n - 500); big::HUGEINT * n; n & 255; n << 3; bit_count(n); gcd(n, k); factorial(k % 15); trunc(x);
        even(x); isnan(x); hash(n); hash(s); random(); uuid();
        CASE WHEN n > 500 THEN 'a' WHEN n > 100 THEN s ELSE 'c' END; coalesce(nullif(n, 7), k); n IN (1, 5, 7, 900);
        s IN ('name of 1', 'name of 77', 'name of 900'); n BETWEEN 5 AND 5000; n > k AND x < 500 OR b;
        n IS DISTINCT FROM k; if(b, n, k); x > 5 AND x IN (7, 9)
    """,
    "text": """
        length(s); length(u); upper(s); lower(u); s || '-' || k; concat(s, k, u); concat_ws(',', s, u);
        substring(s, 3, 5); substring(u, 3, 5); left(s, 4); right(u, 4); trim(s); ltrim(s, 'na');
        replace(s, 'of', 'from'); reverse(s); reverse(u); lpad(ns, 10, '0'); rpad(ns, 10, '.'); repeat(ns, 3);
        position('of' IN s); starts_with(s, 'name'); ends_with(s, '7'); contains(url, 'item/7');
        split_part(csv, ',', 2); string_split(csv, ','); ascii(s); chr(65 + k % 26); md5(s); sha256(s);
        to_base64(s::BLOB); hex(s); translate(s, 'aeo', 'xyz'); format('{}-{}', s, k);
        printf('%05d %s', n, s); levenshtein(s, 'name of 1234'); jaro_winkler_similarity(s, 'name of 1234');
        jaccard(s, 'name of 1234'); damerau_levenshtein(s, 'name of 1234'); hamming(left(s, 9), 'name of 1');
        strip_accents(u); url_encode(u); url_decode(url); bar(k, 0, 1000, 20); s LIKE '%of 1%'; s LIKE 'name of 1_3';
        u ILIKE '%STRASSE%'; s ILIKE '%OF 1%'; s GLOB '*of 1*'; unicode(u); string_split_regex(csv, '[,]');
        nfc_normalize(u); s < u; s = u; greatest(s, u); array_extract(s, 3); format_bytes(big); instr(url, '?')
    """,
    "regex": r"""
        regexp_matches(s, 'of [0-9]+7$'); regexp_matches(url, '(item|list)/[0-9]+');
        regexp_extract(url, 'shop([0-9]+)', 1); regexp_extract(url, '[a-z]+/([0-9]+)', 1);
        regexp_replace(s, '[0-9]+', '#'); regexp_replace(url, '[0-9]', '#', 'g');
        regexp_replace(u, '([a-z]+) ([A-Z])', '\2 \1'); regexp_extract_all(csv, '[a-z0-9]+');
        regexp_full_match(s, 'name of [0-9]*'); regexp_split_to_array(csv, ','); s SIMILAR TO '.*of 1.*';
        regexp_matches(u, '(?i)straße 1'); regexp_extract(url, '(?P<a>[a-z]+)\.com', ['a'])
    """,
    "date": """
        year(d); month(d); day(d); quarter(d); week(d); dayofweek(d); isodow(d); dayofyear(d); decade(d); century(d);
        yearweek(d); weekday(d); dayname(d); monthname(d); year(ts); month(ts); hour(ts); minute(ts); second(ts);
        epoch(ts); epoch_ms(ts); millisecond(ts); dayofweek(ts); week(ts); dayname(ts); date_trunc('month', ts);
        date_trunc('day', ts); date_trunc('hour', ts); date_trunc('week', d); date_trunc('year', d);
        date_trunc('quarter', ts); date_diff('day', d, ts::DATE); date_diff('month', d, DATE '2030-05-05');
        date_diff('hour', ts, TIMESTAMP '2030-05-05'); date_diff('year', d, DATE '2030-05-05');
        date_diff('week', d, DATE '2030-05-05'); date_sub('month', d, DATE '2030-05-05'); d + 3; d - DATE '2000-01-01';
        d + INTERVAL '1 month'; ts + INTERVAL '3 days'; ts - TIMESTAMP '2000-01-01'; age(ts, TIMESTAMP '1999-01-01');
        last_day(d); make_date(2000 + k % 20, 1 + k % 12, 1 + k % 28); make_timestamp(big);
        strftime(ts, '%Y-%m-%d %H:%M:%S'); strftime(d, '%d %B %Y, %a'); strftime(ts, '%c');
        strptime(tss, '%Y-%m-%d %H:%M:%S'); strptime(ds, '%Y-%m-%d'); try_strptime(ds, '%d/%m/%Y');
        time_bucket(INTERVAL '1 week', d); time_bucket(INTERVAL '15 minutes', ts); extract('epoch' FROM ts);
        date_part('isoyear', d); to_timestamp(n); to_days(k); julian(d); ts::DATE; d::TIMESTAMP; ts::TIME;
        datepart(['year', 'month'], d); epoch_us(ts); ts AT TIME ZONE 'Europe/Berlin'
    """,
    "casts": """
        n::VARCHAR; big::VARCHAR; x::VARCHAR; c::VARCHAR; d::VARCHAR; ts::VARCHAR; b::VARCHAR; l::VARCHAR; st::VARCHAR;
        mp::VARCHAR; ns::INTEGER; ns::BIGINT; ns::DOUBLE; xs::DOUBLE; xs::DECIMAL(12, 3); ds::DATE; tss::TIMESTAMP;
        tss::DATE; try_cast(s AS INTEGER); n::DOUBLE; x::INTEGER; x::DECIMAL(12, 3); c::DOUBLE; c::INTEGER;
        n::DECIMAL(12, 2); k::SMALLINT; big::HUGEINT; b::INTEGER; (ts::TIME)::VARCHAR; j::JSON; ts::TIMESTAMPTZ;
        s::BLOB; n::BIT; ('[' || k || ', 2]')::INTEGER[]
    """,
    "list": """
        [n, k]; [s, u]; len(l); l[1]; l[2:3]; list_sum(l); list_max(l); list_avg(l); list_contains(l, 5);
        list_position(l, 5); list_sort(l); list_reverse_sort(l); list_reverse(l); list_distinct(l); list_unique(l);
        list_concat(l, [k]); list_append(l, k); list_prepend(k, l); list_slice(l, 1, 2);
        list_transform(l, lambda x: x + 1);
        list_filter(l, lambda x: x > 3); list_reduce(l, lambda a, x: a + x); list_zip(l, ls); flatten([l, l]);
        array_to_string(ls, '-'); list_aggregate(l, 'sum'); list_has_any(l, [1, 2]); list_has_all(l, [1]);
        list_intersect(l, [1, 2, 3]); range(k % 10); generate_series(1, k % 10); list_cosine_similarity(l, [1, 2, 3]);
        list_dot_product(l, [1, 2, 3]); list_distance(l, [1, 2, 3]); [x * 2 FOR x IN l IF x > 2]; ls[1]; list_sort(ls);
        list_reverse(ls); list_distinct(ls); list_grade_up(l); l = [1, 2, 3]; list_where(l, [true, false, true]);
        list_resize(l, 5, 0); list_any_value(l); array_value(x, x)
    """,
    "struct": """
        {'a': n, 'b': s}; row(n, s); struct_pack(a := n, b := x); st.a; st.b; struct_extract(st, 'b');
        struct_insert({'a': n, 'b': s}, c := n); st = {'a': 5, 'b': 't5'}; map([i], [s]); MAP {'a': n, 'b': k}; mp['a'];
        map_keys(mp); map_values(mp); map_entries(mp); cardinality(mp); map_contains(mp, 'a');
        map_from_entries([(i, n)]); map_concat(mp, MAP {'c': n::BIGINT}); struct_values(st); map_extract(mp, 'b')
    """,
    "JSON": """
        j->'$.b'; j->>'$.b.c'; j->'b'->>'c'; json_extract(j, '$.l[1]'); json_extract_string(j, 'a');
        json_extract(j, ['$.a', '$.b.c']); json_array_length(j, '$.l'); json_type(j, '$.b'); json_keys(j);
        json_valid(j); json_structure(j); json_exists(j, '$.b.x'); json_contains(j, '5'); to_json(st); to_json(l);
        to_json(n); to_json(s); to_json(mp); row_to_json(st); json_object('a', n, 'b', s); json_array(n, s, x);
        json_merge_patch(j, '{"z": 1}'); json_transform(j, '{"a": "INTEGER", "l": ["INTEGER"]}');
        from_json(j, '{"b": {"c": "VARCHAR"}}'); (j->>'a')::INTEGER; json(j); json_quote(s); json_value(j, '$.a');
        json_pretty(j)
    """,
}
AGGREGATES = """
        count(*); count(n); count(DISTINCT n); sum(n); sum(x); sum(c); avg(n); avg(x); min(n); max(x); min(s); max(d);
        any_value(s); first(s); last(n); arg_max(s, n); arg_min(n, x); max_by(s, x, 3); max(n, 3); median(n);
        median(x); quantile_cont(x, 0.9); quantile_disc(n, [0.1, 0.9]); mode(n); mode(s); mad(x); stddev(x);
        var_pop(n); skewness(x); kurtosis(x); corr(n, x); covar_pop(n, x); regr_slope(n, x); approx_count_distinct(n);
        approx_count_distinct(s); approx_quantile(x, 0.5); bit_and(n); bool_or(b); product(1 + x / 1e9);
        string_agg(s, ','); string_agg(s, ',' ORDER BY n, i); list(n); list(s); list(n ORDER BY n); list(DISTINCT n);
        histogram(n % 10); entropy(n % 10); sum(DISTINCT n); count(*) FILTER (b); count_if(b); fsum(x); favg(x);
        geomean(x + 1); max(s ORDER BY n); array_agg(st); map(list(i), list(n)); json_group_array(n);
        approx_top_k(n % 100, 3); weighted_avg(x, n); sum(n) / count(*); min(l); max(st)
"""
# What is another in every run, or by the implementation.
UNLIKE = """
        random(); uuid(); hash(n); hash(s); approx_count_distinct(n); approx_count_distinct(s);
        approx_quantile(x, 0.5); list(n); list(s); string_agg(s, ','); any_value(s); first(s); last(n); array_agg(st);
        list(DISTINCT n); map(list(i), list(n)); json_group_array(n); format_bytes(big); list_distinct(l);
        list_distinct(ls); list_unique(l); mode(n); mode(s); approx_top_k(n % 100, 3)
"""


def listed(text: str) -> list[str]:
    """The expressions of a text."""
    return [part.strip() for part in " ".join(text.split()).split(";")]


def queries() -> dict[str, Query]:
    """By family and expression."""
    unlike = set(listed(UNLIKE))
    found = {}
    for family, text in SCALARS.items():
        for call in listed(text):
            value = "count(x)" if call in unlike else "x::VARCHAR"
            check = f"SELECT {value} FROM (SELECT {call} AS x FROM t WHERE i < {COMPARED})"
            found[f"{family}: {call}"] = Query(f"SELECT count(x) FROM (SELECT {call} AS x FROM t)", check)
    for call in listed(AGGREGATES):
        value = "count(x)" if call in unlike else "k, x"
        grouped = f"(SELECT k, {call} AS x FROM t GROUP BY k)"
        check = f"SELECT {value} FROM {grouped}"
        found[f"aggregate: {call}"] = Query(f"SELECT count(x) FROM {grouped}", check)
    return found


def suite(rows: int) -> Suite:
    """The suite over `rows` rows."""
    return sql_suite(
        name="functions" if rows == ROWS else f"functions-{rows}",
        title=f"Functions over {rows:,} rows",
        remarks="A table in memory.",
        files=of_types(rows),
        queries=queries(),
        engines=("inlay", "duckdb"),
        worst_first=True,
    )
