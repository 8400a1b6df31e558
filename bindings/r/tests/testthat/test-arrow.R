# Rows as streams of Arrow, and DBI's functions for them.

numbers <- function(con, rows) dbExecute(con, sprintf("CREATE TABLE t AS SELECT i::INTEGER AS i, 's' || i AS s FROM range(%d) r(i)", rows))

test_that("a query gives a stream, which another connection reads", {
  con <- connected()
  numbers(con, 10000)
  other <- connected()
  inlay_register(other, "rows", dbGetQueryArrow(con, "SELECT * FROM t WHERE i >= $least", params = list(least = 100)))
  expect_identical(dbGetQuery(other, "SELECT count(*)::INTEGER AS n, min(s) AS s FROM rows")$n, 9900L)
  inlay_register(other, "all_rows", dbReadTableArrow(con, "t"))
  expect_identical(dbGetQuery(other, "SELECT count(*)::INTEGER AS n FROM all_rows")$n, 10000L)
  stream <- inlay_arrow(con, "FROM t")
  inlay_register(other, "once", stream)
  expect_error(inlay_register(other, "twice", stream), "read already")
  # The stream keeps what it needs.
  con <- dbConnect(inlay())
  numbers(con, 100000)
  stream <- inlay_arrow(con, "FROM t")
  dbDisconnect(con)
  inlay_register(other, "late", stream)
  expect_identical(dbGetQuery(other, "SELECT count(*)::INTEGER AS n FROM late")$n, 100000L)
})

test_that("a result gives its rows once", {
  con <- connected()
  numbers(con, 5)
  res <- dbSendQueryArrow(con, "SELECT i FROM t WHERE i > ?")
  expect_error(dbFetchArrow(res), "parameters")
  dbBind(res, list(1))
  expect_identical(dbGetStatement(res), "SELECT i FROM t WHERE i > ?")
  expect_identical(dbColumnInfo(res)$type, "integer")
  expect_false(dbHasCompleted(res))
  inlay_register(con, "some", dbFetchArrow(res))
  expect_true(dbHasCompleted(res))
  expect_identical(dbGetQuery(con, "FROM some")$i[], 2:4)
  expect_error(dbFetchArrow(res), "handed over")
  # A row of parameters after the other.
  dbBindArrow(res, data.frame(x = c(2, 3))[, 1, drop = FALSE] |> setNames(""))
  inlay_register(con, "some", dbFetchArrow(res))
  expect_identical(dbGetQuery(con, "FROM some")$i[], c(3L, 4L, 4L))
  expect_true(dbIsValid(res))
  dbClearResult(res)
  expect_false(dbIsValid(res))
})

test_that("streams become tables", {
  con <- connected()
  numbers(con, 3)
  dbWriteTableArrow(con, "u", dbReadTableArrow(con, "t"))
  expect_identical(dbReadTable(con, "u")$s[], c("s0", "s1", "s2"))
  expect_error(dbWriteTableArrow(con, "u", dbReadTableArrow(con, "t")), "there is a table")
  dbWriteTableArrow(con, "u", inlay_arrow(con, "SELECT s, i FROM t"), append = TRUE)
  expect_identical(dbAppendTableArrow(con, "u", data.frame(s = "x", i = 9L)), 1)
  expect_identical(dbReadTable(con, "u")$i[], c(0:2, 0:2, 9L))
  dbWriteTableArrow(con, "u", data.frame(x = TRUE), overwrite = TRUE)
  expect_identical(dbReadTable(con, "u")$x[], TRUE)
  dbCreateTableArrow(con, "v", data.frame(a = 1L, b = "x"), temporary = TRUE)
  expect_identical(dbReadTable(con, "v"), data.frame(a = integer(), b = character()))
  expect_error(dbWriteTableArrow(con, "w", list(1)), "nanoarrow|array_stream")
  expect_false(dbExistsTable(con, "w"))
})

test_that("nanoarrow reads streams, in pieces too, and makes some", {
  skip_if_not_installed("nanoarrow")
  con <- connected()
  numbers(con, 300000)
  expect_identical(as.data.frame(dbGetQueryArrow(con, "SELECT i FROM t ORDER BY i"))$i, 0:299999)
  res <- dbSendQueryArrow(con, "SELECT i FROM t")
  rows <- 0
  repeat {
    chunk <- dbFetchArrowChunk(res)
    if (chunk$length == 0) break
    rows <- rows + chunk$length
  }
  expect_identical(rows, 300000)
  expect_true(dbHasCompleted(res))
  dbClearResult(res)
  dbWriteTableArrow(con, "u", nanoarrow::as_nanoarrow_array(data.frame(a = 1:3)))
  inlay_register(con, "r", nanoarrow::as_nanoarrow_array_stream(data.frame(a = 4:5)))
  expect_identical(dbGetQuery(con, "SELECT a FROM u UNION ALL FROM r ORDER BY a")$a[], 1:5)
  dbCreateTableArrow(con, "v", nanoarrow::as_nanoarrow_array(data.frame(a = 1:3)))
  expect_identical(dbReadTable(con, "v")$a[], integer())
})

test_that("who reads a stream in R ends it by Ctrl-C, and has functions in R called", {
  skip_if_not_installed("nanoarrow")
  skip_on_os("windows")
  con <- connected()
  inlay_function(con, "up", function(x) x + 1, "DOUBLE", "DOUBLE", parts = TRUE)
  stream <- inlay_arrow(con, "SELECT up(i) AS x FROM range(500000) r(i)")
  expect_identical(nrow(as.data.frame(stream)), 500000L)
  stream <- inlay_arrow(con, "SELECT i FROM range(100000000000) r(i)")
  system(sprintf("(sleep 0.5; kill -INT %d) &", Sys.getpid()))
  # Between two batches it is R's own interrupt.
  answer <- tryCatch(while (!is.null(stream$get_next())) NULL, interrupt = function(e) "interrupted", error = conditionMessage)
  expect_match(answer, "interrupted")
  expect_identical(dbGetQuery(con, "SELECT 1::INTEGER AS x")$x, 1L)
})
