#' @include quote.R
NULL

# What a result is lies in `state`:
#   conn, sql, statement (NULL for a text of several), parameters (their names)
#   runs      a list of what each run gave: handle, rows (NA before all are computed), from (the next row), reader (if it is read in pieces)
#   at        the run that is read
#   affected, fetched, is_bound, is_complete, id
setClass("inlay_result", contains = "DBIResult", slots = c(conn = "inlay_connection", sql = "character", state = "environment"))

setMethod("show", "inlay_result", function(object) {
  cat("<inlay_result>\n  SQL  ", object@sql, "\n", if (!dbIsValid(object)) "  CLEARED\n", sep = "")
})

# The statement; NULL for a text of several, which are run as they are.
prepared <- function(conn, sql) {
  tryCatch(.Call(C_prepare, conn@handle, sql), inlay_error_invalid_argument = function(error) {
    if (startsWith(error$text, "prepare takes exactly one statement, not ")) NULL else stop(error)
  })
}

checked_sql <- function(conn, statement) {
  if (!dbIsValid(conn)) fail("the connection is closed")
  if (!is.character(statement) || length(statement) != 1L || is.na(statement)) fail("a statement is one string")
  enc2utf8(as.character(statement))
}

send <- function(conn, statement, params, is_statement) {
  sql <- checked_sql(conn, statement)
  state <- new.env(parent = emptyenv())
  state$runs <- list()
  state$at <- 1L
  state$affected <- NA_real_
  state$fetched <- 0
  state$is_bound <- FALSE
  state$is_valid <- TRUE
  state$is_statement <- is_statement
  state$statement <- prepared(conn, sql)
  state$parameters <- if (is.null(state$statement)) character() else .Call(C_parameter_names, state$statement)
  result <- new("inlay_result", conn = conn, sql = sql, state = state)
  if (!is.null(params)) {
    tryCatch(bind(result, params), error = function(error) {
      clear(state)
      stop(error)
    })
  } else if (length(state$parameters) == 0L) {
    state$is_bound <- TRUE
    execute_once(conn, state, sql)
  }
  state$id <- format(conn@state$next_id <- (if (is.null(conn@state$next_id)) 0 else conn@state$next_id) + 1, scientific = FALSE)
  state$open <- conn@state$results
  assign(state$id, state, envir = state$open)
  result
}

execute_once <- function(conn, state, sql) {
  run <- .Call(C_execute, conn@handle, state$statement, sql, FALSE)
  state$runs[[length(state$runs) + 1L]] <- run
  changed <- max(run$changed, 0)
  state$affected <- if (is.na(state$affected)) changed else state$affected + changed
}

setMethod("dbSendQuery", c("inlay_connection", "character"), function(conn, statement, params = NULL, ...) send(conn, statement, params, FALSE))

setMethod("dbSendStatement", c("inlay_connection", "character"), function(conn, statement, params = NULL, ...) send(conn, statement, params, TRUE))

setMethod("dbIsValid", "inlay_result", function(dbObj, ...) dbObj@state$is_valid && dbIsValid(dbObj@conn))

valid <- function(res) {
  if (!dbIsValid(res)) fail("the result is cleared, or its connection is closed")
  res@state
}

free_runs <- function(state) {
  for (run in state$runs) {
    .Call(C_end_pieces, run$reader)
    .Call(C_free_handle, run$handle, "result")
  }
  state$runs <- list()
  state$stream <- NULL
}

clear <- function(state) {
  free_runs(state)
  .Call(C_free_handle, state$statement, "statement")
  state$is_valid <- FALSE
  if (!is.null(state$id)) rm(list = state$id, envir = state$open)
}

setMethod("dbClearResult", "inlay_result", function(res, ...) {
  if (!dbIsValid(res)) {
    warning("the result is cleared already", call. = FALSE)
    return(invisible(TRUE))
  }
  clear(res@state)
  invisible(TRUE)
})

# ---- Parameters ----

# The values in the order of the parameters.
ordered <- function(params, parameters) {
  names <- names(params)
  if (length(parameters) == 0L && length(params) > 0L) fail("the statement has no parameters, ", length(params), " were given")
  is_named <- parameters != ""
  if (any(is_named)) {
    if (is.null(names) || any(names == "") || anyDuplicated(names)) fail("the statement's parameters have names: give list(name = value)")
    missing <- setdiff(parameters, names)
    if (length(missing) > 0L) fail("there is no value for the parameter $", paste(missing, collapse = ", $"))
    extra <- setdiff(names, parameters)
    if (length(extra) > 0L) fail("the statement has no parameter $", paste(extra, collapse = ", $"))
    return(unname(params[parameters]))
  }
  if (!is.null(names) && any(names != "")) fail("the statement's parameters have no names: give list(value, value)")
  if (length(params) != length(parameters)) fail("the statement has ", length(parameters), " parameters, ", length(params), " values were given")
  unname(params)
}

parameter <- function(x) {
  if (is.factor(x)) {
    warning("a factor is bound as text", call. = FALSE)
    return(as.character(x))
  }
  if (is.null(x)) return(NA)
  plain_column(x, "a parameter")
}

bind <- function(res, params) {
  state <- res@state
  if (is.null(state$statement)) fail("a text of several statements takes no parameters")
  if (!is.list(params)) params <- as.list(params)
  values <- lapply(ordered(as.list(params), state$parameters), parameter)
  rows <- unique(lengths(values))
  if (length(rows) > 1L) fail("all parameters need the same number of values, there are ", paste(rows, collapse = " and "))
  free_runs(state)
  state$is_complete <- FALSE
  state$at <- 1L
  state$fetched <- 0
  state$affected <- NA_real_
  state$is_bound <- TRUE
  conn <- res@conn
  if (rows == 0L) return(bind_nothing(conn, state, length(values)))
  if (state$is_statement && rows > 1L && !.Call(C_gives_rows, state$statement)) {
    state$affected <- .Call(C_execute_rows, conn@handle, state$statement, values)
    state$runs <- list(list(handle = NULL, kind = 2L, rows = NA_real_, from = 0))
    return(invisible())
  }
  run_all <- function() {
    for (row in seq_len(rows)) {
      .Call(C_bind_row, state$statement, values, row - 1)
      execute_once(conn, state, "")
    }
  }
  # Many rows are all changed, or none.
  if (state$is_statement && rows > 1L && !.Call(C_in_transaction, conn@handle)) dbWithTransaction(conn, run_all()) else run_all()
}

# No values: no rows, but their columns.
bind_nothing <- function(conn, state, count) {
  state$affected <- 0
  if (state$is_statement) return(invisible())
  .Call(C_bind_row, state$statement, rep(list(NA), count), 0)
  execute_once(conn, state, "")
  state$runs[[1L]]$rows <- 0
}

setMethod("dbBind", "inlay_result", function(res, params, ...) {
  valid(res)
  bind(res, params)
  invisible(res)
})
