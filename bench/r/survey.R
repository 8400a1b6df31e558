# An analysis as of the American Community Survey: 274 columns, 80 of them replicate weights; estimates with errors by the package survey
# over the database, and as SQL. Both have to be equal.
#
#   Rscript bench/r/survey.R --people=100000 --rounds=3
#
# Milliseconds, medians.

here <- dirname(sub("--file=", "", grep("--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "common.R"))
suppressPackageStartupMessages(library(survey))

REPLICATES <- 80L

people <- function(rows) {
  set.seed(2016)
  weight <- sample.int(200L, rows, TRUE)
  frame <- data.frame(serialno = seq_len(rows), st = sample.int(5L, rows, TRUE), agep = sample.int(95L, rows, TRUE) - 1L, sex = sample.int(2L, rows, TRUE),
                      pincp = round(rlnorm(rows, 10)), pwgtp = weight)
  frame$pincp[sample.int(rows, rows %/% 5L)] <- NA
  replicates <- sapply(seq_len(REPLICATES), function(i) as.integer(pmax(0, round(weight * (1 + rnorm(rows) / 4)))))
  colnames(replicates) <- paste0("pwgtp", seq_len(REPLICATES))
  others <- as.data.frame(matrix(sample.int(9L, rows * (274L - ncol(frame) - REPLICATES), TRUE), rows))
  cbind(frame, replicates, others)
}

# Phase 1: stored, and made ready there.
load <- function(con, frame) {
  dbWriteTable(con, "acs", frame, overwrite = TRUE)
  dbExecute(con, "DROP TABLE IF EXISTS ready")
  dbExecute(con, "CREATE TABLE ready AS SELECT *, CASE WHEN agep >= 65 THEN 1 ELSE 0 END AS old, CASE WHEN sex = 2 THEN 1 ELSE 0 END AS female FROM acs")
}

design_of <- function(con, columns) {
  frame <- dbGetQuery(con, paste("SELECT", paste(c(columns, "pwgtp", paste0("pwgtp", seq_len(REPLICATES))), collapse = ", "), "FROM ready"))
  svrepdesign(weights = ~pwgtp, repweights = "pwgtp[0-9]+", type = "JK1", scale = 4 / 80, rscales = rep(1, 80), mse = TRUE, data = frame)
}

# Phase 2, by survey.
statistics <- function(con) {
  design <- design_of(con, c("st", "agep", "pincp", "old", "female"))
  total <- svytotal(~old, design)
  mean <- svymean(~pincp, design, na.rm = TRUE)
  groups <- svyby(~female, ~st, design, svymean)
  c(coef(total), SE(total), coef(mean), SE(mean), groups$female, SE(groups))
}

# The same as SQL: an estimate for each of the weights.
estimates <- function(value, where, by = NULL, is_total = FALSE) {
  weights <- c("pwgtp", paste0("pwgtp", seq_len(REPLICATES)))
  of <- function(weight) if (is_total) sprintf("sum(%s * %s)", value, weight) else sprintf("sum(%s * 1.0 * %s) / sum(%s)", value, weight, weight)
  paste("SELECT", paste(c(by, vapply(weights, of, "")), collapse = ", "), "FROM ready", where, if (!is.null(by)) paste("GROUP BY", by, "ORDER BY", by))
}

in_sql <- function(con) {
  errors <- function(rows) {
    rows <- as.matrix(rows)
    list(rows[, 1], sqrt(4 / 80 * rowSums((rows[, -1, drop = FALSE] - rows[, 1])^2)))
  }
  numbers <- function(sql, skip = 0L) errors(as.data.frame(lapply(dbGetQuery(con, sql), as.numeric))[, (1L + skip):(81L + skip)])
  total <- numbers(estimates("old", "", is_total = TRUE))
  mean <- numbers(estimates("pincp", "WHERE pincp IS NOT NULL"))
  groups <- numbers(estimates("female", "", "st"), 1L)
  c(total[[1L]], total[[2L]], mean[[1L]], mean[[2L]], groups[[1L]], groups[[2L]])
}

main <- function() {
  frame <- people(as.integer(as.numeric(argument("people", "100000"))))
  rounds <- as.integer(argument("rounds", "3"))
  file <- tempfile()
  cons <- list(inlay = dbConnect(inlay(), paste0(file, ".inlay")), sqlite = if (has("RSQLite")) dbConnect(RSQLite::SQLite(), paste0(file, ".sqlite")))
  cons <- Filter(Negate(is.null), cons)
  run <- function(code) sapply(names(cons), function(name) function() code(cons[[name]]), simplify = FALSE)
  head_of(paste(nrow(frame), "people"), names(cons))
  row_of("stored and made ready", in_turns(run(function(con) load(con, frame)), rounds))
  answers <- c(lapply(cons, statistics), lapply(cons, in_sql))
  for (answer in answers) stopifnot(max(abs(answer / answers[[1L]] - 1)) < 1e-9)
  row_of("statistics by survey", in_turns(run(statistics), rounds))
  row_of("statistics as SQL", in_turns(run(in_sql), rounds))
  for (con in cons) dbDisconnect(con)
}

main()
