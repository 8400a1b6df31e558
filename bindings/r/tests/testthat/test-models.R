# Predictions as SQL.

predicted <- function(con, model, frame, ...) {
  dbWriteTable(con, "data_of_model", frame, overwrite = TRUE)
  sql <- inlay_predict_sql(model, ...)
  dbGetQuery(con, paste0("SELECT ", paste(sql, "AS", paste0("p", seq_along(sql)), collapse = ", "), " FROM data_of_model ORDER BY rowid"))
}

same <- function(found, wanted) expect_equal(as.vector(found), as.vector(unname(wanted)), tolerance = 1e-9)

cars <- transform(mtcars, cyl_f = factor(cyl), gear_t = as.character(gear), strong = hp > 150)

test_that("lm: numbers, factors, texts, truths, interactions, functions, offsets", {
  con <- connected()
  formulas <- list(
    mpg ~ wt, mpg ~ 1, mpg ~ 0 + wt, mpg ~ wt + hp + cyl_f, mpg ~ 0 + cyl_f + wt, mpg ~ cyl_f * wt, mpg ~ cyl_f:gear_t, mpg ~ cyl_f * gear_t * wt,
    mpg ~ gear_t + strong, mpg ~ strong * wt, mpg ~ factor(cyl) + log(hp) + I(wt^2), mpg ~ sqrt(hp) * wt + exp(-wt), mpg ~ offset(2 * wt) + hp,
    log(mpg) ~ I(hp / wt) + abs(qsec - 17), mpg ~ ifelse(hp > 100, wt, 0) + am, mpg ~ wt:cyl_f, mpg ~ wt + I(2 * wt)
  )
  for (formula in formulas) {
    model <- lm(formula, cars)
    same(predicted(con, model, cars)$p1, suppressWarnings(predict(model, cars)))
  }
  helmert <- lm(mpg ~ cyl_f * wt, cars, contrasts = list(cyl_f = "contr.helmert"))
  same(predicted(con, helmert, cars)$p1, predict(helmert, cars))
  # What is not there gives NULL, as a level that the model does not know.
  holes <- cars
  holes$wt[c(1, 5)] <- NA
  model <- lm(mpg ~ wt + cyl_f, cars)
  same(predicted(con, model, holes)$p1, predict(model, holes))
  unknown <- transform(cars[1:2, ], gear_t = c("4", "9"))
  expect_identical(is.na(predicted(con, lm(mpg ~ gear_t, cars), unknown)$p1[]), c(FALSE, TRUE))
})

test_that("glm: links and types", {
  con <- connected()
  models <- list(
    glm(am ~ wt + hp, binomial, cars), suppressWarnings(glm(am ~ wt, binomial("cloglog"), cars)), glm(am ~ wt, binomial("cauchit"), cars),
    glm(carb ~ hp + cyl_f, poisson, cars), glm(carb ~ hp, poisson("sqrt"), cars), glm(mpg ~ wt, Gamma, cars), glm(mpg ~ wt, Gamma("log"), cars),
    glm(mpg ~ hp, inverse.gaussian, cars), glm(mpg ~ wt + offset(hp / 100), gaussian, cars)
  )
  for (model in models) {
    for (type in c("link", "response")) same(predicted(con, model, cars, type = type)$p1, predict(model, cars, type = type))
    expect_identical(inlay_predict_sql(model), inlay_predict_sql(model, "link"))
  }
})

test_that("rpart: numbers and classes, with values that are not there", {
  skip_if_not_installed("rpart")
  con <- connected()
  set.seed(1)
  data <- data.frame(x = rnorm(600), y = runif(600), k = sample(c("a", "b", "c", "d"), 600, TRUE), f = factor(sample(c("u", "v", "w"), 600, TRUE)))
  data$z <- data$x + ifelse(data$k %in% c("a", "c"), 2, 0) + rnorm(600) / 5
  data$v <- ifelse(data$z > 1, 3, 0) + data$y + (data$f == "u") + rnorm(600) / 10
  data$c <- factor(ifelse(data$v > 3, "high", ifelse(data$v > 1.5, "mid", "low")))
  holes <- data
  for (column in c("x", "y", "k", "f", "z")) holes[[column]][sample(600, 120)] <- NA
  for (use in 0:2) {
    tree <- rpart::rpart(v ~ x + y + k + f + z, data, control = rpart::rpart.control(cp = 0.001, usesurrogate = use))
    expect_gt(nrow(tree$frame), 10)
    same(predicted(con, tree, data)$p1, predict(tree, data))
    same(predicted(con, tree, holes)$p1, predict(tree, holes))
  }
  classes <- rpart::rpart(c ~ x + y + k + f, data, control = rpart::rpart.control(cp = 0.001))
  for (part in list(data, holes)) {
    expect_identical(predicted(con, classes, part, type = "class")$p1[], as.character(predict(classes, part, type = "class")))
    same(as.matrix(predicted(con, classes, part)), predict(classes, part))
    same(predicted(con, classes, part, type = "vector")$p1, predict(classes, part, type = "vector"))
  }
  expect_named(inlay_predict_sql(classes), levels(data$c))
})

test_that("what is not translated says so", {
  expect_error(inlay_predict_sql(lm(mpg ~ poly(wt, 2), cars)), "poly(wt, 2)", fixed = TRUE)
  expect_error(inlay_predict_sql(lm(mpg ~ besselI(wt, 1), cars)), "besselI", fixed = TRUE)
  expect_error(inlay_predict_sql(lm(cbind(mpg, hp) ~ wt, cars)), "mlm", fixed = TRUE)
  expect_error(inlay_predict_sql(glm(am ~ wt, binomial("probit"), data = cars), "response"), "probit", fixed = TRUE)
  expect_error(inlay_predict_sql(loess(mpg ~ wt, cars)), "loess", fixed = TRUE)
})
