#' @include driver.R
NULL

setClass("inlay_connection", contains = "DBIConnection", slots = c(
  handle = "externalptr", database = "externalptr", driver = "inlay_driver", dbdir = "character", bigint = "character",
  timezone_out = "character", factors = "character", read_only = "logical", state = "environment"
))

setMethod("show", "inlay_connection", function(object) {
  cat("<inlay_connection ", object@dbdir, if (!dbIsValid(object)) " DISCONNECTED", ">\n", sep = "")
})

setMethod("dbIsValid", "inlay_connection", function(dbObj, ...) .Call(C_is_open, dbObj@handle))

setMethod("dbIsReadOnly", "inlay_connection", function(dbObj, ...) dbObj@read_only)

setMethod("dbGetInfo", "inlay_connection", function(dbObj, ...) {
  list(db.version = .Call(C_library_version), dbname = dbObj@dbdir, username = NA, host = NA, port = NA)
})

setMethod("dbDisconnect", "inlay_connection", function(conn, ...) {
  if (!dbIsValid(conn)) {
    warning("the connection is closed already", call. = FALSE)
    return(invisible(TRUE))
  }
  open <- as.list(conn@state$results)
  if (length(open) > 0L) {
    warning(length(open), " result(s) of the connection were open, and are cleared now", call. = FALSE)
    for (state in open) clear(state)
  }
  .Call(C_disconnect, conn@handle, conn@database, conn@dbdir != ":memory:")
  pane_closed(conn)
  invisible(TRUE)
})

inlay_interrupt <- function(conn) invisible(.Call(C_interrupt_connection, conn@handle))

# Runs statements without results.
run_sql <- function(conn, sql) {
  run <- .Call(C_execute, conn@handle, NULL, enc2utf8(sql), FALSE)
  .Call(C_free_handle, run$handle, "result")
  invisible()
}

bigint_code <- function(conn) match(conn@bigint, BIGINTS) - 1L
