# Functions in R inside of queries.

with_rows <- function(con, rows = 100000L) {
  dbExecute(con, sprintf("CREATE TABLE t AS SELECT i::INTEGER AS i, i::DOUBLE AS d, CASE WHEN i %% 3 > 0 THEN i END AS n, 'k' || i %% 7 AS k FROM range(%d) r(i)", rows))
  con
}

test_that("a scalar function is given whole columns, or parts of them", {
  con <- with_rows(connected())
  seen <- integer()
  inlay_function(con, "share", function(x) {
    seen <<- c(seen, length(x))
    x / sum(x)
  }, "DOUBLE", "DOUBLE")
  expect_equal(dbGetQuery(con, "SELECT sum(share(d)) AS s FROM t")$s, 1)
  expect_identical(seen, 100000L)
  seen <- integer()
  inlay_function(con, "twice", function(x) {
    seen <<- c(seen, length(x))
    2 * x
  }, "DOUBLE", "DOUBLE", parts = TRUE)
  expect_equal(dbGetQuery(con, "SELECT sum(twice(d)) AS s FROM t WHERE twice(i) > 10")$s, 2 * sum(as.numeric(6:99999)))
  expect_gt(length(seen), 1L)
  inlay_function(con, "label", function(x, k) paste0(k, "-", x), c("INTEGER", "VARCHAR"), "VARCHAR", parts = TRUE)
  expect_identical(dbGetQuery(con, "SELECT label(i, k) AS l FROM t ORDER BY i LIMIT 3")$l[], c("k0-0", "k1-1", "k2-2"))
  expect_identical(dbGetQuery(con, "SELECT label(i, k) AS l FROM t WHERE i < 0")$l[], character())
  # One value is that of all rows.
  inlay_function(con, "seven", function() 7L, returns = "INTEGER")
  expect_identical(dbGetQuery(con, "SELECT seven() AS s FROM t LIMIT 2")$s[], c(7L, 7L))
})

test_that("aggregates see the rows of a group, or those of all with their groups", {
  con <- with_rows(connected())
  inlay_function(con, "middle", function(x) median(x), "DOUBLE", "DOUBLE", kind = "aggregate")
  found <- dbGetQuery(con, "SELECT k, middle(d) AS m, median(d) AS w FROM t GROUP BY k ORDER BY k")
  expect_equal(found$m[], found$w[])
  inlay_function(con, "totals", function(x, aggr_group) as.vector(rowsum(x, aggr_group)), "DOUBLE", "DOUBLE", kind = "aggregate")
  found <- dbGetQuery(con, "SELECT k, totals(d) AS m, sum(d) AS w FROM t GROUP BY k ORDER BY k")
  expect_equal(found$m[], found$w[])
  found <- dbGetQuery(con, "SELECT totals(d) AS m FROM t GROUP BY i")
  expect_equal(sum(found$m), sum(as.numeric(0:99999)))
  inlay_function(con, "latest", function(x) max(x), "DATE", "DATE", kind = "aggregate")
  expect_identical(dbGetQuery(con, "SELECT latest(DATE '2024-01-01' + i) AS m FROM t WHERE i < 31")$m[], as.Date("2024-01-31"))
  inlay_function(con, "packed", function(x) list(serialize(x, NULL)), "INTEGER", "BLOB", kind = "aggregate")
  expect_identical(unserialize(dbGetQuery(con, "SELECT packed(i) AS p FROM t WHERE i < 3")$p[[1]]), 0:2)
})

test_that("table functions give rows of the columns that are declared", {
  con <- connected()
  inlay_function(con, "steps", function(n, by) data.frame(s = sprintf("row %d", seq_len(n)), x = seq_len(n) * by), c("INTEGER", "DOUBLE"),
                 c(x = "DOUBLE", s = "VARCHAR"), kind = "table")
  found <- dbGetQuery(con, "SELECT count(*)::INTEGER AS n, sum(x) AS x, max(s) AS s FROM steps(5000, 0.5)")
  expect_identical(as.list(found), list(n = 5000L, x = sum(1:5000) * 0.5, s = "row 999"))
  expect_identical(dim(dbGetQuery(con, "FROM steps(0, 1)")), c(0L, 2L))
  expect_identical(dbGetQuery(con, "SELECT x FROM range(3) r(i), steps(i::INTEGER, 10) ORDER BY i, x")$x[], c(10, 10, 20))
  expect_identical(nrow(dbGetQuery(con, "FROM steps(1000000, 1) LIMIT 3")), 3L)
  inlay_function(con, "wrong", function() data.frame(x = 1, y = 2), returns = c(x = "DOUBLE"), kind = "table")
  expect_identical(dbGetQuery(con, "FROM wrong()")$x, 1)
  inlay_function(con, "narrow", function() list(), returns = c(x = "DOUBLE"), kind = "table")
  expect_error(dbGetQuery(con, "FROM narrow()"), "gave 0 columns, not x", class = "inlay_error_external")
})

test_that("each type goes in and comes out", {
  con <- connected()
  withr::local_timezone("Asia/Kathmandu")
  types <- c(
    BOOLEAN = "true", TINYINT = "-128", SMALLINT = "-7", INTEGER = "2147483647", BIGINT = "9007199254740993", HUGEINT = "-170000000000", UTINYINT = "255",
    USMALLINT = "65535", UINTEGER = "4294967295", UBIGINT = "9007199254740992", UHUGEINT = "12", REAL = "0.5", DOUBLE = "0.1", `DECIMAL(4,2)` = "-12.25",
    `DECIMAL(9,4)` = "12345.6789", `DECIMAL(18,3)` = "-123456789.125", `DECIMAL(38,2)` = "70000000000000.25", VARCHAR = "'\u00e4\u20ac'", JSON = "'[1]'",
    BLOB = "'a\\x00b'", DATE = "'1969-12-31'", TIME = "'23:59:59.25'", TIMESTAMP = "'1969-12-31 23:59:59.5'", TIMESTAMP_S = "'2024-02-29 12:00:00'",
    TIMESTAMP_MS = "'2024-02-29 12:00:00.125'", TIMESTAMP_NS = "'2024-02-29 12:00:00.125'", TIMESTAMPTZ = "'2024-02-29 12:00:00.25+00'",
    INTERVAL = "'90.5 seconds'", UUID = "'8f14e45f-ceea-467f-a0e6-1b2c3d4e5f60'"
  )
  for (type in names(types)) {
    name <- paste0("same_", gsub("[^A-Z_0-9]", "", type))
    inlay_function(con, name, identity, type, type, nulls = TRUE)
    sql <- sprintf("SELECT count(*) FILTER (%s(x) IS NOT DISTINCT FROM x)::INTEGER AS n FROM (VALUES ((%s)::%s), (NULL)) v(x)", name, types[[type]], type)
    expect_identical(dbGetQuery(con, sql)$n, 2L, info = type)
  }
  # What stands for no value, and what is none of a type.
  give <- function(value, type) {
    inlay_function(con, "given", NULL)
    inlay_function(con, "given", function() value, returns = type)
    dbGetQuery(con, "SELECT given() AS x")$x
  }
  inlay_function(con, "given", function() 1, returns = "DOUBLE")
  for (type in names(types)) expect_true(is.na(give(NA, type)) || identical(give(NA, type), list(NULL)), info = type)
  expect_identical(give(NaN, "DOUBLE"), NaN)
  expect_identical(give(structure(Inf, class = "Date"), "DATE"), structure(Inf, class = "Date"))
  expect_identical(give(factor("b", levels = c("a", "b")), "VARCHAR")[], "b")
  expect_identical(give(3, "INTEGER"), 3L)
  expect_identical(give(bit64::as.integer64("9007199254740993"), "BIGINT"), bit64::as.integer64("9007199254740993"))
  expect_error(give(1.5, "INTEGER"), "1.5, which is no whole number")
  expect_error(give(300, "TINYINT"), "300 does not fit TINYINT")
  expect_error(give(100, "DECIMAL(4,2)"), "100 does not fit DECIMAL")
  expect_error(give("x", "DOUBLE"), "character for a number")
  expect_error(give("x", "UUID"), "no UUID")
  expect_error(give(list(1), "VARCHAR"), "list for a text")
  expect_error(give("2024-01-01", "DATE"), "character for DATE")
  expect_error(give(1:3, "INTEGER"), "3 values for 1 rows")
  expect_error(inlay_function(con, "g", identity, "INTEGER[]", "INTEGER"), class = "inlay_error_unsupported")
})

test_that("rows with NULL are not shown, unless they are asked for", {
  con <- with_rows(connected(), 9L)
  inlay_function(con, "seen", function(x) rep(length(x), length(x)), "BIGINT", "INTEGER")
  expect_identical(dbGetQuery(con, "SELECT seen(n) AS s FROM t ORDER BY i")$s[], c(NA, 6L, 6L, NA, 6L, 6L, NA, 6L, 6L))
  inlay_function(con, "are_na", function(x) is.na(x), "BIGINT", "BOOLEAN", nulls = TRUE)
  expect_identical(dbGetQuery(con, "SELECT are_na(n) AS s FROM t ORDER BY i")$s[], rep(c(TRUE, FALSE, FALSE), 3))
})

test_that("an error of R is one of SQL, with the function's name and R's traceback", {
  con <- with_rows(connected())
  inner <- function(v) stop("a bad value of ", length(v))
  outer <- function(v) inner(v)
  inlay_function(con, "breaks", function(x) outer(x), "DOUBLE", "DOUBLE")
  error <- tryCatch(dbGetQuery(con, "SELECT breaks(d) FROM t"), inlay_error = identity)
  expect_s3_class(error, "inlay_error_external")
  expect_identical(error$sqlstate, "38000")
  expect_match(error$text, 'function "breaks": a bad value of 100000\nTraceback:\n  1: breaks(x)\n  2: outer(x)\n  3: inner(v)', fixed = TRUE)
  inlay_function(con, "grows", function(x) grows(x), "DOUBLE", "DOUBLE")
  grows <- function(x) grows(x)
  expect_error(dbGetQuery(con, "SELECT grows(d) FROM t"), "grows", class = "inlay_error_external")
  inlay_function(con, "leaves", function(x) invokeRestart("abort"), "DOUBLE", "DOUBLE")
  expect_error(dbGetQuery(con, "SELECT leaves(d) FROM t"), "leaves", class = "inlay_error_external")
  expect_identical(dbGetQuery(con, "SELECT count(*)::INTEGER AS n FROM t")$n, 100000L)
  # A part that fails ends all.
  inlay_function(con, "some", function(x) if (any(x > 90000)) stop("too large") else x, "DOUBLE", "DOUBLE", parts = TRUE)
  expect_error(dbGetQuery(con, "SELECT sum(some(d)) FROM t"), "too large")
})

test_that("a function may query other connections, and its own is refused", {
  file <- withr::local_tempfile(fileext = ".inlay")
  for (threads in c(1, 4)) {
    con <- dbConnect(inlay(), file, config = list(threads = threads))
    other <- dbConnect(inlay(), file)
    dbExecute(con, "CREATE OR REPLACE TABLE t AS SELECT i::INTEGER AS i FROM range(1000) r(i)")
    inlay_function(con, "recurses", function(x) dbGetQuery(con, "SELECT 1 AS x")$x, "INTEGER", "INTEGER")
    inlay_function(con, "closes", function(x) dbDisconnect(con), "INTEGER", "INTEGER")
    inlay_function(con, "asks", function(x) x + dbGetQuery(other, "SELECT max(i) AS m FROM t")$m, "INTEGER", "INTEGER")
    third <- dbConnect(inlay(), file)
    inlay_function(con, "nests", function(x) x + dbGetQuery(third, "SELECT max(asks(i)) AS m FROM t")$m, "INTEGER", "INTEGER")
    expect_error(dbGetQuery(con, "SELECT recurses(i) FROM t"), "runs the statement that called this function")
    expect_error(dbGetQuery(con, "SELECT closes(i) FROM t"), "runs the statement that called this function")
    expect_identical(dbGetQuery(con, "SELECT max(asks(i)) AS m FROM t")$m, 1998L)
    expect_identical(dbGetQuery(con, "SELECT max(nests(i)) AS m FROM t")$m, 2997L)
    expect_identical(dbGetQuery(con, "SELECT 1::INTEGER AS x")$x, 1L)
    inlay_function(con, "asks", NULL)
    dbDisconnect(other)
    dbDisconnect(third)
    dbDisconnect(con)
  }
})

test_that("Ctrl-C ends a function in R, and the connection goes on", {
  skip_on_os("windows")
  con <- with_rows(connected())
  inlay_function(con, "sleeps", function(x) {
    Sys.sleep(60)
    x
  }, "DOUBLE", "DOUBLE")
  began <- Sys.time()
  system(sprintf("(sleep 0.5; kill -INT %d) &", Sys.getpid()))
  answer <- tryCatch(dbGetQuery(con, "SELECT sum(sleeps(d)) FROM t"), interrupt = function(e) "interrupted")
  expect_identical(answer, "interrupted")
  expect_identical(dbGetQuery(con, "SELECT 1::INTEGER AS x")$x, 1L)
})

test_that("functions work wherever rows are computed: parameters, pieces, streams, changes, results that are dropped", {
  con <- with_rows(connected(config = list(threads = 4)))
  inlay_function(con, "next_one", function(x) x + 1, "DOUBLE", "DOUBLE", parts = TRUE)
  expect_identical(dbGetQuery(con, "SELECT next_one(?) AS x", params = list(c(1, 2)))$x[], c(2, 3))
  res <- dbSendQuery(con, "SELECT next_one(d) AS x FROM t a, range(20)")
  expect_identical(nrow(dbFetch(res, 10)), 10L)
  dbClearResult(res)
  res <- dbSendQuery(con, "SELECT next_one(d) AS x FROM t a, range(20)")
  dbClearResult(res)
  expect_identical(dbExecute(con, "UPDATE t SET d = next_one(d) WHERE next_one(i) <= 10"), 10L)
  inlay_register(con, "streamed", inlay_arrow(con, "SELECT next_one(d) AS x FROM t"))
  expect_equal(dbGetQuery(con, "SELECT sum(x) AS s FROM streamed")$s, sum(as.numeric(1:100000)) + 10)
  expect_true(inlay_function(con, "next_one", NULL))
  expect_false(inlay_function(con, "next_one", NULL))
  expect_error(dbGetQuery(con, "SELECT next_one(1)"), class = "inlay_error_undefined_function")
  # One that waits for its rows, and for R, is closed with its connection.
  inlay_function(con, "next_one", function(x) x + 1, "DOUBLE", "DOUBLE", parts = TRUE)
  res <- dbSendQuery(con, "SELECT next_one(d) FROM t, range(50)")
  expect_warning(dbDisconnect(con), "were open")
})

test_that("SQL makes functions in R where that is allowed", {
  file <- withr::local_tempfile(fileext = ".inlay")
  con <- dbConnect(inlay(), file, allow_r = TRUE)
  dbExecute(con, "CREATE FUNCTION share(x DOUBLE) RETURNS DOUBLE LANGUAGE R { x / sum(x) }")
  dbExecute(con, "CREATE FUNCTION twice(x DOUBLE) RETURNS DOUBLE LANGUAGE R_MAP { y <- x # what is doubled
    2 * y }")
  dbExecute(con, "CREATE AGGREGATE spread(x DOUBLE) RETURNS DOUBLE LANGUAGE R { diff(range(x)) }")
  dbExecute(con, "CREATE AGGREGATE totals(x DOUBLE) RETURNS DOUBLE LANGUAGE R { tapply(x, aggr_group, sum) }")
  dbExecute(con, "CREATE FUNCTION rows(n INTEGER) RETURNS TABLE (i INTEGER, s VARCHAR) LANGUAGE R { data.frame(i = seq_len(n), s = 'x') }")
  found <- dbGetQuery(con, "SELECT sum(share(i)) AS a, sum(twice(i)) AS b, spread(i) AS c, totals(i) AS d FROM (SELECT i::DOUBLE AS i FROM range(10) r(i))")
  expect_equal(as.list(found), list(a = 1, b = 90, c = 9, d = 45))
  expect_identical(dbGetQuery(con, "FROM rows(2)")$i[], 1:2)
  expect_error(dbExecute(con, "CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE LANGUAGE R { x + }"), 'function "f"', class = "inlay_error_syntax")
  expect_error(dbExecute(con, "CREATE FUNCTION f(x DOUBLE) RETURNS DOUBLE[] LANGUAGE R { x }"), class = "inlay_error_unsupported")
  dbExecute(con, "CREATE FUNCTION breaks(x DOUBLE) RETURNS DOUBLE LANGUAGE R { stop('no ', x) }")
  expect_error(dbGetQuery(con, "SELECT breaks(1)"), "no 1\nTraceback:\n  1: breaks(x)", fixed = TRUE)
  dbDisconnect(con)
  # They are in the file, and do not run where nobody allowed it.
  con <- dbConnect(inlay(), file)
  expect_error(dbGetQuery(con, "SELECT twice(1)"), "allow_r", class = "inlay_error_forbidden")
  dbDisconnect(con)
  con <- connected(file, allow_r = TRUE)
  expect_identical(dbGetQuery(con, "SELECT twice(21) AS x")$x, 42)
})

test_that("calls stand garbage collections at any moment, with many threads", {
  skip_if(Sys.getenv("INLAY_R_LONG") == "", "takes minutes: INLAY_R_LONG=1")
  status <- other_r(readLines(test_path("torture-functions.R")))
  expect_identical(as.integer(status), 0L, info = paste(attr(status, "output"), collapse = "\n"))
})
