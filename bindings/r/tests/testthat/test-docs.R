# docs/r.md: its code runs, and gives what the page shows.

page <- Sys.getenv("INLAY_R_DOCS", test_path("../../../../docs/r.md"))

# Blocks of R, each as expressions with the lines that are shown behind them.
blocks_of <- function(lines) {
  starts <- which(lines == "```r")
  ends <- which(lines == "```")
  lapply(starts, function(start) lines[(start + 1L):(min(ends[ends > start]) - 1L)])
}

run_block <- function(lines, env) {
  shown <- startsWith(lines, "#>")
  code <- character()
  for (i in seq_along(lines)) {
    if (!shown[[i]]) {
      code <- c(code, lines[[i]])
      next
    }
    if (i < length(lines) && shown[[i + 1L]]) next
    first <- max(c(0L, which(!shown[seq_len(i)]))) + 1L
    expressions <- parse(text = code)
    for (expression in utils::head(expressions, -1L)) eval(expression, env)
    printed <- utils::capture.output(print(eval(utils::tail(expressions, 1L)[[1L]], env)))
    expect_identical(trimws(printed, "right"), sub("^#> ?", "", lines[first:i]), info = paste(code, collapse = "\n"))
    code <- character()
  }
  for (expression in parse(text = code)) eval(expression, env)
}

test_that("the page's code gives what it shows", {
  skip_if_not(file.exists(page), "docs/r.md is not beside the package")
  env <- new.env(parent = globalenv())
  for (block in blocks_of(readLines(page, encoding = "UTF-8"))) run_block(block, env)
})
