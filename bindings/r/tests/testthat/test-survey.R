# The package survey over a connection, and the same estimates as SQL.

replicates <- paste0("w", 1:80)

# People with a weight and 80 of its replicates, and other columns.
people <- function(rows) {
  set.seed(2016)
  weight <- sample.int(200L, rows, TRUE)
  frame <- data.frame(st = sample.int(5L, rows, TRUE), age = sample.int(95L, rows, TRUE), income = round(rlnorm(rows, 10)), w = weight)
  frame$income[sample.int(rows, rows %/% 5L)] <- NA
  others <- as.data.frame(matrix(sample.int(9L, rows * 190L, TRUE), rows))
  weights <- sapply(replicates, function(name) pmax(0, round(weight * (1 + rnorm(rows) / 4))))
  cbind(frame, weights, others)
}

# An estimate for each of the weights becomes one with its error.
estimate <- function(con, value, where = "", is_total = FALSE) {
  of <- function(w) if (is_total) sprintf("sum(%s * %s)", value, w) else sprintf("sum(%s * %s) / sum(%s)", value, w, w)
  found <- unlist(dbGetQuery(con, paste("SELECT", paste(vapply(c("w", replicates), of, ""), collapse = ", "), "FROM acs", where)))
  unname(c(found[[1L]], sqrt(4 / 80 * sum((found[-1L] - found[[1L]])^2))))
}

test_that("survey gives over a connection what it gives over a data frame, and SQL the same", {
  skip_if_not_installed("survey")
  file <- withr::local_tempfile(fileext = ".inlay")
  con <- connected(file)
  frame <- people(2000L)
  expect_identical(ncol(frame), 274L)
  dbWriteTable(con, "acs", frame)
  dbExecute(con, "ALTER TABLE acs ADD COLUMN old DOUBLE")
  expect_identical(dbExecute(con, "UPDATE acs SET old = (age >= 65)::INTEGER"), 2000L)
  frame$old <- as.numeric(frame$age >= 65)
  design <- function(...) {
    survey::svrepdesign(weights = ~w, repweights = "^w[0-9]+$", type = "JK1", scale = 4 / 80, rscales = rep(1, 80), mse = TRUE, ...)
  }
  own <- design(data = frame)
  columns <- design(data = dbGetQuery(con, "FROM acs"))
  there <- design(data = "acs", dbtype = "Inlay", dbname = file)
  withr::defer(close(there))
  numbers <- function(it) {
    mean <- survey::svymean(~income, it, na.rm = TRUE)
    total <- survey::svytotal(~old, it)
    groups <- survey::svyby(~old, ~st, it, survey::svymean)
    c(coef(mean), survey::SE(mean), coef(total), survey::SE(total), groups$old, survey::SE(groups))
  }
  wanted <- numbers(own)
  expect_equal(numbers(columns), wanted, tolerance = 1e-9)
  expect_equal(numbers(there), wanted, tolerance = 1e-9)
  expect_equal(estimate(con, "income", "WHERE income IS NOT NULL"), unname(wanted[1:2]), tolerance = 1e-9)
  expect_equal(estimate(con, "old", is_total = TRUE), unname(wanted[3:4]), tolerance = 1e-9)
})
