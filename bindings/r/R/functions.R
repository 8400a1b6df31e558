#' @include register.R
NULL

# Functions in R inside of queries. The C code calls serve() on R's main thread, while that waits for the query.
#
# What is known of a function, `spoken`: f, bigint, zone (as the C code takes them), name, parameters, and of a table function columns: the
# forms of their values, named by them.

FUNCTION_KINDS <- c("scalar", "aggregate", "table")

inlay_function <- function(conn, name, f, arguments = character(), returns, kind = "scalar", parts = FALSE, nulls = FALSE, volatile = FALSE) {
  checked_connection(conn)
  if (!is.character(name) || length(name) != 1L || is.na(name)) fail("`name` is one string")
  if (is.null(f)) return(invisible(.Call(C_remove_function, conn@handle, enc2utf8(name))))
  f <- match.fun(f)
  if (!is.character(kind) || length(kind) != 1L || !kind %in% FUNCTION_KINDS) fail('`kind` is "scalar", "aggregate" or "table"')
  if (!is.character(arguments) || !is.character(returns)) fail("`arguments` and `returns` have names of SQL's types")
  for (flag in c("parts", "nulls", "volatile")) checked_flag(get(flag), flag)
  is_table <- kind == "table"
  if (!is_table && length(returns) != 1L) fail("`returns` is one type")
  if (is_table && (length(returns) == 0L || is.null(names(returns)) || any(names(returns) == ""))) {
    fail("`returns` of a table function has the types of its columns, named by them: c(x = \"INTEGER\")")
  }
  # The numbers of inlay.h.
  flags <- volatile * 1L + nulls * 2L + (kind == "scalar" && !parts) * 8L
  spoken <- spoken_of(conn, f, name, argument_names(f, arguments), if (is_table) returns)
  .Call(C_create_function, conn@handle, enc2utf8(name), kind, enc2utf8(unname(arguments)), enc2utf8(returns), as.integer(flags), spoken)
  invisible(TRUE)
}

spoken_of <- function(conn, f, name, parameters, columns) {
  list(f = f, bigint = bigint_code(conn), zone = conn@timezone_out, name = name, parameters = parameters, columns = column_forms(columns))
}

column_forms <- function(types) vapply(types, function(type) .Call(C_type_form, enc2utf8(type)), "")

# What tracebacks call the arguments: as they are declared, or as the function does.
argument_names <- function(f, arguments) {
  own <- setdiff(names(formals(args(f))), c("...", "aggr_group"))
  given <- names(arguments)
  at <- seq_along(arguments)
  names <- if (is.null(given)) own[at] else ifelse(given == "", own[at], given)
  ifelse(is.na(names) | names == "", paste0("a", at), names)
}

# ---- Calls ----

# Called by the C code. Whatever happens, it is told by a request_... function, and nothing leaves here.
serve <- function(request, entry, spoken) {
  calls <- NULL
  tryCatch(
    withCallingHandlers(ENTRIES[[entry]](request, spoken), error = function(e) if (is.null(calls)) calls <<- sys.calls()),
    error = function(e) .Call(C_request_fail, request, failure_text(e, calls), FALSE),
    interrupt = function(e) .Call(C_request_fail, request, "interrupted", TRUE)
  )
  NULL
}

# The call of the function, as a traceback is to show it: f(x, y).
CALLING <- "inlay_called"

called <- function(spoken, arguments) {
  names <- spoken$parameters
  frame <- new.env(parent = baseenv())
  for (i in seq_along(names)) assign(names[[i]], arguments[[i]], envir = frame)
  # A name of its own for what is called, whatever the parameters are called.
  name <- spoken$name
  while (name %in% names) name <- paste0(name, "_")
  assign(name, spoken$f, envir = frame)
  more <- setdiff(names(arguments), c("", names))
  for (it in more) assign(it, arguments[[it]], envir = frame)
  call <- as.call(c(list(as.name(name)), lapply(names, as.name), setNames(lapply(more, as.name), more)))
  attr(call, CALLING) <- TRUE
  eval(call, frame)
}

shown_call <- function(call) {
  text <- paste(trimws(deparse(call, width.cutoff = 60L, control = NULL)), collapse = " ")
  if (nchar(text) > 80L) paste0(substr(text, 1L, 77L), "...") else text
}

# The message, and the calls from the function on.
failure_text <- function(error, calls) {
  text <- conditionMessage(error)
  begins <- which(vapply(calls, function(it) isTRUE(attr(it, CALLING)), NA))
  if (length(begins) == 0L) return(enc2utf8(text))
  calls <- calls[seq(max(begins), length(calls))]
  head_of <- function(it) if (is.name(it[[1L]])) as.character(it[[1L]]) else ""
  heads <- vapply(calls, head_of, "")
  ends <- which(heads %in% c(".handleSimpleError", "stop", "h"))
  if (length(ends) > 0L) calls <- calls[seq_len(min(ends) - 1L)]
  calls <- lapply(calls, function(it) {
    attr(it, CALLING) <- NULL
    it
  })
  lines <- vapply(utils::tail(calls, 20L), shown_call, "")
  enc2utf8(paste0(text, "\nTraceback:\n", paste0("  ", seq_along(lines), ": ", lines, collapse = "\n")))
}

# A value of each row; one value is that of all.
fitted <- function(values, count) {
  if (is.null(values)) values <- NA
  if (length(values) == count) return(values)
  if (length(values) == 1L) return(rep(values, count))
  fail("the function gave ", length(values), " values for ", count, " rows")
}

scalar_call <- function(request, spoken) {
  values <- called(spoken, .Call(C_request_arguments, request))
  form <- .Call(C_request_form, request)
  .Call(C_request_give, request, fitted(converted(values, form), .Call(C_request_rows, request)))
}

# Rows of each group, or of all groups with the number of each row's group.
aggregate_call <- function(request, spoken) {
  arguments <- .Call(C_request_arguments, request)
  ends <- .Call(C_request_ends, request)
  form <- .Call(C_request_form, request)
  starts <- c(0, ends)[seq_along(ends)]
  if ("aggr_group" %in% names(formals(args(spoken$f)))) {
    numbers <- rep(seq_along(ends), ends - starts)
    values <- converted(called(spoken, c(arguments, list(aggr_group = numbers))), form)
    if (length(values) != length(ends)) fail("the function gave ", length(values), " values for ", length(ends), " groups")
    return(.Call(C_request_give, request, values))
  }
  value_of <- function(group) {
    rows <- starts[[group]] + seq_len(ends[[group]] - starts[[group]])
    value <- converted(called(spoken, lapply(arguments, `[`, rows)), form)
    if (length(value) != 1L) fail("the function gave ", length(value), " values for a group")
    value
  }
  .Call(C_request_give, request, do.call(c, lapply(seq_along(ends), value_of)))
}

rows_call <- function(request, spoken) {
  rows <- called(spoken, .Call(C_request_arguments, request))
  wanted <- names(spoken$columns)
  if (!is.list(rows)) fail("the function gives a data frame of ", paste(wanted, collapse = ", "))
  if (!is.null(names(rows)) && all(wanted %in% names(rows))) rows <- rows[wanted]
  if (length(rows) != length(wanted)) fail("the function gave ", length(rows), " columns, not ", paste(wanted, collapse = ", "))
  columns <- unname(Map(converted, unname(unclass(rows)), spoken$columns))
  count <- unique(lengths(columns))
  if (length(count) > 1L) fail("the function gave columns of ", paste(count, collapse = " and "), " rows")
  .Call(C_request_give_rows, request, columns, if (length(count) == 0L) 0 else count)
}

# ---- Values in the forms that SQL's types have ----

whole_numbers <- function(x, what) {
  if (inherits(x, "integer64")) return(as.double(x))
  if (is.logical(x)) return(as.double(x))
  if (!is.numeric(x) || is.object(x)) fail("the function gave ", class(x)[[1L]], " for ", what)
  broken <- which(is.finite(x) & x != trunc(x))
  if (length(broken) > 0L) fail("the function gave ", format(x[[broken[[1L]]]], digits = 15), ", which is no whole number")
  as.double(x)
}

FORMS <- list(
  logical = function(x) {
    if (!is.logical(x) && !is.numeric(x)) fail("the function gave ", class(x)[[1L]], " for BOOLEAN")
    as.logical(x)
  },
  integer = function(x) {
    if (is.integer(x) && !is.object(x)) return(x)
    x <- whole_numbers(x, "a whole number")
    large <- which(abs(x) > .Machine$integer.max)
    if (length(large) > 0L) fail("the value ", format(x[[large[[1L]]]], digits = 15), " does not fit INTEGER")
    as.integer(x)
  },
  integer64 = function(x) {
    if (inherits(x, "integer64")) return(unclass(x))
    x <- whole_numbers(x, "BIGINT")
    large <- which(abs(x) >= 2^63)
    if (length(large) > 0L) fail("the value ", format(x[[large[[1L]]]], digits = 15), " does not fit BIGINT")
    unclass(as.integer64(x))
  },
  whole = function(x) whole_numbers(x, "a whole number"),
  double = function(x) {
    if (inherits(x, "integer64")) return(as.double(x))
    if (!is.numeric(x) && !is.logical(x) || is.factor(x)) fail("the function gave ", class(x)[[1L]], " for a number")
    as.double(x)
  },
  date = function(x) {
    if (inherits(x, "POSIXt")) x <- as.Date(x)
    if (!inherits(x, "Date") && !is_na_only(x)) fail("the function gave ", class(x)[[1L]], " for DATE")
    as.double(x)
  },
  moment = function(x) {
    if (inherits(x, "Date") || inherits(x, "POSIXlt")) x <- as.POSIXct(x)
    if (!inherits(x, "POSIXct") && !is_na_only(x)) fail("the function gave ", class(x)[[1L]], " for TIMESTAMP")
    as.double(x)
  },
  seconds = function(x) {
    if (inherits(x, "difftime")) return(as.double(x, units = "secs"))
    if (!is.numeric(x) && !is_na_only(x)) fail("the function gave ", class(x)[[1L]], " for a length of time")
    as.double(x)
  },
  text = function(x) {
    if (!is.atomic(x)) fail("the function gave ", class(x)[[1L]], " for a text")
    enc2utf8(as.character(x))
  },
  blob = function(x) {
    if (is.raw(x)) x <- list(x)
    if (is_na_only(x)) return(vector("list", length(x)))
    if (!is.list(x) || !is_blob(x)) fail("the function gave ", class(x)[[1L]], " for BLOB, not a list of raw")
    unclass(x)
  }
)

is_na_only <- function(x) is.logical(x) && all(is.na(x))

converted <- function(x, form) {
  if (is.null(x)) x <- if (form == "blob") list(NULL) else NA
  convert <- FORMS[[form]]
  if (is.null(convert)) fail("functions in R give no values of this type; VARCHAR can stand for it")
  values <- convert(x)
  attributes(values) <- NULL
  values
}

# ---- LANGUAGE R ----

# Makes a function of its text: one whose body is the text, in the global environment.
define_call <- function(request, spoken) {
  it <- .Call(C_request_definition, request)
  # Names of parameters may be any.
  parameters <- it$parameters
  quoted <- paste0("`", gsub("([\\\\`])", "\\\\\\1", parameters), "`")
  uses_groups <- grepl("\\baggr_group\\b", it$body) && !"aggr_group" %in% parameters
  head <- paste(c(quoted, if (uses_groups) "aggr_group"), collapse = ", ")
  if (length(parameters) == 0L) head <- if (uses_groups) "aggr_group" else ""
  parsed <- parse(text = paste0("function(", head, ") {\n", it$body, "\n}"), keep.source = FALSE)
  if (length(parsed) != 1L) fail("the text is more than the body of a function")
  if (it$is_check) return(.Call(C_request_define, request, NULL))
  own <- spoken
  own$f <- eval(parsed[[1L]], globalenv())
  own$name <- it$name
  own$parameters <- parameters
  own$columns <- column_forms(it$columns)
  .Call(C_request_define, request, own)
}

# Lets SQL have functions in R.
let_r_in <- function(conn) {
  .Call(C_set_setting, conn@handle, "allow_r", "true")
  .Call(C_set_language, conn@handle, spoken_of(conn, NULL, "", character(), character()))
}

ENTRIES <- list(scalar = scalar_call, aggregate = aggregate_call, rows = rows_call, define = define_call)
