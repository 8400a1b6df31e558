#' @include connection.R
NULL

# The connections pane of RStudio and Positron: what options("connectionObserver") gives is told of connections, and asks for what they
# have. options(inlay.pane = FALSE) ends that.

PANE_TYPE <- "Inlay"

pane <- function() if (isFALSE(getOption("inlay.pane"))) NULL else getOption("connectionObserver")

opened <- new.env(parent = emptyenv())

pane_number <- function() opened$count <- 1 + if (is.null(opened$count)) 0 else opened$count

# The pane tells connections apart by this.
pane_host <- function(conn) paste0(conn@dbdir, "#", conn@state$number)

# What goes wrong in the pane is no fault of the program's.
told <- function(code) tryCatch(code, error = function(e) NULL)

pane_opened <- function(conn) {
  observer <- pane()
  if (is.null(observer)) return(invisible())
  code <- paste0("library(DBI)\ncon <- dbConnect(inlay::inlay(), ", encodeString(conn@dbdir, quote = "\""), ")")
  told(observer$connectionOpened(
    type = PANE_TYPE, displayName = if (conn@dbdir == ":memory:") "Inlay in memory" else basename(conn@dbdir), host = pane_host(conn), connectCode = code,
    disconnect = function() if (dbIsValid(conn)) dbDisconnect(conn),
    listObjectTypes = function() list(schema = list(contains = list(table = list(contains = "data"), view = list(contains = "data")))),
    listObjects = function(schema = NULL, ...) pane_objects(conn, schema),
    listColumns = function(schema = NULL, table = NULL, view = NULL, ...) pane_columns(conn, schema, if (is.null(table)) view else table),
    previewObject = function(rowLimit, schema = NULL, table = NULL, view = NULL, ...) {
      dbGetQuery(conn, paste0("SELECT * FROM ", pane_name(conn, schema, if (is.null(table)) view else table), " LIMIT ", as.integer(rowLimit)))
    },
    actions = list(), connectionObject = conn
  ))
  invisible()
}

pane_closed <- function(conn) {
  observer <- pane()
  if (!is.null(observer)) told(observer$connectionClosed(PANE_TYPE, pane_host(conn)))
  invisible()
}

pane_updated <- function(conn) {
  observer <- pane()
  if (!is.null(observer)) told(observer$connectionUpdated(PANE_TYPE, pane_host(conn), ""))
  invisible()
}

pane_name <- function(conn, schema, table) {
  paste(as.character(dbQuoteIdentifier(conn, c(schema, table))), collapse = ".")
}

pane_objects <- function(conn, schema) {
  if (is.null(schema)) {
    names <- dbGetQuery(conn, "SELECT DISTINCT schema_name FROM information_schema.schemata
      WHERE schema_name NOT IN ('information_schema', 'pg_catalog') ORDER BY 1")$schema_name[]
    return(data.frame(name = names, type = rep("schema", length(names))))
  }
  found <- dbGetQuery(conn, "SELECT DISTINCT table_name, table_type FROM information_schema.tables WHERE table_schema = ? ORDER BY 1", params = list(schema))
  data.frame(name = found$table_name[], type = ifelse(found$table_type[] == "VIEW", "view", "table"))
}

pane_columns <- function(conn, schema, table) {
  res <- dbSendQuery(conn, paste0("SELECT * FROM ", pane_name(conn, schema, table), " LIMIT 0"))
  on.exit(dbClearResult(res))
  info <- dbColumnInfo(res)
  data.frame(name = info$name, type = info$.sql_type)
}
