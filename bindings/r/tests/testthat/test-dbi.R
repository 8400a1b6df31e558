# DBI: what its own suite of tests (test-dbitest.R) does not ask.

test_that("errors are conditions that say what, where and what to do", {
  con <- connected()
  dbExecute(con, "CREATE TABLE trips (city VARCHAR)")
  error <- tryCatch(dbGetQuery(con, "SELECT *\nFROM trip"), error = identity)
  expect_s3_class(error, c("inlay_error_undefined_table", "inlay_error", "error", "condition"), exact = TRUE)
  expect_identical(error$sqlstate, "42P01")
  expect_identical(c(error$line, error$column, error$offset), c(2L, 6L, 15L))
  expect_match(error$hint, "trips")
  expect_match(conditionMessage(error), "trip")
  expect_s3_class(tryCatch(dbGetQuery(con, "SELEC"), error = identity), "inlay_error_syntax")
})

test_that("bigint says what a BIGINT is, in memory and in a file, from either place", {
  expected <- list(integer64 = bit64::as.integer64("9007199254740993"), numeric = 9007199254740992, character = "9007199254740993", integer = NA_integer_)
  for (bigint in names(expected)) {
    for (dbdir in list(":memory:", withr::local_tempfile(fileext = ".inlay"))) {
      con <- dbConnect(inlay(), dbdir, bigint = bigint)
      expect_identical(dbGetQuery(con, "SELECT 9007199254740993 AS x")$x[], expected[[bigint]], info = bigint)
      dbDisconnect(con)
      con <- dbConnect(inlay(dbdir, bigint = bigint))
      expect_identical(dbGetQuery(con, "SELECT 9007199254740993 AS x")$x[], expected[[bigint]], info = bigint)
      expect_equal(as.numeric(dbGetQuery(con, "SELECT 7::BIGINT AS x")$x), 7)
      dbDisconnect(con)
    }
  }
  expect_error(dbConnect(inlay(), bigint = "int"), "integer64")
})

test_that("a result is fetched in pieces", {
  con <- connected()
  res <- dbSendQuery(con, "SELECT i::INTEGER AS i, 's' || i AS s, {'a': i::INTEGER} AS n FROM range(10) t(i)")
  expect_false(dbHasCompleted(res))
  expect_identical(dbFetch(res, 4)$i[], 0:3)
  part <- dbFetch(res, 4)
  expect_identical(part$s[], paste0("s", 4:7))
  expect_identical(part$n, data.frame(a = 4:7))
  expect_identical(dbGetRowCount(res), 8)
  expect_false(dbHasCompleted(res))
  expect_identical(dbFetch(res)$i[], 8:9)
  expect_true(dbHasCompleted(res))
  expect_identical(dim(dbFetch(res)), c(0L, 3L))
  dbClearResult(res)
  expect_error(dbFetch(res), "cleared")
})

test_that("pieces are the same as the whole, of every type, and are computed when they are asked for", {
  con <- connected()
  sql <- "SELECT i::INTEGER AS i, CASE WHEN i % 3 > 0 THEN i / 7 END AS d, CASE WHEN i % 5 > 0 THEN i END AS b, 's' || i AS s, i % 2 = 0 AS l,
    DATE '2024-01-01' + (i % 1000)::INTEGER AS day, TIMESTAMPTZ '2024-01-01 00:00:00+00' + i * INTERVAL '1 second' AS m, [i, NULL] AS list, {'a': i, 'b': 'x'} AS n,
    's'::BLOB AS blob, (i % 2)::VARCHAR::ENUM('0', '1') AS e, i::DECIMAL(18, 2) AS dec, uuid() IS NULL AS u FROM range(20000) t(i)"
  whole <- dbGetQuery(con, sql)
  res <- dbSendQuery(con, sql)
  parts <- list()
  while (!dbHasCompleted(res)) parts[[length(parts) + 1L]] <- dbFetch(res, 3333)
  expect_identical(vapply(parts, nrow, 0L), c(rep(3333L, 6L), 2L))
  expect_equal(inlay:::joined(parts), whole)
  dbClearResult(res)
  # Far more than memory has.
  res <- dbSendQuery(con, "SELECT i, sqrt(i) AS d, repeat('x', 1000) AS s FROM range(30000000000) t(i)")
  expect_identical(as.numeric(dbFetch(res, 2)$i), c(0, 1))
  expect_identical(dbFetch(res, 100000)$d[[100000L]], sqrt(100001))
  expect_false(dbHasCompleted(res))
  expect_identical(dbColumnInfo(res)$type, c("integer64", "numeric", "character"))
  dbClearResult(res)
  res <- dbSendQuery(con, "SELECT 1 AS i, {'a': 's'} AS n WHERE false")
  expect_identical(dbFetch(res, 5), structure(list(i = integer(), n = data.frame(a = character())), class = "data.frame", row.names = integer()))
  expect_true(dbHasCompleted(res))
  dbClearResult(res)
  # Those whose texts are made for whole columns only.
  res <- dbSendQuery(con, "SELECT '101'::BIT AS b FROM range(5)")
  expect_identical(dbFetch(res, 2)$b[], c("101", "101"))
  expect_identical(nrow(dbFetch(res)), 3L)
  dbClearResult(res)
})

test_that("parameters are values, or vectors of them", {
  con <- connected()
  dbExecute(con, "CREATE TABLE t (i INTEGER, s VARCHAR, d DATE, m TIMESTAMPTZ, b BLOB)")
  moment <- as.POSIXct("2024-05-06 07:08:09.123456", tz = "UTC")
  rows <- list(c(1L, NA, 3L), c("a", "b", NA), as.Date("2024-01-01") + 0:2, moment + 0:2, list(as.raw(1), NULL, raw()))
  expect_identical(dbExecute(con, "INSERT INTO t VALUES (?, ?, ?, ?, ?)", params = rows), 3L)
  back <- dbReadTable(con, "t")
  expect_identical(back$i[], rows[[1L]])
  expect_identical(back$s[], rows[[2L]])
  expect_equal(back$d, rows[[3L]])
  expect_lt(max(abs(as.numeric(back$m) - as.numeric(rows[[4L]]))), 1e-6)
  expect_identical(back$b, rows[[5L]])
  expect_identical(dbGetQuery(con, "SELECT count(*)::INTEGER AS n, $x::INTEGER AS x FROM t WHERE i >= $x", params = list(x = c(0L, 3L)))$n[], c(2L, 1L))
  expect_identical(dbGetQuery(con, "SELECT ? AS a, ? AS b", params = list("'; DROP TABLE t; --", NA))$a, "'; DROP TABLE t; --")
  expect_identical(nrow(dbGetQuery(con, "SELECT i FROM t WHERE i = ?", params = list(integer()))), 0L)
  expect_error(dbGetQuery(con, "SELECT ?", params = list()), "1 parameters")
  expect_error(dbGetQuery(con, "SELECT $a", params = list(b = 1)), "\\$a")
  # All rows, or none.
  dbExecute(con, "CREATE TABLE k (i INTEGER PRIMARY KEY)")
  expect_error(dbExecute(con, "INSERT INTO k VALUES (?)", params = list(c(1L, 2L, 1L))), class = "inlay_error_unique")
  expect_identical(as.numeric(dbGetQuery(con, "SELECT count(*) AS n FROM k")$n), 0)
})

test_that("vectors of every class are bound, row by row and all at once", {
  con <- connected()
  n <- 130L
  values <- data.frame(a = c(NA, 2:n), b = c("ä", NA, as.character(3:n)), c = as.POSIXct(1e9 + c(NA, 2:n), origin = "1970-01-01", tz = "UTC"), e = as.Date("2024-01-01") + c(NA, 2:n),
                       f = c(NaN, NA, 3:n), h = rep(c(TRUE, NA), n / 2), i = bit64::as.integer64(c(NA, 2:n)))
  values$d <- structure(c(NA, 2:n), units = "secs", class = c("hms", "difftime"))
  values$v <- as.difftime(c(NA, 2:n), units = "mins")
  values$g <- rep(list(as.raw(1:3), NULL), n / 2)
  dbCreateTable(con, "t", values)
  dbCreateTable(con, "one", values)
  insert <- function(table) sprintf("INSERT INTO %s VALUES (%s)", table, paste(rep("?", ncol(values)), collapse = ", "))
  expect_identical(dbExecute(con, insert("t"), params = unname(as.list(values))), n)
  for (row in seq_len(n)) dbExecute(con, insert("one"), params = lapply(unname(as.list(values)), `[`, row))
  for (table in c("t", "one")) {
    back <- dbReadTable(con, table)
    expect_equal(as.numeric(back$v), as.numeric(values$v, units = "secs"))
    expect_equal(back[setdiff(names(values), "v")], values[setdiff(names(values), "v")], ignore_attr = "tzone", info = table)
  }
  expect_identical(dbExecute(con, "UPDATE t SET b = 'new' WHERE a = ?", params = list(c(2L, 3L, -1L))), 2L)
})

test_that("a POSIXct without a zone in SQL is as in UTC, bound and appended", {
  withr::local_envvar(TZ = "America/New_York")
  con <- connected()
  dbExecute(con, "CREATE TABLE t (m TIMESTAMP)")
  moment <- as.POSIXct("2024-05-06 12:00:00", tz = "UTC")
  dbAppendTable(con, "t", data.frame(m = moment))
  expect_identical(as.numeric(dbReadTable(con, "t")$m), as.numeric(moment))
  expect_identical(dbGetQuery(con, "SELECT m::VARCHAR AS s FROM t")$s, "2024-05-06 12:00:00")
})

test_that("moments survive in any zone", {
  for (zone in c("America/New_York", "Asia/Kathmandu")) {
    withr::with_envvar(c(TZ = zone), {
      con <- dbConnect(inlay())
      moments <- as.POSIXct("2024-03-10 02:30:00.123457", tz = "UTC") + c(0, 1e6 + 0.5, NA)
      dbWriteTable(con, "t", data.frame(m = moments))
      inlay_register(con, "r", data.frame(m = moments))
      for (table in c("t", "r")) {
        back <- dbGetQuery(con, paste("FROM", table))$m
        expect_lt(max(abs(as.numeric(back) - as.numeric(moments)), na.rm = TRUE), 1e-6)
        expect_identical(is.na(back), is.na(moments))
        expect_identical(dbGetQuery(con, paste("SELECT typeof(m) AS t FROM", table))$t[[1L]], "TIMESTAMP WITH TIME ZONE")
      }
      expect_identical(format(dbReadTable(con, "t")$m, "%H:%M"), format(moments, "%H:%M", tz = zone))
      dbDisconnect(con)
    })
  }
  con <- connected(timezone_out = "Asia/Kathmandu")
  expect_identical(attr(dbGetQuery(con, "SELECT now() AS m")$m, "tzone"), "Asia/Kathmandu")
  expect_error(dbConnect(inlay(), timezone_out = "Atlantis"), "Atlantis")
})

test_that("transactions", {
  con <- connected()
  dbExecute(con, "CREATE TABLE t (i INTEGER)")
  expect_error(dbWithTransaction(con, {
    dbExecute(con, "INSERT INTO t VALUES (1)")
    stop("no")
  }), "no")
  expect_identical(nrow(dbReadTable(con, "t")), 0L)
  expect_identical(dbWithTransaction(con, dbExecute(con, "INSERT INTO t VALUES (1), (2)")), 2L)
  expect_identical(dbReadTable(con, "t")$i[], 1:2)
  dbBegin(con)
  expect_error(dbBegin(con), class = "inlay_error_transaction_state")
  dbRollback(con)
  expect_error(dbCommit(con), class = "inlay_error_transaction_state")
})

test_that("several statements are one text", {
  con <- connected()
  expect_identical(dbGetQuery(con, "CREATE TABLE t (i INTEGER); INSERT INTO t VALUES (1); SELECT i FROM t")$i[], 1L)
})

test_that("settings, and reading only", {
  file <- withr::local_tempfile(fileext = ".inlay")
  con <- dbConnect(inlay(), file, config = list(threads = 1, memory_limit = "1GB"))
  expect_identical(dbGetQuery(con, "SELECT current_setting('threads')::INTEGER AS n")$n, 1L)
  dbWriteTable(con, "t", data.frame(i = 1L))
  dbDisconnect(con)
  con <- connected(file, read_only = TRUE)
  expect_true(dbIsReadOnly(con))
  expect_error(dbExecute(con, "INSERT INTO t VALUES (2)"), class = "inlay_error_read_only")
  expect_error(dbConnect(inlay(), config = list(no_such_setting = 1)), class = "inlay_error")
})

test_that("literals have their types", {
  con <- connected()
  values <- list(
    TRUE, NA_integer_, 1L, 2.5, 0.1 + 0.2, Inf, NaN, "it's", as.Date("2024-02-29"), as.POSIXct(1e9 + 0.25, origin = "1970-01-01"), as.difftime(1, units = "mins"),
    bit64::as.integer64("9007199254740993"), list(as.raw(0:2))
  )
  for (value in values) {
    back <- dbGetQuery(con, paste("SELECT", dbQuoteLiteral(con, value), "AS x"))$x
    if (inherits(value, "difftime")) value <- as.difftime(60, units = "secs")
    expect_equal(back, value, ignore_attr = "tzone")
  }
})
