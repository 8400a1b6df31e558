# Files, processes and interrupts.

test_that("a file is free when its last connection is closed, whatever R still holds", {
  file <- withr::local_tempfile(fileext = ".inlay")
  con <- dbConnect(inlay(), file)
  dbWriteTable(con, "t", data.frame(i = 1:10, s = letters[1:10]))
  x <- dbReadTable(con, "t")
  y <- dbGetQuery(con, "SELECT i, s FROM t")
  expect_silent(dbDisconnect(con))
  writes <- sprintf("con <- dbConnect(inlay(), %s); dbExecute(con, 'INSERT INTO t VALUES (11, NULL)'); dbDisconnect(con)", deparse(file))
  status <- other_r(writes)
  expect_identical(as.integer(status), 0L, info = paste(attr(status, "output"), collapse = "\n"))
  expect_identical(x$s[], letters[1:10])
  expect_identical(y$i[], 1:10)
  con <- connected(file)
  expect_identical(nrow(dbReadTable(con, "t")), 11L)
})

test_that("a file that another process has is named with it, and opens when it is free", {
  file <- withr::local_tempfile(fileext = ".inlay")
  con <- dbConnect(inlay(), file)
  dbWriteTable(con, "t", data.frame(i = 1L))
  opens <- sprintf("con <- dbConnect(inlay(), %s); cat(dbReadTable(con, 't')$i)", deparse(file))
  status <- other_r(opens)
  output <- paste(attr(status, "output"), collapse = " ")
  expect_true(status != 0L)
  expect_match(output, basename(file), fixed = TRUE)
  dbDisconnect(con)
  expect_identical(as.integer(other_r(opens)), 0L)
})

test_that("a path is opened and closed many times", {
  files <- c(withr::local_tempfile(fileext = ".inlay"), withr::local_tempfile(fileext = ".inlay"))
  rounds <- if (Sys.getenv("INLAY_R_LONG") == "") 50L else 1000L
  for (round in seq_len(rounds)) {
    con <- dbConnect(inlay(), files[[round %% 2L + 1L]])
    dbWriteTable(con, "t", data.frame(i = 1:32), append = TRUE)
    dbDisconnect(con)
  }
  con <- connected(files[[1L]])
  expect_identical(nrow(dbReadTable(con, "t")), 32L * (rounds %/% 2L))
})

test_that("a garbage collection says nothing of what was closed, and names what was not", {
  file <- withr::local_tempfile(fileext = ".inlay")
  local({
    con <- dbConnect(inlay(), file)
    dbDisconnect(con)
  })
  expect_silent(gc())
  # R runs finalisers outside of what looks for warnings.
  status <- other_r(sprintf("con <- dbConnect(inlay(), %s); rm(con); invisible(gc()); invisible(gc()); con <- dbConnect(inlay(), %s); dbDisconnect(con)",
                            deparse(file), deparse(file)))
  expect_identical(as.integer(status), 0L)
  expect_length(grep(basename(file), attr(status, "output"), fixed = TRUE), 1L)
})

test_that("R ends well whatever is open", {
  status <- other_r(c(
    "con <- dbConnect(inlay(), tempfile()); x <- data.frame(i = 1:10, s = letters[1:10]); dbWriteTable(con, 't', x)",
    "res <- dbSendQuery(con, 'FROM t'); y <- dbFetch(res, 3); z <- dbReadTable(con, 't'); z$s[[1]]; inlay_register(con, 'x', x)"
  ))
  expect_identical(as.integer(status), 0L, info = paste(attr(status, "output"), collapse = "\n"))
})

test_that("Ctrl-C ends a query, and the connection goes on", {
  skip_on_os("windows")
  con <- connected()
  system(sprintf("(sleep 0.5; kill -INT %d) &", Sys.getpid()))
  answer <- tryCatch(dbGetQuery(con, "SELECT count(*) FROM range(1000000) a(i), range(1000000) b(j) WHERE i + j = 7"), interrupt = function(e) "interrupted")
  expect_identical(answer, "interrupted")
  expect_identical(dbGetQuery(con, "SELECT 1::INTEGER AS x")$x, 1L)
  # Rows that are computed when they are fetched, too.
  res <- dbSendQuery(con, "SELECT i, sqrt(i) AS d FROM range(3000000000) t(i)")
  system(sprintf("(sleep 0.5; kill -INT %d) &", Sys.getpid()))
  answer <- tryCatch(dbFetch(res), interrupt = function(e) "interrupted")
  expect_identical(answer, "interrupted")
  dbClearResult(res)
  expect_identical(dbGetQuery(con, "SELECT 2::INTEGER AS x")$x, 2L)
})

test_that("a long query shows how far it is, where that is wanted", {
  query <- "con <- dbConnect(inlay(), config = list(threads = 1))
    system(sprintf('(sleep 3; kill -INT %d) &', Sys.getpid()))
    tryCatch(dbGetQuery(con, 'SELECT count(*) FROM range(1000000) a(i), range(1000000) b(j) WHERE i + j = 7'), interrupt = function(e) cat('ended'))"
  shown <- attr(other_r(c("options(inlay.progress = 0.2)", query)), "output")
  expect_true(any(grepl("%", shown, fixed = TRUE)) && any(grepl("ended", shown, fixed = TRUE)), info = paste(shown, collapse = "\n"))
  expect_false(any(grepl("%", attr(other_r(query), "output"), fixed = TRUE)))
})

test_that("a child of a fork is told that it has no connection", {
  skip_on_os("windows")
  con <- connected()
  told <- parallel::mclapply(1, function(i) tryCatch(dbGetQuery(con, "SELECT 1"), error = class), mc.cores = 2)
  told <- parallel::mccollect(parallel::mcparallel(tryCatch(dbGetQuery(con, "SELECT 1"), error = class)))[[1L]]
  expect_true("inlay_error_closed" %in% told)
  expect_identical(dbGetQuery(con, "SELECT 1::INTEGER AS x")$x, 1L)
})

test_that("vectors and streams stand garbage collections at any moment", {
  skip_if(Sys.getenv("INLAY_R_LONG") == "", "takes minutes: INLAY_R_LONG=1")
  status <- other_r(readLines(test_path("torture.R")))
  expect_identical(as.integer(status), 0L, info = paste(attr(status, "output"), collapse = "\n"))
})
