#' @include dbplyr.R
NULL

# The virtual data frame: R's operations on it build SQL, and values are made when something needs them.
#
# A frame is a list of
#   conn     the connection
#   from     what stands behind FROM
#   columns  expressions of SQL, named by the columns
#   where    conditions of SQL
# and a column (class inlay_column) of a frame and an expression over what is behind its FROM.

inlay_frame <- function(conn, name) {
  checked_connection(conn)
  source <- as.character(dbQuoteIdentifier(conn, name))
  new_frame(conn, source, dbListFields(conn, name))
}

monetinr.frame <- inlay_frame

new_frame <- function(conn, from, names) {
  structure(list(conn = conn, from = from, columns = setNames(as.character(dbQuoteIdentifier(conn, names)), names), where = character()), class = "inlay_frame")
}

new_column <- function(frame, expression) structure(list(frame = frame, expression = expression), class = "inlay_column")

parts_of <- function(x) unclass(x)

# ---- SQL ----

select_sql <- function(parts, expressions, more = "") {
  names <- dbQuoteIdentifier(parts$conn, names(expressions))
  where <- if (length(parts$where) > 0L) paste0(" WHERE ", paste0("(", parts$where, ")", collapse = " AND ")) else ""
  paste0("SELECT ", paste(expressions, "AS", names, collapse = ", "), " FROM ", parts$from, where, more)
}

frame_sql <- function(x, more = "") {
  parts <- parts_of(x)
  select_sql(parts, parts$columns, more)
}

# The frame as something to select from: names are its columns'.
derived <- function(x) paste0("(", frame_sql(x), ")")

column_values <- function(x, more = "") {
  parts <- parts_of(x)
  dbGetQuery(parts_of(parts$frame)$conn, select_sql(parts_of(parts$frame), c(x = parts$expression), more))$x
}

scalar <- function(frame, expression) dbGetQuery(parts_of(frame)$conn, select_sql(parts_of(frame), c(x = expression)))$x

same_rows <- function(a, b) {
  a <- parts_of(a)
  b <- parts_of(b)
  identical(a$from, b$from) && identical(a$where, b$where) && identical(a$conn@handle, b$conn@handle)
}

# An operand as SQL, for a frame.
operand <- function(x, frame) {
  if (!inherits(x, "inlay_column")) {
    if (length(x) != 1L) fail("a virtual column is combined with columns of its frame and single values, not with ", length(x), " values")
    return(as.character(literal(parts_of(frame)$conn, x)))
  }
  if (!same_rows(parts_of(x)$frame, frame)) fail("the columns belong to frames of different rows")
  parts_of(x)$expression
}

# ---- The frame ----

names.inlay_frame <- function(x) names(parts_of(x)$columns)

dim.inlay_frame <- function(x) c(as.integer(as.character(scalar(x, "count(*)"))), length(parts_of(x)$columns))

length.inlay_frame <- function(x) length(parts_of(x)$columns)

`$.inlay_frame` <- function(x, name) x[[name]]

`[[.inlay_frame` <- function(x, i, ...) {
  columns <- parts_of(x)$columns
  if (is.character(i) && !i %in% names(columns)) return(NULL)
  new_column(x, columns[[i]])
}

`[[<-.inlay_frame` <- function(x, i, value) {
  parts <- parts_of(x)
  if (is.null(value)) parts$columns <- parts$columns[setdiff(names(parts$columns), i)]
  else parts$columns[[i]] <- operand(value, x)
  structure(parts, class = "inlay_frame")
}

`$<-.inlay_frame` <- function(x, name, value) {
  x[[name]] <- value
  x
}

`[.inlay_frame` <- function(x, i, j, drop = missing(i)) {
  parts <- parts_of(x)
  # x[columns]
  if (nargs() - (!missing(drop)) == 2L) {
    j <- i
    drop <- FALSE
  } else if (!missing(i)) {
    if (!inherits(i, "inlay_column")) return(as.data.frame(x)[i, if (missing(j)) names(x) else j, drop = FALSE])
    parts$where <- c(parts$where, operand(i, x))
  }
  if (!missing(j)) {
    wanted <- if (is.character(j)) j else names(parts$columns)[j]
    unknown <- setdiff(wanted, names(parts$columns))
    if (length(unknown) > 0L) fail("the frame has no column \"", unknown[[1L]], "\"")
    parts$columns <- parts$columns[wanted]
  }
  result <- structure(parts, class = "inlay_frame")
  if (drop && length(parts$columns) == 1L) result[[1L]] else result
}

columns_in <- function(x) setNames(lapply(names(x), function(name) x[[name]]), names(x))

subset.inlay_frame <- function(x, subset, select, ...) {
  if (!missing(subset)) {
    condition <- eval(substitute(subset), columns_in(x), parent.frame())
    x <- x[condition, ]
  }
  if (missing(select)) return(x)
  places <- as.list(setNames(seq_along(names(x)), names(x)))
  x[eval(substitute(select), places, parent.frame())]
}

with.inlay_frame <- function(data, expr, ...) eval(substitute(expr), columns_in(data), parent.frame())

head.inlay_frame <- function(x, n = 6L, ...) dbGetQuery(parts_of(x)$conn, frame_sql(x, paste(" LIMIT", as.integer(n))))

as.data.frame.inlay_frame <- function(x, row.names = NULL, optional = FALSE, ...) dbGetQuery(parts_of(x)$conn, frame_sql(x))

print.inlay_frame <- function(x, n = 6L, ...) {
  cat("# inlay_frame of ", length(x), " columns; its first rows:\n", sep = "")
  print(head(x, n), ...)
  invisible(x)
}

unique.inlay_frame <- function(x, incomparables = FALSE, ...) {
  parts <- parts_of(x)
  new_frame(parts$conn, paste0("(", sub("^SELECT", "SELECT DISTINCT", frame_sql(x)), ")"), names(x))
}

summary.inlay_frame <- function(object, ...) dbGetQuery(parts_of(object)$conn, paste("SUMMARIZE", frame_sql(object)))

merge.inlay_frame <- function(x, y, by = intersect(names(x), names(y)), all = FALSE, all.x = all, all.y = all, suffixes = c(".x", ".y"), ...) {
  conn <- parts_of(x)$conn
  if (!identical(conn@handle, parts_of(y)$conn@handle)) fail("the frames belong to different connections")
  q <- function(names) as.character(dbQuoteIdentifier(conn, names))
  kind <- if (all.x && all.y) "FULL" else if (all.x) "LEFT" else if (all.y) "RIGHT" else "INNER"
  rest_x <- setdiff(names(x), by)
  rest_y <- setdiff(names(y), by)
  shared <- intersect(rest_x, rest_y)
  renamed <- function(names, suffix) ifelse(names %in% shared, paste0(names, suffix), names)
  columns <- c(if (length(by) > 0L) paste0("coalesce(x.", q(by), ", y.", q(by), ") AS ", q(by)),
               if (length(rest_x) > 0L) paste0("x.", q(rest_x), " AS ", q(renamed(rest_x, suffixes[[1L]]))),
               if (length(rest_y) > 0L) paste0("y.", q(rest_y), " AS ", q(renamed(rest_y, suffixes[[2L]]))))
  # As R's merge, which takes NA for a value.
  on <- if (length(by) > 0L) paste0("x.", q(by), " IS NOT DISTINCT FROM y.", q(by), collapse = " AND ") else "true"
  from <- paste0("(SELECT ", paste(columns, collapse = ", "), " FROM ", derived(x), " x ", kind, " JOIN ", derived(y), " y ON ", on, ")")
  new_frame(conn, from, c(by, renamed(rest_x, suffixes[[1L]]), renamed(rest_y, suffixes[[2L]])))
}

AGGREGATES <- c(mean = "avg", sum = "sum", min = "min", max = "max", sd = "stddev_samp", var = "var_samp", median = "median", length = "count")

# aggregate(value ~ group, frame, mean): a frame of the groups.
aggregate.inlay_frame <- function(x, by, FUN, ...) {
  conn <- parts_of(x)$conn
  name <- deparse(substitute(FUN))
  if (!name %in% names(AGGREGATES)) fail("aggregate() knows ", paste(names(AGGREGATES), collapse = ", "), "; others need as.data.frame()")
  if (!is.character(by)) fail("`by` has the names of columns")
  q <- function(names) as.character(dbQuoteIdentifier(conn, names))
  values <- setdiff(names(x), by)
  columns <- c(q(by), paste0(AGGREGATES[[name]], "(", q(values), ") AS ", q(values)))
  new_frame(conn, paste0("(SELECT ", paste(columns, collapse = ", "), " FROM ", derived(x), " GROUP BY ", paste(q(by), collapse = ", "), ")"), c(by, values))
}

# ---- The column ----

Ops.inlay_column <- function(e1, e2) {
  frame <- parts_of(if (inherits(e1, "inlay_column")) e1 else e2)$frame
  a <- operand(e1, frame)
  if (missing(e2)) return(new_column(frame, switch(.Generic, `-` = paste0("(-", a, ")"), `+` = a, `!` = paste0("(NOT ", a, ")"))))
  b <- operand(e2, frame)
  infix <- function(operator) paste0("(", a, " ", operator, " ", b, ")")
  new_column(frame, switch(.Generic,
    `+` = , `-` = , `*` = , `<` = , `<=` = , `>` = , `>=` = infix(.Generic), `==` = infix("="), `!=` = infix("<>"), `&` = infix("AND"), `|` = infix("OR"),
    `/` = paste0("(", a, "::DOUBLE / ", b, ")"), `^` = paste0("pow(", a, ", ", b, ")"), `%%` = paste0("((", a, " % ", b, " + ", b, ") % ", b, ")"),
    `%/%` = paste0("floor(", a, "::DOUBLE / ", b, ")")
  ))
}

MATH <- c(abs = "abs", sign = "sign", sqrt = "sqrt", floor = "floor", ceiling = "ceil", trunc = "trunc", exp = "exp", log = "ln", log2 = "log2", log10 = "log10",
          cos = "cos", sin = "sin", tan = "tan", acos = "acos", asin = "asin", atan = "atan")

Math.inlay_column <- function(x, ...) {
  parts <- parts_of(x)
  if (.Generic == "round") return(new_column(parts$frame, paste0("round(", parts$expression, ", ", as.integer(c(..., 0L)[[1L]]), ")")))
  if (.Generic %in% names(MATH) && ...length() == 0L) return(new_column(parts$frame, paste0(MATH[[.Generic]], "(", parts$expression, ")")))
  get(.Generic, mode = "function")(as.vector(x), ...)
}

# NA where a value is NULL, unless those are left out.
with_na <- function(x, aggregate, na.rm) {
  parts <- parts_of(x)
  if (na.rm) return(scalar(parts$frame, aggregate))
  scalar(parts$frame, paste0("CASE WHEN count(*) = count(", parts$expression, ") THEN ", aggregate, " END"))
}

Summary.inlay_column <- function(..., na.rm = FALSE) {
  x <- ..1
  if (...length() > 1L) fail(.Generic, "() takes one virtual column")
  aggregate <- function(name) with_na(x, paste0(name, "(", parts_of(x)$expression, ")"), na.rm)
  switch(.Generic, sum = aggregate("sum"), min = aggregate("min"), max = aggregate("max"), prod = aggregate("product"), any = aggregate("bool_or"), all = aggregate("bool_and"),
         range = c(aggregate("min"), aggregate("max")))
}

mean.inlay_column <- function(x, ..., na.rm = FALSE) with_na(x, paste0("avg(", parts_of(x)$expression, ")"), na.rm)

median.inlay_column <- function(x, na.rm = FALSE, ...) with_na(x, paste0("median(", parts_of(x)$expression, ")"), na.rm)

length.inlay_column <- function(x) as.integer(as.character(scalar(parts_of(x)$frame, "count(*)")))

is.na.inlay_column <- function(x) new_column(parts_of(x)$frame, paste0("(", parts_of(x)$expression, " IS NULL)"))

as.vector.inlay_column <- function(x, mode = "any") as.vector(column_values(x), mode)

as.character.inlay_column <- function(x, ...) as.character(column_values(x), ...)

as.double.inlay_column <- function(x, ...) as.double(column_values(x), ...)

as.integer.inlay_column <- function(x, ...) as.integer(column_values(x), ...)

unique.inlay_column <- function(x, incomparables = FALSE, ...) {
  parts <- parts_of(x)
  dbGetQuery(parts_of(parts$frame)$conn, sub("^SELECT", "SELECT DISTINCT", select_sql(parts_of(parts$frame), c(x = parts$expression))))$x
}

head.inlay_column <- function(x, n = 6L, ...) column_values(x, paste(" LIMIT", as.integer(n)))

`[.inlay_column` <- function(x, i) {
  if (!inherits(i, "inlay_column")) return(column_values(x)[i])
  parts <- parts_of(x)
  frame <- parts_of(parts$frame)
  frame$where <- c(frame$where, operand(i, parts$frame))
  new_column(structure(frame, class = "inlay_frame"), parts$expression)
}

xtfrm.inlay_column <- function(x) xtfrm(column_values(x))

summary.inlay_column <- function(object, ...) summary(column_values(object), ...)

print.inlay_column <- function(x, n = 6L, ...) {
  cat("# inlay_column", parts_of(x)$expression, "; its first values:\n")
  print(head(x, n), ...)
  invisible(x)
}
