# What is around R: the connections pane, knitr.

observer <- function(seen) list(
  connectionOpened = function(...) seen$opened <- list(...),
  connectionClosed = function(type, host, ...) seen$closed <- c(type, host),
  connectionUpdated = function(type, host, hint, ...) seen$updated <- c(seen$updated, host)
)

test_that("the connections pane is told of a connection, and sees what it has", {
  seen <- new.env()
  withr::local_options(connectionObserver = observer(seen))
  con <- connected()
  pane <- seen$opened
  expect_identical(pane$type, "Inlay")
  expect_identical(names(pane$listObjectTypes()), "schema")
  dbWriteTable(con, "t", data.frame(i = 1:20, s = "x"))
  dbExecute(con, "CREATE VIEW v AS SELECT i FROM t")
  expect_identical(seen$updated, pane$host)
  expect_identical(pane$listObjects(), data.frame(name = "main", type = "schema"))
  expect_identical(pane$listObjects(schema = "main"), data.frame(name = c("t", "v"), type = c("table", "view")))
  expect_identical(pane$listColumns(schema = "main", table = "t"), data.frame(name = c("i", "s"), type = c("INTEGER", "VARCHAR")))
  expect_identical(pane$listColumns(schema = "main", view = "v")$name, "i")
  expect_identical(nrow(pane$previewObject(5, schema = "main", table = "t")), 5L)
  expect_match(pane$connectCode, 'dbConnect(inlay::inlay(), ":memory:")', fixed = TRUE)
  other <- connected()
  expect_false(identical(seen$opened$host, pane$host))
  pane$disconnect()
  expect_false(dbIsValid(con))
  expect_identical(seen$closed, c("Inlay", pane$host))
  pane$disconnect()
})

test_that("a pane that fails, or is not wanted, is left alone", {
  withr::local_options(connectionObserver = list(connectionOpened = function(...) stop("broken"), connectionClosed = function(...) stop("broken")))
  con <- dbConnect(inlay())
  dbDisconnect(con)
  withr::local_options(inlay.pane = FALSE, connectionObserver = list(connectionOpened = function(...) quit(status = 9)))
  expect_true(dbIsValid(connected()))
})

test_that("knitr's engine for SQL works", {
  skip_if_not_installed("knitr")
  con <- connected()
  dbWriteTable(con, "t", data.frame(city = c("Ulm", "Bonn"), km = c(1.5, 2)))
  env <- new.env()
  env$con <- con
  env$least <- 1.8
  text <- c(
    "```{sql, connection=con}", "SELECT city, km FROM t ORDER BY km", "```",
    "```{sql, connection=con, output.var='rows'}", "SELECT city FROM t WHERE km > ?least", "```",
    "```{sql, connection=con}", "INSERT INTO t VALUES ('Hof', 3)", "```"
  )
  shown <- knitr::knit(text = text, envir = env, quiet = TRUE)
  expect_match(shown, "|Bonn |", fixed = TRUE)
  expect_identical(env$rows$city[], "Bonn")
  expect_identical(nrow(dbReadTable(con, "t")), 3L)
})
