# The virtual data frame gives what a data frame gives.

test_that("operations build SQL, and values are as R's", {
  con <- connected()
  cars <- transform(mtcars, name = rownames(mtcars), cyl = ifelse(mpg > 30, NA, cyl))
  rownames(cars) <- NULL
  dbWriteTable(con, "cars", cars)
  v <- inlay_frame(con, "cars")
  expect_identical(names(v), names(cars))
  expect_identical(dim(v), dim(cars))
  expect_identical(nrow(v), 32L)
  expect_equal(head(v, 3), head(cars, 3))
  expect_equal(as.data.frame(subset(v, mpg > 20 & cyl == 4, select = c(name, mpg))), subset(cars, mpg > 20 & cyl == 4, select = c(name, mpg)), ignore_attr = TRUE)
  least <- 25
  expect_equal(as.vector(subset(v, mpg > least)$name), subset(cars, mpg > least)$name)
  expect_equal(as.data.frame(v[v$hp > 200, c("name", "hp")]), cars[cars$hp > 200, c("name", "hp")], ignore_attr = TRUE)
  expect_equal(as.vector(v[["mpg"]]), cars$mpg)
  expect_equal(as.vector((v$mpg + 1) * 2 - v$hp / 7), (cars$mpg + 1) * 2 - cars$hp / 7)
  expect_equal(as.vector(round(sqrt(v$hp), 2)), round(sqrt(cars$hp), 2))
  expect_equal(as.vector(-7 %% v$gear), -7 %% cars$gear)
  expect_equal(as.vector(v$hp %/% 7), cars$hp %/% 7)
  expect_equal(sum(v$mpg), sum(cars$mpg))
  expect_equal(mean(v$hp[v$mpg > 20]), mean(cars$hp[cars$mpg > 20]))
  expect_identical(mean(v$cyl), NA_real_)
  expect_equal(mean(v$cyl, na.rm = TRUE), mean(cars$cyl, na.rm = TRUE))
  expect_equal(range(v$wt), range(cars$wt))
  expect_equal(median(v$wt), median(cars$wt))
  expect_equal(sum(is.na(v$cyl)) |> as.numeric(), sum(is.na(cars$cyl)))
  expect_setequal(unique(v$gear), unique(cars$gear))
  expect_equal(with(v, sum(hp * 2)), with(cars, sum(hp * 2)))
  v$kpl <- v$mpg * 0.425
  v$disp <- NULL
  expect_equal(as.vector(v$kpl), cars$mpg * 0.425)
  expect_false("disp" %in% names(v))
  expect_output(print(v), "inlay_frame of 12 columns")
  expect_error(v$mpg + 1:3, "single values")
  expect_error(v["other"], "other")
})

test_that("merge, aggregate and unique give frames", {
  con <- connected()
  a <- data.frame(k = c(1L, 2L, 2L, 4L, NA), x = c(1.5, 2.5, 3.5, 4.5, 5.5), s = letters[1:5])
  b <- data.frame(k = c(2L, 4L, 5L, NA), y = c("u", "v", "w", "z"), s = LETTERS[1:4])
  dbWriteTable(con, "a", a)
  dbWriteTable(con, "b", b)
  va <- inlay_frame(con, "a")
  vb <- inlay_frame(con, "b")
  sorted <- function(x) {
    x <- as.data.frame(x)
    as.list(x[do.call(order, unname(as.list(x))), ])
  }
  for (all in c(FALSE, TRUE)) expect_equal(sorted(merge(va, vb, by = "k", all = all)), sorted(merge(a, b, by = "k", all = all)))
  expect_equal(sorted(merge(va, vb, by = "k", all.x = TRUE)), sorted(merge(a, b, by = "k", all.x = TRUE)))
  expect_equal(sorted(aggregate(va[c("k", "x")], "k", mean))$x, c(1.5, 3, 4.5, 5.5))
  expect_identical(nrow(unique(va["k"])), 4L)
  expect_identical(nrow(merge(va, vb, by = "k")), 4L)
  x <- subset(merge(va, vb, by = "k"), x > 2)
  expect_equal(sum(x$x), 2.5 + 3.5 + 4.5 + 5.5)
})
