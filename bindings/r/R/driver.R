#' @include errors.R
NULL

BIGINTS <- c("integer64", "integer", "numeric", "character")

bigint_wish <- function(bigint) {
  if (!is.character(bigint) || length(bigint) != 1L || !bigint %in% BIGINTS) {
    fail("`bigint` is one of ", paste0('"', BIGINTS, '"', collapse = ", "))
  }
  bigint
}

zone_wish <- function(zone) {
  if (is.null(zone) || identical(zone, "local")) return("")
  if (!is.character(zone) || length(zone) != 1L || is.na(zone)) fail("`timezone_out` is the name of a time zone, or \"local\" for R's own")
  if (!zone %in% c("", "UTC", "GMT") && !zone %in% OlsonNames()) fail("`timezone_out`: there is no time zone \"", zone, "\"")
  zone
}

FACTORS <- c("enum", "text")

factor_wish <- function(factors) {
  if (!is.character(factors) || length(factors) != 1L || !factors %in% FACTORS) fail("`factors` is \"enum\" or \"text\"")
  factors
}

setClass("inlay_driver", contains = "DBIDriver", slots = c(dbdir = "character", bigint = "character", timezone_out = "character", factors = "character"))

inlay <- function(dbdir = ":memory:", bigint = "integer64", timezone_out = "local", factors = "enum") {
  new("inlay_driver", dbdir = dbdir, bigint = bigint_wish(bigint), timezone_out = zone_wish(timezone_out), factors = factor_wish(factors))
}

Inlay <- inlay

setMethod("show", "inlay_driver", function(object) cat("<inlay_driver>\n"))

setMethod("dbIsValid", "inlay_driver", function(dbObj, ...) TRUE)

setMethod("dbUnloadDriver", "inlay_driver", function(drv, ...) invisible(TRUE))

setMethod("dbGetInfo", "inlay_driver", function(dbObj, ...) {
  list(driver.version = utils::packageVersion("inlay"), client.version = package_version(.Call(C_library_version)))
})

setMethod("dbCanConnect", "inlay_driver", function(drv, ...) {
  tryCatch({
    dbDisconnect(dbConnect(drv, ...))
    TRUE
  }, error = function(e) structure(FALSE, reason = conditionMessage(e)))
})

# Settings of SQL as text.
settings_of <- function(config, read_only) {
  if (length(config) > 0L && (is.null(names(config)) || any(names(config) == ""))) fail("each element of `config` needs a name: list(threads = 4)")
  text <- vapply(config, function(value) if (is.logical(value)) tolower(as.character(value)) else format(value, scientific = FALSE), "")
  setNames(enc2utf8(as.character(c(text, if (read_only) "read_only"))), c(names(config), if (read_only) "access_mode"))
}

setMethod("dbConnect", "inlay_driver", function(drv, dbdir = drv@dbdir, ..., read_only = FALSE, config = list(), bigint = drv@bigint,
                                                timezone_out = drv@timezone_out, factors = drv@factors, allow_r = FALSE) {
  if (!is.character(dbdir) || length(dbdir) != 1L || is.na(dbdir)) fail("`dbdir` is the path of a file, or \":memory:\"")
  is_memory <- dbdir == "" || startsWith(dbdir, ":memory:")
  path <- if (is_memory) dbdir else path.expand(dbdir)
  bigint <- bigint_wish(bigint)
  zone <- zone_wish(timezone_out)
  factors <- factor_wish(factors)
  database <- .Call(C_open_database, enc2utf8(path), settings_of(config, isTRUE(read_only)))
  handle <- .Call(C_connect_database, database)
  # SQL computes in the zone that R shows.
  wanted <- if (zone == "") Sys.getenv("TZ") else zone
  if (wanted != "") try(.Call(C_set_setting, handle, "TimeZone", wanted), silent = TRUE)
  state <- new.env(parent = emptyenv())
  state$results <- new.env(parent = emptyenv())
  state$handle <- handle
  state$number <- pane_number()
  state$path <- if (is_memory) ":memory:" else path
  reg.finalizer(state, warn_of_unclosed)
  con <- new("inlay_connection", handle = handle, database = database, driver = drv, dbdir = state$path, bigint = bigint,
      timezone_out = zone, factors = factors, read_only = isTRUE(read_only), state = state)
  if (isTRUE(allow_r)) let_r_in(con)
  pane_opened(con)
  con
})

warn_of_unclosed <- function(state) {
  if (!.Call(C_is_open, state$handle)) return(invisible())
  warning("a connection to ", state$path, " was closed by R's garbage collector; dbDisconnect() closes it when it is not needed any more",
          call. = FALSE)
}
