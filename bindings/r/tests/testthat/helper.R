# A connection that is closed at the end of the test.
connected <- function(..., env = parent.frame()) {
  con <- dbConnect(inlay(), ...)
  withr::defer(if (dbIsValid(con)) dbDisconnect(con), envir = env)
  con
}

# What R says a vector is inside: "mapped", "converted on touch", "not read yet", "made", or NA for a vector of R's own.
inside <- function(x) {
  text <- utils::capture.output(.Internal(inspect(x)))[[1L]]
  if (grepl("inlay column, ", text)) sub(".*inlay column, ", "", text) else NA
}

# The exit status of another R that runs the code with this package; `output` is an attribute.
other_r <- function(code, env = character()) {
  file <- withr::local_tempfile(fileext = ".R")
  libraries <- paste0(".libPaths(", paste(deparse(.libPaths()), collapse = ""), ")")
  writeLines(c(libraries, "suppressMessages({library(DBI); library(inlay)})", code), file)
  output <- suppressWarnings(system2(file.path(R.home("bin"), "Rscript"), c("--vanilla", file), stdout = TRUE, stderr = TRUE, env = env))
  status <- attr(output, "status")
  structure(if (is.null(status)) 0L else status, output = output)
}
