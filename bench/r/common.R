# What the scripts here share. Each runs with the package inlay and prints a table; `Rscript bench/r/NAME.R --help` says how.

options(warn = 1)
suppressPackageStartupMessages({
  library(DBI)
  library(inlay)
})

has <- function(package) nzchar(system.file(package = package))

# --name=value, or what stands behind.
argument <- function(name, otherwise) {
  given <- grep(paste0("^--", name, "="), commandArgs(TRUE), value = TRUE)
  if (length(given) == 0L) otherwise else sub(".*?=", "", given[[1L]])
}

# Milliseconds of the wall clock.
time_of <- function(code) {
  began <- proc.time()[["elapsed"]]
  at <- as.numeric(Sys.time())
  force(code)
  1000 * (as.numeric(Sys.time()) - at)
}

# Engines in turns, so that what else the machine does meets all of them: the median of each.
in_turns <- function(runs, rounds) {
  times <- matrix(NA_real_, rounds, length(runs), dimnames = list(NULL, names(runs)))
  for (round in seq_len(rounds)) for (name in names(runs)) {
    gc()
    times[round, name] <- time_of(runs[[name]]())
  }
  apply(times, 2L, median)
}

row_of <- function(label, times) {
  others <- times[setdiff(names(times), "inlay")]
  factor <- if (length(others) > 0L) sprintf("%.1f x", min(others, na.rm = TRUE) / times[["inlay"]]) else ""
  cat("|", paste(c(label, ifelse(is.na(times), "-", formatC(times, digits = 3, format = "fg", flag = "#")), factor), collapse = " | "), "|\n")
}

head_of <- function(label, names) {
  cat("|", paste(c(label, names, "the best other / inlay"), collapse = " | "), "|\n|", strrep("---|", length(names) + 2L), "\n", sep = "")
}
