#' @include fetch.R
NULL

# dbWithTransaction is DBI's, over these.
transaction <- function(conn, sql) {
  if (!dbIsValid(conn)) fail("the connection is closed")
  run_sql(conn, sql)
  invisible(TRUE)
}

setMethod("dbBegin", "inlay_connection", function(conn, ...) transaction(conn, "BEGIN"))

setMethod("dbCommit", "inlay_connection", function(conn, ...) transaction(conn, "COMMIT"))

setMethod("dbRollback", "inlay_connection", function(conn, ...) transaction(conn, "ROLLBACK"))

# All of it, within the transaction that is open, or one of its own.
atomically <- function(conn, code) if (.Call(C_in_transaction, conn@handle)) code else dbWithTransaction(conn, code)
