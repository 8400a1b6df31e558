# A table like TPC-H's lineitem into the database and back: dbWriteTable, dbReadTable.
#
#   Rscript bench/r/lineitem.R --scale=0.2 --rounds=3
#
# 16 columns: numbers, days, texts; 6 million rows at scale 1. Milliseconds, medians; the database is a file, and the table is durable.

here <- dirname(sub("--file=", "", grep("--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "common.R"))

lineitem <- function(rows) {
  set.seed(1)
  whole <- function(most) sample.int(most, rows, TRUE)
  words <- c("furiously", "carefully", "quickly", "regular", "deposits", "accounts", "packages", "requests", "ironic", "final", "pending", "blithely")
  day <- as.Date("1992-01-01") + whole(2500L)
  comments <- paste(sample(words, 200000L, TRUE), sample(words, 200000L, TRUE), sample(words, 200000L, TRUE), seq_len(200000L))
  data.frame(
    l_orderkey = sort(whole(as.integer(rows / 4) + 1L)), l_partkey = whole(200000L), l_suppkey = whole(10000L), l_linenumber = whole(7L),
    l_quantity = as.numeric(whole(50L)), l_extendedprice = whole(10000000L) / 100, l_discount = whole(11L) / 100 - 0.01, l_tax = whole(9L) / 100 - 0.01,
    l_returnflag = sample(c("A", "N", "R"), rows, TRUE), l_linestatus = sample(c("O", "F"), rows, TRUE), l_shipdate = day, l_commitdate = day + 10,
    l_receiptdate = day + 20, l_shipinstruct = sample(c("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN"), rows, TRUE),
    l_shipmode = sample(c("AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"), rows, TRUE), l_comment = sample(comments, rows, TRUE)
  )
}

# Looks at every value, where R has them lazily.
touched <- function(frame) {
  for (column in frame) if (is.character(column)) sum(nchar(column, "bytes")) else sum(as.numeric(column))
  invisible()
}

main <- function() {
  frame <- lineitem(as.integer(6e6 * as.numeric(argument("scale", "0.2"))))
  rounds <- as.integer(argument("rounds", "3"))
  file <- tempfile()
  open <- list(inlay = function() dbConnect(inlay(), paste0(file, ".inlay")), sqlite = if (has("RSQLite")) function() dbConnect(RSQLite::SQLite(), paste0(file, ".sqlite")))
  open <- Filter(Negate(is.null), open)
  cons <- lapply(open, function(it) it())
  run <- function(code) sapply(names(cons), function(name) function() code(cons[[name]]), simplify = FALSE)
  head_of(paste(nrow(frame), "rows"), names(cons))
  row_of("dbWriteTable", in_turns(run(function(con) dbWriteTable(con, "lineitem", frame, overwrite = TRUE)), rounds))
  row_of("dbWriteTable, numbers alone", in_turns(run(function(con) dbWriteTable(con, "numbers", frame[1:8], overwrite = TRUE)), rounds))
  row_of("dbReadTable", in_turns(run(function(con) dbReadTable(con, "lineitem")), rounds))
  row_of("dbReadTable, all values looked at", in_turns(run(function(con) touched(dbReadTable(con, "lineitem"))), rounds))
  row_of("dbReadTable, numbers alone", in_turns(run(function(con) dbReadTable(con, "numbers")), rounds))
  for (con in cons) dbDisconnect(con)
}

main()
