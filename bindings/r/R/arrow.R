#' @include functions.R
NULL

# Rows as streams of Arrow: DBI's functions for them, and inlay_arrow(). DBI has the generics since 1.2; with an older one they are this
# package's, and do the same.

# The rows of a query as a stream of Arrow, for the packages nanoarrow and arrow, or another connection.
inlay_arrow <- function(conn, statement) {
  sql <- checked_sql(conn, statement)
  run <- .Call(C_execute, conn@handle, prepared(conn, sql), sql, FALSE)
  on.exit(.Call(C_free_handle, run$handle, "result"))
  .Call(C_arrow_stream, conn@handle, run$handle)
}

has_nanoarrow <- function() nzchar(system.file(package = "nanoarrow"))

# Rows as a stream. What is none, nanoarrow knows.
stream_of <- function(value) {
  if (inherits(value, "nanoarrow_array_stream")) return(value)
  if (is.data.frame(value)) return(.Call(C_frame_arrow, plain_frame(value)))
  if (!has_nanoarrow()) fail("`value` is a stream of Arrow or a data frame; the package nanoarrow makes streams of others")
  nanoarrow::as_nanoarrow_array_stream(value)
}

GENERICS_OF_ARROW <- list(
  dbSendQueryArrow = function(conn, statement, ...) standardGeneric("dbSendQueryArrow"),
  dbGetQueryArrow = function(conn, statement, ...) standardGeneric("dbGetQueryArrow"),
  dbFetchArrow = function(res, ...) standardGeneric("dbFetchArrow"),
  dbFetchArrowChunk = function(res, ...) standardGeneric("dbFetchArrowChunk"),
  dbBindArrow = function(res, params, ...) standardGeneric("dbBindArrow"),
  dbReadTableArrow = function(conn, name, ...) standardGeneric("dbReadTableArrow"),
  dbWriteTableArrow = function(conn, name, value, ...) standardGeneric("dbWriteTableArrow"),
  dbAppendTableArrow = function(conn, name, value, ...) standardGeneric("dbAppendTableArrow"),
  dbCreateTableArrow = function(conn, name, value, ...) standardGeneric("dbCreateTableArrow")
)

DBI_HAS_ARROW <- "dbGetQueryArrow" %in% getNamespaceExports("DBI")

if (!DBI_HAS_ARROW) for (name in names(GENERICS_OF_ARROW)) {
  eval(bquote(setGeneric(.(name), .(GENERICS_OF_ARROW[[name]]))))
}

setClass("inlay_result_arrow", contains = if (DBI_HAS_ARROW) "DBIResultArrow" else "DBIObject", slots = c(result = "inlay_result"))

setMethod("show", "inlay_result_arrow", function(object) {
  cat("<inlay_result_arrow>\n  SQL  ", object@result@sql, "\n", if (!dbIsValid(object)) "  CLEARED\n", sep = "")
})

setMethod("dbSendQueryArrow", "inlay_connection", function(conn, statement, ..., params = NULL) {
  new("inlay_result_arrow", result = send(conn, statement, params, FALSE))
})

# What is left of the rows. Several runs, one for each row of parameters, are joined.
rest_of <- function(res) {
  state <- valid(res)
  if (!state$is_bound) fail("the statement has parameters: bind them by dbBind() or dbBindArrow()")
  if (!is.null(state$stream)) return(state$stream)
  if (!has_rows(state)) {
    warning(NO_ROWS, call. = FALSE)
    return(stream_of(data.frame()))
  }
  if (length(state$runs) > 1L) stream_of(dbFetch(res)) else .Call(C_arrow_stream, res@conn@handle, state$runs[[1L]]$handle)
}

setMethod("dbFetchArrow", "inlay_result_arrow", function(res, ...) {
  state <- valid(res@result)
  if (isTRUE(state$is_complete)) fail("the rows of this result were handed over; run the statement again")
  stream <- rest_of(res@result)
  state$is_complete <- TRUE
  stream
})

setMethod("dbFetchArrowChunk", "inlay_result_arrow", function(res, ...) {
  if (!has_nanoarrow()) fail("dbFetchArrowChunk() needs the package nanoarrow")
  state <- res@result@state
  state$stream <- rest_of(res@result)
  chunk <- if (isTRUE(state$is_complete)) NULL else state$stream$get_next()
  if (is.null(chunk)) {
    state$is_complete <- TRUE
    return(nanoarrow::as_nanoarrow_array(nanoarrow::infer_nanoarrow_ptype(state$stream$get_schema())))
  }
  state$fetched <- state$fetched + chunk$length
  chunk
})

setMethod("dbGetQueryArrow", "inlay_connection", function(conn, statement, ..., params = NULL) {
  res <- dbSendQueryArrow(conn, statement, params = params)
  on.exit(dbClearResult(res))
  dbFetchArrow(res)
})

setMethod("dbBind", "inlay_result_arrow", function(res, params, ...) {
  dbBind(res@result, params)
  invisible(res)
})

setMethod("dbBindArrow", "inlay_result_arrow", function(res, params, ...) {
  rows <- as.list(as.data.frame(params))
  if (all(names(rows) == "")) names(rows) <- NULL
  dbBind(res, rows)
})

setMethod("dbClearResult", "inlay_result_arrow", function(res, ...) dbClearResult(res@result))

setMethod("dbIsValid", "inlay_result_arrow", function(dbObj, ...) dbIsValid(dbObj@result))

setMethod("dbHasCompleted", "inlay_result_arrow", function(res, ...) isTRUE(valid(res@result)$is_complete))

setMethod("dbGetStatement", "inlay_result_arrow", function(res, ...) dbGetStatement(res@result))

setMethod("dbGetRowCount", "inlay_result_arrow", function(res, ...) dbGetRowCount(res@result))

setMethod("dbGetRowsAffected", "inlay_result_arrow", function(res, ...) dbGetRowsAffected(res@result))

setMethod("dbColumnInfo", "inlay_result_arrow", function(res, ...) dbColumnInfo(res@result))

setMethod("dbGetInfo", "inlay_result_arrow", function(dbObj, ...) {
  state <- valid(dbObj@result)
  list(statement = dbObj@result@sql, row.count = state$fetched, rows.affected = state$affected, has.completed = isTRUE(state$is_complete))
})

setMethod("dbReadTableArrow", "inlay_connection", function(conn, name, ...) {
  inlay_arrow(conn, paste0("SELECT * FROM ", dbQuoteIdentifier(conn, name)))
})

# Has SQL read a stream by a name that is nothing else's, which is forgotten afterwards.
with_stream <- function(conn, value, run) {
  name <- own_name(conn)
  .Call(C_register_stream, conn@handle, name, stream_of(value))
  on.exit(.Call(C_unregister_frame, conn@handle, name))
  run(name)
}

setMethod("dbAppendTableArrow", "inlay_connection", function(conn, name, value, ...) {
  checked_connection(conn)
  with_stream(conn, value, function(from) insert_from(conn, name, from))
})

setMethod("dbWriteTableArrow", "inlay_connection", function(conn, name, value, ..., append = FALSE, overwrite = FALSE, temporary = FALSE) {
  checked_connection(conn)
  checked_flag(append, "append")
  checked_flag(overwrite, "overwrite")
  checked_flag(temporary, "temporary")
  if (overwrite && append) fail("`overwrite` and `append` cannot both be TRUE")
  table_parts(conn, name)
  atomically(conn, {
    is_there <- dbExistsTable(conn, name)
    if (is_there && !overwrite && !append) fail("there is a table ", as.character(dbQuoteIdentifier(conn, name)), "; give overwrite = TRUE or append = TRUE")
    if (is_there && overwrite) dbRemoveTable(conn, name)
    if (is_there && append) with_stream(conn, value, function(from) insert_from(conn, name, from))
    else with_stream(conn, value, function(from) {
      run_sql(conn, paste0("CREATE ", if (temporary) "TEMPORARY ", "TABLE ", dbQuoteIdentifier(conn, name), " AS SELECT * FROM ", from))
    })
  })
  invisible(TRUE)
})

# Only the columns of what is given; nothing of a stream is read.
setMethod("dbCreateTableArrow", "inlay_connection", function(conn, name, value, ..., temporary = FALSE) {
  checked_connection(conn)
  if (!is.data.frame(value)) {
    if (!has_nanoarrow()) fail("dbCreateTableArrow() needs the package nanoarrow, but for data frames")
    if (!inherits(value, "nanoarrow_schema")) value <- nanoarrow::infer_nanoarrow_schema(value)
    value <- nanoarrow::infer_nanoarrow_ptype(value)
  }
  dbCreateTable(conn, name, value[0L, , drop = FALSE], temporary = temporary)
})
