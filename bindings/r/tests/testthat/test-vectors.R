# Columns as vectors over the engine's memory.

test_that("numbers of a table are read where they lie, also with NULLs", {
  con <- connected()
  dbExecute(con, "CREATE TABLE t AS SELECT i::INTEGER AS i, i::DOUBLE AS d, i AS b, CASE WHEN i % 3 = 0 THEN i::INTEGER END AS ni,
    CASE WHEN i % 3 = 0 THEN i::DOUBLE END AS nd, CASE WHEN i % 3 = 0 THEN i END AS nb FROM range(300000) r(i)")
  x <- dbGetQuery(con, "FROM t")
  for (name in names(x)) expect_identical(inside(x[[name]]), "mapped", info = name)
  whole <- 0:299999
  holes <- ifelse(whole %% 3 == 0, whole, NA)
  expect_identical(x$i[], whole)
  expect_identical(x$d[], as.double(whole))
  expect_identical(x$ni[], as.integer(holes))
  expect_identical(x$nd[], as.double(holes))
  expect_identical(x$nb, bit64::as.integer64(holes))
  expect_identical(sum(is.na(x$nd)), 200000L)
  expect_false(any(is.nan(x$nd)))
  expect_identical(inside(x$i), "mapped")
})

test_that("what R writes is R's own", {
  con <- connected()
  dbExecute(con, "CREATE TABLE t AS SELECT i::INTEGER AS i, i::DOUBLE AS d, i::VARCHAR AS s FROM range(1000) r(i)")
  x <- dbGetQuery(con, "FROM t")
  y <- dbGetQuery(con, "FROM t")
  x$i[[1L]] <- -7L
  x$d[[2L]] <- -8
  x$s[[3L]] <- "other"
  z <- x
  z$i[[1L]] <- -9L
  expect_identical(x$i[1:2], c(-7L, 1L))
  expect_identical(z$i[1:2], c(-9L, 1L))
  expect_identical(x$s[2:4], c("1", "other", "3"))
  expect_identical(y$i[1:2], 0:1)
  expect_identical(dbGetQuery(con, "SELECT min(i) AS i, min(d) AS d, min(s) AS s FROM t"), data.frame(i = 0L, d = 0, s = "0"))
})

test_that("every type has its class, also without rows and with NULL first", {
  con <- connected()
  dbExecute(con, "CREATE TYPE mood AS ENUM ('sad', 'ok')")
  values <- c(
    BOOLEAN = "true", TINYINT = "'-128'", SMALLINT = "'-32768'", INTEGER = "2147483647", BIGINT = "9007199254740993", UTINYINT = "255",
    USMALLINT = "65535", UINTEGER = "4294967295", UBIGINT = "18446744073709551615", HUGEINT = "'-3'", REAL = "1.5", DOUBLE = "'-Infinity'",
    "DECIMAL(4, 2)" = "'-12.34'", "DECIMAL(9, 3)" = "123456.789", "DECIMAL(18, 4)" = "12345678901234.5678", "DECIMAL(38, 2)" = "'-0.25'",
    VARCHAR = "'ä\U1F600'", BLOB = "'\\x00\\xFF'", DATE = "'2024-02-29'", TIME = "'10:11:12.5'", TIMESTAMP = "'2024-02-29 12:00:00.25'",
    TIMESTAMP_S = "'1969-12-31 23:59:59'", TIMESTAMP_MS = "'2024-01-01 00:00:00.125'", TIMESTAMP_NS = "'2024-01-01 00:00:00.5'",
    TIMESTAMPTZ = "'2024-02-29 12:00:00+00'", INTERVAL = "'1 day 1 second'", UUID = "'123e4567-e89b-12d3-a456-426614174000'",
    BIT = "'101'", JSON = "'{\"a\": 1}'", mood = "'ok'", "INTEGER[]" = "[1, NULL]", "INTEGER[2]" = "[1, 2]",
    "STRUCT(a INTEGER, b VARCHAR)" = "{'a': 1, 'b': 'x'}", "MAP(VARCHAR, INTEGER)" = "MAP {'k': 1}"
  )
  moment <- function(seconds, zone = "UTC") as.POSIXct(seconds, origin = "1970-01-01", tz = zone)
  expected <- list(
    TRUE, -128L, -32768L, 2147483647L, bit64::as.integer64("9007199254740993"), 255L, 65535L, 4294967295, 18446744073709551615, -3, 1.5, -Inf,
    -12.34, 123456.789, 12345678901234.5678, -0.25, "ä\U1F600", list(as.raw(c(0, 255))), as.Date("2024-02-29"),
    structure(36672.5, units = "secs", class = c("hms", "difftime")), moment(1709208000.25), moment(-1), moment(1704067200.125),
    moment(1704067200.5), moment(1709208000, ""), as.difftime(86401, units = "secs"), "123e4567-e89b-12d3-a456-426614174000", "101",
    "{\"a\": 1}", factor("ok", c("sad", "ok")), list(c(1L, NA)), list(1:2), data.frame(a = 1L, b = "x"), list(data.frame(key = "k", value = 1L))
  )
  nothing <- function(x) if (is.list(x) && !is.data.frame(x)) list(NULL) else if (is.data.frame(x)) data.frame(a = NA_integer_, b = NA_character_) else x[NA_integer_]
  for (i in seq_along(values)) {
    type <- names(values)[[i]]
    sql <- function(rows) paste0("SELECT x FROM (VALUES (1, NULL::", type, "), (2, ", values[[i]], "::", type, ")) t(n, x) WHERE n IN (", rows, ") ORDER BY n")
    expect_equal(dbGetQuery(con, sql("2"))$x, expected[[i]], info = type, ignore_attr = FALSE)
    expect_equal(dbGetQuery(con, sql("1"))$x, nothing(expected[[i]]), info = type)
    both <- dbGetQuery(con, sql("1, 2"))$x
    none <- dbGetQuery(con, sql("0"))$x
    expect_identical(class(both), class(expected[[i]]), info = type)
    expect_identical(attributes(none)[c("class", "levels", "tzone", "units")], attributes(both)[c("class", "levels", "tzone", "units")], info = type)
    expect_identical(typeof(none), typeof(both), info = type)
  }
})

test_that("days and moments without end are infinite", {
  con <- connected()
  x <- dbGetQuery(con, "SELECT 'infinity'::DATE AS a, '-infinity'::DATE AS b, 'infinity'::TIMESTAMP AS c, '-infinity'::TIMESTAMPTZ AS d")
  expect_identical(vapply(x, as.numeric, 0), c(a = Inf, b = -Inf, c = Inf, d = -Inf))
})

test_that("vectors work everywhere in R, and are saved as plain ones", {
  con <- connected()
  dbExecute(con, "CREATE TABLE t AS SELECT (i * 7 % 1000)::INTEGER AS i, (i * 7 % 1000) / 4 AS d, CASE WHEN i % 5 > 0 THEN 's' || (i * 7 % 1000) END AS s,
    i % 2 = 0 AS l, DATE '2024-01-01' + (i % 50)::INTEGER AS day FROM range(1000) r(i)")
  x <- dbGetQuery(con, "FROM t")
  plain <- data.frame(i = as.integer(((0:999) * 7) %% 1000))
  plain$d <- plain$i / 4
  plain$s <- ifelse((0:999) %% 5 > 0, paste0("s", plain$i), NA)
  plain$l <- (0:999) %% 2 == 0
  plain$day <- as.Date("2024-01-01") + (0:999) %% 50
  expect_equal(x, plain)
  expect_identical(x[order(x$i, x$s), ]$d, plain[order(plain$i, plain$s), ]$d)
  expect_identical(sort(x$i), 0:999)
  expect_identical(unique(x$l), c(TRUE, FALSE))
  expect_identical(rev(x$s), rev(plain$s))
  expect_identical(table(x$s), table(plain$s))
  expect_identical(tapply(x$d, x$l, sum), tapply(plain$d, plain$l, sum))
  expect_identical(range(x$day), range(plain$day))
  expect_identical(nchar(x$s), nchar(plain$s))
  expect_identical(coef(lm(d ~ i, x)), coef(lm(d ~ i, plain)))
  file <- withr::local_tempfile()
  saveRDS(x, file)
  back <- readRDS(file)
  expect_equal(back, plain)
  for (name in names(back)) expect_identical(inside(back[[name]]), NA, info = name)
  expect_identical(unserialize(serialize(x$s, NULL)), plain$s)
})

test_that("texts are made when they are touched", {
  con <- connected()
  x <- dbGetQuery(con, "SELECT 'text ' || i AS s FROM range(100000) t(i)")
  expect_identical(inside(x$s), "not read yet")
  expect_identical(names(x), "s")
  expect_identical(nrow(x), 100000L)
  expect_identical(x$s[[7L]], "text 6")
  expect_identical(inside(x$s), "converted on touch")
  expect_identical(Encoding(dbGetQuery(con, "SELECT 'ä' AS s")$s), "UTF-8")
  # A failure on touch is an error, and R goes on.
  y <- dbGetQuery(con, "SELECT chr(0) || 'x' AS s UNION ALL SELECT 'fine' ORDER BY 1 DESC")
  expect_identical(y$s[[1L]], "fine")
  expect_error(y$s[[2L]], "NUL")
  expect_error(sort(y$s), "NUL")
  expect_identical(y$s[[1L]], "fine")
})

test_that("head() of a long result copies little", {
  con <- connected()
  dbExecute(con, "CREATE TABLE t AS SELECT i AS b, i::DOUBLE AS d, 's' AS s FROM range(3000000) r(i)")
  x <- dbGetQuery(con, "FROM t")
  gc(reset = TRUE)
  before <- sum(gc()[, 2])
  y <- head(x)
  expect_lt(sum(gc()[, 6]) - before, 2)
  expect_identical(nrow(y), 6L)
  expect_identical(inside(x$d), "mapped")
})

test_that("columns outlive the result, the connection and the database", {
  make <- function(dbdir) {
    con <- dbConnect(inlay(), dbdir)
    on.exit(dbDisconnect(con))
    dbExecute(con, "CREATE TABLE t AS SELECT i::INTEGER AS i, CASE WHEN i % 2 = 0 THEN i::DOUBLE END AS d, 's' || i AS s, 'b' || i AS again, '101'::BIT AS bit,
      i % 3 = 0 AS l, {'a': i} AS n FROM range(20000) r(i)")
    x <- dbGetQuery(con, "FROM t")
    x$again[[1L]]
    list(x, dbGetQuery(con, "SELECT i + 1 AS i, sqrt(i) AS d FROM t"))
  }
  for (dbdir in c(":memory:", withr::local_tempfile(fileext = ".inlay"))) {
    both <- make(dbdir)
    gc()
    x <- both[[1L]]
    expect_identical(x$i[], 0:19999)
    expect_identical(x$d[1:4], c(0, NA, 2, NA))
    expect_identical(x$s[c(1, 20000)], c("s0", "s19999"))
    expect_identical(x$again[c(1, 20000)], c("b0", "b19999"))
    expect_identical(x$bit[c(1, 20000)], c("101", "101"))
    expect_identical(sum(x$l), 6667L)
    expect_identical(both[[2L]]$d[[10001L]], 100)
  }
})

test_that("memory of results that nobody has comes back", {
  con <- connected()
  use <- function() .Call(inlay:::C_memory_used, con@database)
  held <- function() {
    x <- dbGetQuery(con, "SELECT i, 'a longer text than fits into a view ' || i AS s FROM range(200000) t(i)")
    x$s[[1L]]
  }
  held()
  gc()
  before <- use()
  for (i in 1:20) held()
  gc()
  expect_lt(use() - before, 20e6)
})

test_that("results that nobody has are collected before memory is short", {
  for (limit in c("400MB", "100MB")) {
    con <- connected(config = list(memory_limit = limit))
    for (i in 1:40) x <- dbGetQuery(con, "SELECT i * 2 AS i, i / 2 AS d FROM range(1000000) t(i)")
    expect_identical(x$d[[1000000L]], 499999.5)
  }
  expect_error(dbGetQuery(con, "SELECT i * 2 AS i, i / 2 AS d FROM range(100000000) t(i)"), class = "inlay_error_out_of_memory")
})

test_that("thousands of results are held and dropped", {
  con <- connected()
  dbExecute(con, "CREATE TABLE t AS SELECT i::INTEGER AS i, 'x' || i AS s FROM range(1000) r(i)")
  held <- lapply(1:2000, function(i) dbGetQuery(con, "FROM t"))
  expect_identical(held[[2000L]]$s[[7L]], "x6")
  held <- NULL
  gc()
  expect_identical(nrow(dbReadTable(con, "t")), 1000L)
})

test_that("where many columns are held, others are copied", {
  con <- connected()
  dbExecute(con, "CREATE TABLE t AS SELECT i::INTEGER AS i, CASE WHEN i % 2 = 0 THEN i::DOUBLE END AS d FROM range(50000) r(i)")
  withr::local_options(inlay.mapped = 0)
  copied <- dbReadTable(con, "t")
  expect_identical(inside(copied$i), NA)
  withr::local_options(inlay.mapped = 32000)
  mapped <- dbReadTable(con, "t")
  expect_identical(inside(mapped$i), "mapped")
  expect_identical(copied$d, mapped$d[])
  expect_identical(copied$i[50000], 49999L)
})
