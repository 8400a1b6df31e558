# Data frames as tables.

test_that("integer64 is BIGINT", {
  con <- connected()
  dbWriteTable(con, "t", data.frame(x = bit64::as.integer64(c(1, NA))))
  expect_identical(dbGetQuery(con, "SELECT sum(x)::INTEGER AS s, count(*)::INTEGER AS n, typeof(min(x)) AS t FROM t"), data.frame(s = 1L, n = 2L, t = "BIGINT"))
})

test_that("factors keep levels, order and NA, or are written by label", {
  con <- connected()
  f <- factor(c("b", NA, "a"), levels = c("z", "b", "a"))
  dbWriteTable(con, "t", data.frame(f = f))
  expect_identical(dbReadTable(con, "t")$f, f, ignore_attr = FALSE)
  dbWriteTable(con, "v", data.frame(f = f), field.types = c(f = "VARCHAR"))
  expect_identical(dbReadTable(con, "v")$f[], c("b", NA, "a"))
  dbWriteTable(con, "n", data.frame(f = factor(c("10", "20"))), field.types = c(f = "INTEGER"))
  expect_identical(dbReadTable(con, "n")$f[], c(10L, 20L))
  inlay_register(con, "r", data.frame(f = f))
  expect_identical(dbGetQuery(con, "SELECT f::VARCHAR AS f FROM r")$f[], c("b", NA, "a"))
  expect_error(dbAppendTable(con, "t", data.frame(f = factor("other"))), class = "inlay_error")
  text <- connected(factors = "text")
  dbWriteTable(text, "t", data.frame(f = f))
  expect_identical(dbReadTable(text, "t")$f[], c("b", NA, "a"))
})

test_that("texts of any encoding, and errors that name column and row", {
  con <- connected()
  latin <- "M\xfcller"
  Encoding(latin) <- "latin1"
  dbWriteTable(con, "t", data.frame(s = c(latin, "Мир", NA, "")))
  expect_identical(dbReadTable(con, "t")$s[], c("Müller", "Мир", NA, ""))
  bad <- c("fine", "M\xfcller")
  expect_error(dbWriteTable(con, "bad", data.frame(who = bad)), "\"who\", row 2")
  expect_false(dbExistsTable(con, "bad"))
  expect_error(inlay_register(con, "bad", data.frame(who = bad)), "\"who\", row 2")
})

test_that("raw vectors are BLOB everywhere", {
  con <- connected()
  blobs <- list(as.raw(0:3), NULL, raw(), serialize(mtcars, NULL))
  frame <- data.frame(i = 1:4)
  frame$b <- blobs
  dbWriteTable(con, "w", frame)
  dbCreateTable(con, "a", frame)
  dbAppendTable(con, "a", frame)
  inlay_register(con, "r", frame)
  for (table in c("w", "a", "r")) expect_identical(dbGetQuery(con, paste("SELECT b FROM", table, "ORDER BY i"))$b, blobs, info = table)
  skip_if_not_installed("blob")
  frame$b <- blob::as_blob(blobs)
  dbWriteTable(con, "bb", frame)
  expect_identical(dbReadTable(con, "bb")$b, blobs)
})

test_that("a data frame is a table without being written, and is protected", {
  con <- connected()
  make <- function() data.frame(i = c(1:99999, NA), d = c(NaN, NA, 3:100000), b = bit64::as.integer64(1:100000), l = c(TRUE, NA), s = c("a", NA))
  inlay_register(con, "r", make())
  for (i in 1:3) gc()
  expect_identical(dbGetQuery(con, "SELECT count(i)::INTEGER AS i, count(d)::INTEGER AS d, sum(b)::DOUBLE AS b, count(l)::INTEGER AS l, min(s) AS s FROM r"),
                   data.frame(i = 99999L, d = 99999L, b = 5000050000, l = 50000L, s = "a"))
  # What R does to its vector afterwards is not seen.
  x <- data.frame(i = c(1L, 2L))
  inlay_register(con, "x", x)
  x$i[[1L]] <- 100L
  expect_identical(dbGetQuery(con, "SELECT sum(i)::INTEGER AS s FROM x")$s, 3L)
  expect_true(inlay_unregister(con, "x"))
  expect_false(inlay_unregister(con, "x"))
  expect_error(dbGetQuery(con, "FROM x"), class = "inlay_error_undefined_table")
})

test_that("R and SQL take turns", {
  con <- connected()
  x <- data.frame(v = as.double(1:50000))
  for (round in 1:20) {
    inlay_register(con, "x", x)
    x <- dbGetQuery(con, "SELECT v + 1 AS v FROM x")
    x$v <- x$v * 1
  }
  expect_identical(x$v[], as.double(1:50000) + 20)
})

test_that("lists, data frames within, times and intervals go both ways", {
  con <- connected()
  frame <- data.frame(i = 1:3)
  frame$l <- list(1:2, NULL, integer())
  frame$s <- list(c("a", NA), "b", character())
  frame$n <- data.frame(a = c(1.5, NA, 3), b = c("x", NA, "z"))
  frame$t <- structure(c(1, NA, 86399.5), units = "secs", class = c("hms", "difftime"))
  frame$v <- as.difftime(c(1, NA, -2), units = "mins")
  frame$d <- as.Date(c("0001-01-01", NA, "9999-12-31"))
  dbWriteTable(con, "w", frame)
  inlay_register(con, "r", frame)
  for (table in c("w", "r")) {
    back <- dbGetQuery(con, paste("FROM", table, "ORDER BY i"))
    expect_identical(back$l, frame$l, info = table)
    expect_identical(back$s, frame$s, info = table)
    expect_equal(back$n, frame$n, info = table)
    expect_equal(as.numeric(back$t), as.numeric(frame$t), info = table)
    expect_equal(as.numeric(back$v), c(60, NA, -120), info = table)
    expect_equal(back$d, frame$d, info = table)
  }
})

test_that("what has no type in SQL is an error that names the column", {
  con <- connected()
  expect_error(inlay_register(con, "r", data.frame(z = 1i)), "\"z\"")
  frame <- data.frame(i = 1L)
  frame$m <- matrix(1:2, 1)
  expect_error(dbWriteTable(con, "t", frame), "\"m\"")
})

test_that("rows are appended by name, all or none", {
  con <- connected()
  dbExecute(con, "CREATE TABLE t (a INTEGER PRIMARY KEY, b VARCHAR DEFAULT 'none')")
  expect_equal(dbAppendTable(con, "t", data.frame(b = c("x", "y"), a = 1:2)), 2)
  expect_equal(dbAppendTable(con, "t", data.frame(a = 3L)), 1)
  expect_error(dbAppendTable(con, "t", data.frame(a = c(4L, 1L))), class = "inlay_error_unique")
  expect_error(dbAppendTable(con, "t", data.frame(c = 1L)))
  expect_identical(dbGetQuery(con, "FROM t ORDER BY a")$b[], c("x", "y", "none"))
})

test_that("names with quotes, schemas and temporary tables", {
  con <- connected()
  dbWriteTable(con, "we\"ird; DROP", data.frame("a b" = 1L, check.names = FALSE))
  expect_identical(dbReadTable(con, "we\"ird; DROP", check.names = FALSE), data.frame("a b" = 1L, check.names = FALSE), ignore_attr = TRUE)
  dbExecute(con, "CREATE SCHEMA s")
  dbWriteTable(con, Id(schema = "s", table = "t"), data.frame(i = 1:2))
  expect_true(dbExistsTable(con, Id(schema = "s", table = "t")))
  expect_identical(dbListFields(con, Id(schema = "s", table = "t")), "i")
  expect_equal(dbAppendTable(con, Id(schema = "s", table = "t"), data.frame(i = 3L)), 1)
  dbWriteTable(con, "here", data.frame(i = 1L), temporary = TRUE)
  other <- dbConnect(inlay(), con@dbdir)
  expect_false(dbExistsTable(other, "here"))
  dbDisconnect(other)
})

test_that("streams of Arrow go out and come in", {
  con <- connected()
  other <- connected()
  stream <- inlay_arrow(con, "SELECT i::INTEGER AS i, CASE WHEN i % 2 = 0 THEN 's' || i END AS s, [i] AS l FROM range(300000) t(i)")
  expect_s3_class(stream, "nanoarrow_array_stream")
  inlay_register(other, "t", stream)
  back <- dbGetQuery(other, "FROM t")
  expect_identical(back$i[], 0:299999)
  expect_identical(back$s[1:3], c("s0", NA, "s2"))
  expect_error(inlay_register(other, "t", stream), "read already")
  expect_error(inlay_arrow(con, "SELECT nope"), class = "inlay_error_undefined_column")
  # One that nobody reads is let go of.
  inlay_arrow(con, "FROM range(10)")
  expect_silent(gc())
})
