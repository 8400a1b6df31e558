# Run by test-sessions.R: a garbage collection at each allocation.
con <- dbConnect(inlay(), config = list(threads = 8))
dbExecute(con, "CREATE TABLE t AS SELECT i::INTEGER AS i, CASE WHEN i % 2 = 0 THEN i::DOUBLE END AS d, i AS b, 's' || i AS s, i % 2 = 0 AS l,
  DATE '2024-01-01' + i::INTEGER AS day, TIMESTAMPTZ '2024-01-01 00:00:00+00' AS m, [i, NULL] AS list, {'a': i, 'b': 's'} AS n, 'x'::BLOB AS blob,
  (i % 2)::VARCHAR::ENUM('0', '1') AS e, '101'::BIT AS bit FROM range(5) r(i)")
handle <- con@handle
frame <- inlay:::plain_frame(data.frame(i = c(1L, NA), s = c("a", "\u00e4"), f = factor(c("x", "y")), l = c(TRUE, NA), m = Sys.time()))
gctorture(TRUE)
for (round in 1:2) {
  result <- .Call(inlay:::C_execute, handle, NULL, "FROM t", FALSE)$handle
  rows <- .Call(inlay:::C_result_rows, handle, result)
  x <- .Call(inlay:::C_fetch, handle, result, 0, rows, 0L, "")
  .Call(inlay:::C_free_handle, result, "result")
  for (column in x) if (!is.list(column)) {
    stopifnot(length(column) == 5L)
    first <- column[[1L]]
    other <- rev(column)
  }
  x$i[[1L]] <- 9L
  x$s[[2L]] <- "y"
  stopifnot(identical(x$s[1:2], c("s0", "y")), identical(x$i[1:2], c(9L, 1L)), identical(x$bit[[5L]], "101"), is.na(x$d[[2L]]))
  .Call(inlay:::C_register_frame, handle, "r", frame)
}
gctorture(FALSE)
stopifnot(identical(dbGetQuery(con, "SELECT s, f FROM r")$s[], c("a", "\u00e4")))
dbDisconnect(con)
