# dplyr's verbs over a connection give what they give over the same data in R.

skip_if_not_installed("dbplyr")
skip_if_not_installed("dplyr")
suppressPackageStartupMessages(library(dplyr, warn.conflicts = FALSE))

# The frame, in R and in the database.
both <- function(con, frame, name) {
  dbWriteTable(con, name, frame)
  list(local = as_tibble(frame), remote = tbl(con, name))
}

expect_same <- function(data, verbs, ordered = FALSE) {
  local <- as.data.frame(verbs(data$local))
  remote <- as.data.frame(collect(verbs(data$remote)))
  remote[] <- lapply(remote, function(x) if (inherits(x, "integer64")) as.integer(x) else x)
  local[] <- lapply(local, function(x) if (is.factor(x)) as.character(x) else x)
  sorted <- function(frame) if (ordered) frame else frame[do.call(order, unname(as.list(frame))), , drop = FALSE]
  plain <- function(frame) as.list(sorted(frame))
  expect_equal(plain(remote), plain(local), ignore_attr = TRUE)
}

cars <- transform(mtcars, name = rownames(mtcars), gear = as.integer(gear), cyl = ifelse(mpg > 30, NA, as.integer(cyl)))
rownames(cars) <- NULL

test_that("verbs", {
  con <- connected()
  data <- both(con, cars, "cars")
  expect_same(data, function(x) x |> filter(mpg > 20, gear %in% c(4L, 5L)) |> select(name, mpg))
  expect_same(data, function(x) x |> mutate(kpl = mpg * 0.425, heavy = wt > 3, kind = case_when(hp > 200 ~ "fast", hp > 100 ~ "fair", TRUE ~ "slow")))
  expect_same(data, function(x) x |> group_by(cyl, gear) |> summarise(n = n(), mpg = mean(mpg, na.rm = TRUE), most = max(hp, na.rm = TRUE), .groups = "drop"))
  expect_same(data, function(x) x |> count(cyl, sort = TRUE))
  expect_same(data, function(x) x |> distinct(cyl, gear))
  expect_same(data, function(x) x |> arrange(desc(mpg), name) |> head(5), ordered = TRUE)
  expect_same(data, function(x) x |> group_by(gear) |> slice_max(hp, n = 2, with_ties = FALSE) |> ungroup() |> select(name, gear))
  expect_same(data, function(x) x |> slice_min(mpg, n = 3) |> select(name))
  expect_same(data, function(x) x |> rename(weight = wt) |> relocate(weight) |> transmute(weight, twice = weight * 2))
  expect_same(data, function(x) x |> summarise(across(c(mpg, hp), ~ mean(.x, na.rm = TRUE))))
  expect_same(data, function(x) x |> filter(is.na(cyl)) |> pull(name) |> tibble())
  expect_identical(data$remote |> summarise(n = n()) |> pull(n) |> as.integer(), 32L)
})

test_that("aggregates and windows", {
  con <- connected()
  data <- both(con, cars, "cars")
  expect_same(data, function(x) x |> group_by(gear) |> summarise(sd = sd(mpg, na.rm = TRUE), var = var(mpg, na.rm = TRUE), median = median(mpg, na.rm = TRUE),
                                                                 high = quantile(mpg, 0.9, na.rm = TRUE), kinds = n_distinct(cyl), known = n_distinct(cyl, na.rm = TRUE)))
  expect_same(data, function(x) x |> group_by(gear) |> summarise(any = any(am == 1, na.rm = TRUE), all = all(am == 1, na.rm = TRUE)))
  expect_same(data, function(x) x |> group_by(gear) |> mutate(r = row_number(name), share = hp / sum(hp, na.rm = TRUE), mean = mean(mpg, na.rm = TRUE)) |> ungroup())
  remote <- data$remote |> group_by(gear) |> dbplyr::window_order(name) |> mutate(before = lag(hp), total = cumsum(hp)) |> ungroup()
  local <- data$local |> arrange(name) |> group_by(gear) |> mutate(before = lag(hp), total = cumsum(hp)) |> ungroup()
  remote <- remote |> collect() |> arrange(name)
  expect_equal(remote$total, local$total)
  expect_equal(remote$before, local$before)
})

test_that("joins and sets", {
  con <- connected()
  a <- both(con, data.frame(k = c(1L, 2L, 3L, NA), x = c("a", "b", "c", "d")), "a")
  b <- both(con, data.frame(k = c(2L, 3L, 3L, 5L, NA), y = c(1, 2, 3, 4, 5)), "b")
  joins <- list(inner_join, left_join, full_join, semi_join, anti_join)
  for (join in joins) {
    remote <- collect(join(a$remote, b$remote, by = "k"))
    local <- join(a$local, b$local, by = "k", na_matches = "never")
    sorted <- function(frame) arrange(as_tibble(lapply(frame, `[`)), across(everything()))
    expect_equal(sorted(remote), sorted(local), ignore_attr = TRUE)
    # dbplyr 2.3 forgets `na_matches` of these.
    if (identical(join, semi_join) || identical(join, anti_join)) next
    expect_equal(sorted(collect(join(a$remote, b$remote, by = "k", na_matches = "na"))), sorted(join(a$local, b$local, by = "k")), ignore_attr = TRUE)
  }
  expect_same(list(local = a$local, remote = a$remote), function(x) dplyr::union_all(x, x))
  expect_same(list(local = a$local, remote = a$remote), function(x) dplyr::union(x, filter(x, k > 1L)))
  expect_same(list(local = a$local, remote = a$remote), function(x) dplyr::setdiff(x, filter(x, k > 1L)))
})

test_that("functions of numbers, texts and times", {
  con <- connected()
  frame <- data.frame(
    i = c(-7L, 7L, 3L, NA), d = c(-2.5, 0.5, 10, NA), s = c("Apple pie", "banana  split", "", NA),
    day = as.Date(c("2024-02-29", "2023-12-31", "2024-01-01", NA)), at = as.POSIXct(c("2024-02-29 13:14:15", "2023-12-31 23:59:59", "2024-01-01 00:00:00", NA), tz = "UTC")
  )
  con2 <- connected(timezone_out = "UTC")
  data <- both(con2, frame, "f")
  expect_same(data, function(x) x |> transmute(a = i %% 3L, b = i %/% 2L, c = round(d, 1L), e = abs(d), f = pmax(i, 1L), g = sqrt(abs(d)), h = log(abs(d), 2), j = exp(d)))
  expect_same(data, function(x) x |> transmute(a = toupper(s), b = nchar(s), c = substr(s, 1L, 3L), d = paste0(s, "!"), e = is.na(s)) |> filter(!e))
  expect_same(data, function(x) x |> transmute(a = grepl("an", s), b = sub("p", "P", s), c = gsub("p", "P", s), d = startsWith(s, "A")) |> filter(!is.na(b)))
  expect_same(data, function(x) x |> transmute(a = as.integer(d), b = as.character(i), c = as.numeric(i)))
  expect_same(data, function(x) x |> filter(day >= as.Date("2024-01-01")) |> select(i))
  expect_same(data, function(x) x |> filter(at == as.POSIXct("2024-02-29 13:14:15", tz = "UTC")) |> select(i))
  skip_if_not_installed("lubridate")
  suppressPackageStartupMessages(library(lubridate, warn.conflicts = FALSE))
  expect_same(data, function(x) x |> transmute(a = year(day), b = month(day), c = day(day), d = hour(at), e = minute(at), f = second(at), g = yday(day), h = quarter(day), i = wday(day)))
  expect_same(data, function(x) x |> transmute(a = as.Date(floor_date(day, "month")), b = isoweek(day)))
  translated <- dbplyr::translate_sql(str_detect(x, "a"), con = con)
  expect_identical(as.character(translated), "regexp_matches(\"x\", 'a')")
  expect_equal(dbGetQuery(con, "SELECT regexp_replace('a  b ', '\\s+', ' ', 'g') AS s")$s, "a b ")
})

test_that("tables are copied, computed and described", {
  con <- connected()
  remote <- copy_to(con, cars, "copied", indexes = list("name"))
  expect_identical(remote |> filter(mpg > 30) |> compute(name = "kept") |> collect() |> nrow(), sum(cars$mpg > 30))
  expect_true(all(c("copied", "kept") %in% dbListTables(con)))
  expect_output(print(remote), "Inlay")
  expect_output(explain(remote |> filter(mpg > 30)), "EXPLAIN|PLAN")
  expect_match(as.character(dbplyr::sql_render(remote |> filter(name == "it's"))), "it''s", fixed = TRUE)
})
