# Errors of the engine are conditions of class `inlay_error`, and of one that names their kind: `inlay_error_undefined_table`.
# Their fields: `sqlstate`, `hint`, `detail`, `line`, `column`, `offset` (NA where not known), and `text`, without hint and place.

# Called by the C code.
raise <- function(error) {
  kind <- tolower(gsub("([a-z0-9])([A-Z])", "\\1_\\2", error$kind))
  fields <- list(
    message = error$text, call = NULL, text = error$message, sqlstate = error$sqlstate, hint = error$hint, detail = error$detail,
    line = error$line, column = error$column, offset = error$offset, kind = kind
  )
  stop(structure(fields, class = c(paste0("inlay_error_", kind), "inlay_error", "error", "condition")))
}

fail <- function(...) stop(..., call. = FALSE)
