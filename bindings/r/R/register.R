#' @include table.R
NULL

# The values of a list of vectors, one behind the other.
list_values <- function(x, name) {
  there <- x[!vapply(x, is.null, NA)]
  if (!all(vapply(there, function(it) is.atomic(it) || is.data.frame(it), NA))) {
    fail("column \"", name, "\": elements of a list are raw, vectors or data frames, not lists")
  }
  if (length(there) == 0L) return(logical())
  if (is.data.frame(there[[1L]])) return(do.call(rbind, unname(there)))
  do.call(c, unname(there))
}

length_of <- function(x) if (is.data.frame(x)) nrow(x) else length(x)

# A column as the C code knows it.
plain_column <- function(x, name) {
  if (inherits(x, "AsIs")) class(x) <- setdiff(class(x), "AsIs")
  if (!is.null(dim(x)) && !is.data.frame(x)) fail("column \"", name, "\" is a matrix; give its columns their own names")
  if (inherits(x, "POSIXlt")) return(as.POSIXct(x))
  if (inherits(x, "hms") || inherits(x, "Date") || is.factor(x) || inherits(x, "POSIXct") || inherits(x, "integer64")) return(x)
  if (inherits(x, "difftime")) return(structure(as.numeric(x, units = "secs"), class = "difftime", units = "secs"))
  if (is.data.frame(x)) return(plain_frame(x))
  if (is.list(x)) {
    if (is_blob(x)) return(unclass(x))
    sizes <- vapply(x, function(it) if (is.null(it)) NA_integer_ else length_of(it), 0L)
    return(structure(list(plain_column(list_values(x, name), name), sizes), class = "inlay_list"))
  }
  if (!is.logical(x) && !is.numeric(x) && !is.character(x)) fail("column \"", name, "\": R's type \"", class(x)[[1L]], "\" has none in SQL")
  if (is.object(x)) as.vector(unclass(x)) else x
}

plain_frame <- function(value) {
  if (!is.data.frame(value)) fail("`value` is a data frame")
  columns <- Map(plain_column, value, names(value))
  structure(columns, names = names(value), class = "data.frame", row.names = .set_row_names(nrow(value)), inlay_rows = nrow(value))
}

# Makes a data frame a table, for all connections of the database. Integers, doubles, integer64 and factors are not copied.
inlay_register <- function(conn, name, value) {
  checked_connection(conn)
  if (inherits(value, "nanoarrow_array_stream")) .Call(C_register_stream, conn@handle, enc2utf8(name), value)
  else .Call(C_register_frame, conn@handle, enc2utf8(name), plain_frame(value))
  invisible(TRUE)
}

inlay_unregister <- function(conn, name) {
  checked_connection(conn)
  invisible(.Call(C_unregister_frame, conn@handle, enc2utf8(name)))
}
