#' @include arrow.R
NULL

# The backend of dbplyr: what dplyr's verbs and R's functions are in Inlay's SQL. Methods are registered when dbplyr is loaded.

dbplyr_edition.inlay_connection <- function(con) 2L

db_connection_describe.inlay_connection <- function(con) paste0("Inlay ", .Call(C_library_version), " [", con@dbdir, "]")

sql_query_explain.inlay_connection <- function(con, sql, ...) dbplyr::build_sql("EXPLAIN ", sql, con = con)

# Equal, or both NULL.
sql_expr_matches.inlay_connection <- function(con, x, y) dbplyr::build_sql(x, " IS NOT DISTINCT FROM ", y, con = con)

sql_escape_date.inlay_connection <- function(con, x) as.character(dbQuoteLiteral(con, x))

sql_escape_datetime.inlay_connection <- function(con, x) as.character(dbQuoteLiteral(con, x))

# Rows are appended in bulk, not by INSERT.
db_copy_to.inlay_connection <- function(con, table, values, overwrite = FALSE, types = NULL, temporary = TRUE, unique_indexes = NULL,
                                        indexes = NULL, analyze = TRUE, ..., in_transaction = TRUE) {
  dbWriteTable(con, table_name(table), as.data.frame(values), overwrite = overwrite, field.types = types, temporary = temporary)
  index <- function(columns, unique) {
    names <- paste(as.character(dbQuoteIdentifier(con, columns)), collapse = ", ")
    name <- paste(c(as.character(table), columns), collapse = "_")
    run_sql(con, paste0("CREATE ", if (unique) "UNIQUE ", "INDEX ", dbQuoteIdentifier(con, name), " ON ", dbQuoteIdentifier(con, table_name(table)), " (", names, ")"))
  }
  for (columns in as.list(unique_indexes)) index(columns, TRUE)
  for (columns in as.list(indexes)) index(columns, FALSE)
  table
}

# dbplyr's names as DBI's.
table_name <- function(table) if (is.character(table) && !is(table, "SQL")) as.character(unclass(table)) else table

sql_table_analyze.inlay_connection <- function(con, table, ...) NULL

scalar_functions <- function() {
  sql_expr <- dbplyr::sql_expr
  prefix <- dbplyr::sql_prefix
  build <- dbplyr::build_sql
  unit_of <- function(unit) sub("s$", "", sub("^1 ", "", unit))
  part <- function(name) function(x) build(dbplyr::sql(paste0("EXTRACT(", name, " FROM ")), x, ")::INTEGER")
  span <- function(name) function(x) build("(", x, dbplyr::sql(paste0(" * INTERVAL '1 ", name, "')")))
  # Texts of the program are read by R, with its arguments; columns are cast.
  is_text <- function(x) is.character(x) && !inherits(x, c("sql", "ident"))
  value <- function(x) dbplyr::sql(as.character(literal(NULL, x)))
  date <- function(x, ...) if (is_text(x)) value(base::as.Date(x, ...)) else build("CAST(", x, " AS DATE)")
  moment <- function(x, ...) if (is_text(x)) value(base::as.POSIXct(x, ...)) else build("CAST(", x, " AS TIMESTAMP WITH TIME ZONE)")
  # NULL if one is NULL, unless those are left out.
  extreme <- function(name) function(..., na.rm = FALSE) {
    values <- list(...)
    found <- build(dbplyr::sql(name), values)
    if (isTRUE(na.rm)) return(found)
    are_null <- lapply(values, function(it) build("(", it, ") IS NULL"))
    build("CASE WHEN ", dbplyr::sql(paste(unlist(are_null), collapse = " OR ")), " THEN NULL ELSE ", found, " END")
  }
  pattern_of <- function(pattern) if (inherits(pattern, "fixed")) gsub("([][{}()+*^$|\\\\?.])", "\\\\\\1", pattern) else pattern
  list(
    as.integer = dbplyr::sql_cast("INTEGER"), as.numeric = dbplyr::sql_cast("DOUBLE"), as.double = dbplyr::sql_cast("DOUBLE"),
    as.character = dbplyr::sql_cast("VARCHAR"), as.logical = dbplyr::sql_cast("BOOLEAN"), as.integer64 = dbplyr::sql_cast("BIGINT"),
    as.Date = date, as_date = date, as.POSIXct = moment, as_datetime = moment,
    # The rest has the sign of the divisor, as in R.
    `%%` = function(x, y) build("(((", x, ") % (", y, ") + (", y, ")) % (", y, "))"),
    `%/%` = function(x, y) build("floor((", x, ") / (", y, "))"),
    xor = function(x, y) build("((", x, ") <> (", y, "))"),
    is.na = function(x) build("((", x, ") IS NULL)"),
    is.nan = prefix("isnan"), is.finite = prefix("isfinite"), is.infinite = prefix("isinf"),
    log = function(x, base = NULL) if (is.null(base)) sql_expr(ln(!!x)) else build("(ln(", x, ") / ln(", base, "))"),
    log10 = prefix("log10"), log2 = prefix("log2"), log1p = function(x) sql_expr(ln(1 + !!x)), expm1 = function(x) sql_expr(exp(!!x) - 1),
    round = function(x, digits = 0L) build("round(", x, ", ", as.integer(digits), ")"),
    pmin = extreme("least"), pmax = extreme("greatest"),
    paste = function(..., sep = " ") build("concat_ws", list(sep, ...)), paste0 = function(...) build("concat", list(...)),
    str_c = function(..., sep = "") if (sep == "") build("concat", list(...)) else build("concat_ws", list(sep, ...)),
    nchar = prefix("length"), str_length = prefix("length"),
    str_detect = function(string, pattern, negate = FALSE) {
      if (isTRUE(negate)) build("(NOT regexp_matches(", string, ", ", pattern_of(pattern), "))") else build("regexp_matches(", string, ", ", pattern_of(pattern), ")")
    },
    grepl = function(pattern, x, ignore.case = FALSE, fixed = FALSE) {
      if (isTRUE(fixed)) return(build("contains(", x, ", ", pattern, ")"))
      if (isTRUE(ignore.case)) build("regexp_matches(", x, ", ", pattern, ", 'i')") else build("regexp_matches(", x, ", ", pattern, ")")
    },
    str_starts = function(string, pattern) build("regexp_matches(", string, ", ", paste0("^(", pattern_of(pattern), ")"), ")"),
    str_ends = function(string, pattern) build("regexp_matches(", string, ", ", paste0("(", pattern_of(pattern), ")$"), ")"),
    startsWith = prefix("starts_with"), endsWith = prefix("ends_with"),
    sub = function(pattern, replacement, x) build("regexp_replace(", x, ", ", pattern, ", ", replacement, ")"),
    gsub = function(pattern, replacement, x) build("regexp_replace(", x, ", ", pattern, ", ", replacement, ", 'g')"),
    str_replace = function(string, pattern, replacement) build("regexp_replace(", string, ", ", pattern_of(pattern), ", ", replacement, ")"),
    str_replace_all = function(string, pattern, replacement) build("regexp_replace(", string, ", ", pattern_of(pattern), ", ", replacement, ", 'g')"),
    str_remove = function(string, pattern) build("regexp_replace(", string, ", ", pattern_of(pattern), ", '')"),
    str_remove_all = function(string, pattern) build("regexp_replace(", string, ", ", pattern_of(pattern), ", '', 'g')"),
    str_extract = function(string, pattern) build("nullif(regexp_extract(", string, ", ", pattern_of(pattern), "), '')"),
    str_squish = function(string) build("trim(regexp_replace(", string, ", '\\s+', ' ', 'g'))"),
    str_pad = function(string, width, side = "left", pad = " ") {
      width <- as.integer(width)
      switch(side, left = build("lpad(", string, ", greatest(", width, ", length(", string, "))::INTEGER, ", pad, ")"),
             right = build("rpad(", string, ", greatest(", width, ", length(", string, "))::INTEGER, ", pad, ")"), fail("str_pad: `side` is \"left\" or \"right\""))
    },
    year = part("year"), month = part("month"), day = part("day"), mday = part("day"), hour = part("hour"), minute = part("minute"),
    second = function(x) build("(EXTRACT(epoch FROM ", x, ") % 60)"), yday = part("doy"), quarter = part("quarter"), isoweek = part("week"), isoyear = part("isoyear"),
    wday = function(x, label = FALSE, abbr = TRUE, week_start = getOption("lubridate.week.start", 7)) {
      if (!identical(label, FALSE)) fail("wday: labels are not translated; collect() first")
      build("((EXTRACT(isodow FROM ", x, ") - ", as.integer(week_start), " + 7) % 7 + 1)::INTEGER")
    },
    floor_date = function(x, unit = "second") build("date_trunc(", unit_of(unit), ", ", x, ")"),
    today = function() dbplyr::sql("current_date"), Sys.Date = function() dbplyr::sql("current_date"),
    now = function() dbplyr::sql("now()"), Sys.time = function() dbplyr::sql("now()"),
    years = span("year"), months = span("month"), weeks = span("week"), days = span("day"), hours = span("hour"), minutes = span("minute"), seconds = span("second")
  )
}

aggregate_functions <- function(window) {
  wrap <- if (window) dbplyr::win_aggregate else function(name) dbplyr::sql_aggregate(name, name)
  two <- if (window) dbplyr::win_aggregate_2 else function(name) dbplyr::sql_aggregate_2(name)
  over <- function(expression) {
    if (!window) return(expression)
    dbplyr::win_over(expression, partition = dbplyr::win_current_group(), frame = dbplyr::win_current_frame())
  }
  c(
    list(
      sd = wrap("stddev_samp"), var = wrap("var_samp"), median = wrap("median"), any = wrap("bool_or"), all = wrap("bool_and"),
      cor = two("corr"), cov = two("covar_samp"),
      quantile = function(x, probs, na.rm = TRUE, ...) over(dbplyr::build_sql("quantile_cont(", x, ", ", probs, ")")),
      n_distinct = function(..., na.rm = FALSE) {
        values <- list(...)
        if (length(values) > 1L) fail("n_distinct: several columns are not translated; use distinct() and count()")
        counted <- dbplyr::build_sql("count(DISTINCT ", values[[1L]], ")")
        # NULL is a value, too.
        over(if (isTRUE(na.rm)) counted else dbplyr::build_sql("(", counted, " + max((", values[[1L]], " IS NULL)::INTEGER))"))
      }
    ),
    list(str_flatten = function(x, collapse = "") over(dbplyr::build_sql("string_agg(", x, ", ", collapse, ")")))
  )
}

sql_translation.inlay_connection <- function(con) {
  dbplyr::sql_variant(
    do.call(dbplyr::sql_translator, c(list(.parent = dbplyr::base_scalar), scalar_functions())),
    do.call(dbplyr::sql_translator, c(list(.parent = dbplyr::base_agg), aggregate_functions(FALSE))),
    do.call(dbplyr::sql_translator, c(list(.parent = dbplyr::base_win), aggregate_functions(TRUE)))
  )
}
