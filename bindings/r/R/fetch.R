#' @include result.R
NULL

NO_ROWS <- "the statement gives no rows; dbExecute() and dbSendStatement() are for those"

count_wish <- function(n) {
  if (!is.numeric(n) || length(n) != 1L || is.na(n) || (n < 0 && n != -1) || (is.finite(n) && n != trunc(n))) {
    fail("`n` is a whole number of rows, or -1 or Inf for all")
  }
  if (n < 0) Inf else n
}

has_rows <- function(state) length(state$runs) > 0L && state$runs[[1L]]$kind == 1L

rows_of <- function(res, at) {
  state <- res@state
  if (is.na(state$runs[[at]]$rows)) state$runs[[at]]$rows <- .Call(C_result_rows, res@conn@handle, state$runs[[at]]$handle)
  state$runs[[at]]$rows
}

no_rows <- function(conn, run) .Call(C_empty_frame, run$handle, bigint_code(conn), conn@timezone_out)

fetch_part <- function(conn, run, from, count) .Call(C_fetch, conn@handle, run$handle, from, count, bigint_code(conn), conn@timezone_out)

# Values of the same columns, one behind the other.
joined <- function(parts) {
  if (length(parts) == 1L) return(parts[[1L]])
  frame <- parts[[1L]]
  for (i in seq_along(frame)) {
    columns <- lapply(parts, `[[`, i)
    if (is.data.frame(columns[[1L]])) {
      frame[[i]] <- do.call(rbind, columns)
      next
    }
    values <- do.call(c, lapply(columns, unclass))
    attributes(values) <- attributes(columns[[1L]])
    attr(frame, "row.names") <- .set_row_names(length(values))
    frame <- unclass(frame)
    frame[[i]] <- values
    class(frame) <- "data.frame"
  }
  frame
}

# Next rows of a run, at most so many, as data frames. Who wants all of them gets windows of its columns; who wants some, before all are
# computed, gets them as they are computed.
fetch_run <- function(res, at, wanted) {
  state <- res@state
  run <- state$runs[[at]]
  if (is.null(run$reader) && is.na(run$rows) && is.finite(wanted) && wanted > 0) state$runs[[at]]$reader <- .Call(C_begin_pieces, run$handle)
  reader <- state$runs[[at]]$reader
  if (is.null(reader)) {
    count <- min(rows_of(res, at) - run$from, wanted)
    state$runs[[at]]$from <- run$from + count
    return(list(parts = list(fetch_part(res@conn, run, run$from, count)), count = count))
  }
  parts <- list()
  count <- 0
  while (wanted > count) {
    part <- .Call(C_next_piece, res@conn@handle, reader, wanted - count, bigint_code(res@conn), res@conn@timezone_out)
    if (is.null(part)) break
    parts[[length(parts) + 1L]] <- part
    count <- count + nrow(part)
  }
  if (length(parts) == 0L) parts <- list(no_rows(res@conn, run))
  list(parts = parts, count = count)
}

is_read <- function(res, at) {
  run <- res@state$runs[[at]]
  if (is.null(run$reader)) run$from >= rows_of(res, at) else .Call(C_is_at_end, res@conn@handle, run$reader)
}

setMethod("dbFetch", "inlay_result", function(res, n = -1, ...) {
  state <- valid(res)
  if (!state$is_bound) fail("the statement has parameters: bind them by dbBind()")
  wanted <- count_wish(n)
  if (!has_rows(state)) {
    if (length(state$runs) > 0L) warning(NO_ROWS, call. = FALSE)
    return(data.frame())
  }
  parts <- list()
  repeat {
    at <- state$at
    next_rows <- fetch_run(res, at, wanted)
    parts <- c(parts, next_rows$parts)
    state$fetched <- state$fetched + next_rows$count
    wanted <- wanted - next_rows$count
    state$is_complete <- is_read(res, at) && at == length(state$runs)
    if (at == length(state$runs) || !is_read(res, at)) break
    state$at <- at + 1L
    if (wanted == 0) break
  }
  joined(parts)
})

setMethod("dbHasCompleted", "inlay_result", function(res, ...) {
  state <- valid(res)
  if (!state$is_bound) return(FALSE)
  !has_rows(state) || isTRUE(state$is_complete)
})

setMethod("dbGetStatement", "inlay_result", function(res, ...) {
  valid(res)
  res@sql
})

setMethod("dbGetRowCount", "inlay_result", function(res, ...) valid(res)$fetched)

# A count as an integer, where there is one.
setMethod("dbGetRowsAffected", "inlay_result", function(res, ...) {
  affected <- valid(res)$affected
  if (is.na(affected) || affected <= .Machine$integer.max) as.integer(affected) else affected
})

setMethod("dbColumnInfo", "inlay_result", function(res, ...) {
  state <- valid(res)
  if (!state$is_bound) fail("the columns are known when the parameters are bound by dbBind()")
  if (!has_rows(state)) return(data.frame(name = character(), type = character(), .sql_type = character()))
  types <- .Call(C_column_types, state$runs[[1L]]$handle)
  empty <- no_rows(res@conn, state$runs[[1L]])
  data.frame(name = names(types), type = unname(vapply(empty, function(x) class(x)[[1L]], "")), .sql_type = unname(types))
})

setMethod("dbGetInfo", "inlay_result", function(dbObj, ...) {
  state <- valid(dbObj)
  list(statement = dbObj@sql, row.count = state$fetched, rows.affected = state$affected, has.completed = dbHasCompleted(dbObj))
})

# All rows of one query, without a result in between.
setMethod("dbGetQuery", c("inlay_connection", "character"), function(conn, statement, ..., params = NULL, n = -1L) {
  if (is.null(params) && count_wish(n) == Inf) {
    sql <- checked_sql(conn, statement)
    query <- prepared(conn, sql)
    if (is.null(query) || length(.Call(C_parameter_names, query)) == 0L) {
      run <- .Call(C_execute, conn@handle, query, sql, TRUE)
      on.exit({
        .Call(C_free_handle, run$handle, "result")
        .Call(C_free_handle, query, "statement")
      })
      if (run$kind == 1L) return(fetch_part(conn, run, 0, run$rows))
      warning(NO_ROWS, call. = FALSE)
      return(data.frame())
    }
  }
  res <- send(conn, statement, params, FALSE)
  on.exit(dbClearResult(res))
  dbFetch(res, n = n)
})
