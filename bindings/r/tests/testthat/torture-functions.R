# Run by test-functions.R: a garbage collection at each allocation, with 8 threads and with one.
answers <- function(threads) {
  con <- dbConnect(inlay(), config = list(threads = threads))
  dbExecute(con, "CREATE TABLE t AS SELECT i::INTEGER AS i, i::DOUBLE AS d, 's' || i % 5 AS s, i % 4 AS g FROM range(50000) r(i)")
  inlay_function(con, "plus", function(x, y) x + y, c("INTEGER", "DOUBLE"), "DOUBLE", parts = TRUE)
  inlay_function(con, "most", function(x) max(x), "DOUBLE", "DOUBLE", kind = "aggregate")
  inlay_function(con, "some", function(n) data.frame(i = seq_len(n), s = "\u00e4"), "INTEGER", c(i = "INTEGER", s = "VARCHAR"), kind = "table")
  inlay_function(con, "breaks", function(x) stop("no"), "INTEGER", "INTEGER")
  frame <- data.frame(i = 1:3, s = c("a", NA, "c"))
  gctorture(TRUE)
  on.exit(gctorture(FALSE))
  inlay_register(con, "r", frame)
  a <- dbGetQuery(con, "SELECT sum(plus(i, d)) AS s FROM t")$s[[1L]]
  b <- dbGetQuery(con, "SELECT g, most(d) AS m FROM t WHERE i < 100 GROUP BY g ORDER BY g")$m[1:4]
  c <- dbGetQuery(con, "SELECT i, s FROM some(4)")$s[1:4]
  d <- tryCatch(dbGetQuery(con, "SELECT breaks(i) FROM t"), inlay_error = function(e) e$text)
  e <- dbGetQuery(con, "SELECT count(s) AS n FROM r")$n[[1L]]
  gctorture(FALSE)
  dbDisconnect(con)
  list(a, b, c, d, e)
}
many <- answers(8)
stopifnot(identical(many, answers(1)), many[[1L]] == 2 * sum(0:49999), identical(many[[2L]], c(96, 97, 98, 99)), identical(many[[3L]], rep("\u00e4", 4)),
          grepl("no", many[[4L]]))
