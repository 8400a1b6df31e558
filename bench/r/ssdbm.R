# The micro-benchmark of SSDBM 2014 from R: selections, selections with projection, grouping, joins; the answer is in R.
#
#   Rscript bench/r/ssdbm.R --sizes=10,100 --rounds=5 --threads=2
#   Rscript bench/r/ssdbm.R --cold=1       each run is a process of its own, which opens the file, or reads it
#
# Tables of four columns of integers with random values; sizes are megabytes of them. Milliseconds, medians.

here <- dirname(sub("--file=", "", grep("--file=", commandArgs(FALSE), value = TRUE)))
source(file.path(here, "common.R"))

CASES <- list(
  `select 1 %` = list(share = 0.01, columns = "k, g, v, w"), `select 10 %` = list(share = 0.1, columns = "k, g, v, w"),
  `select 50 %` = list(share = 0.5, columns = "k, g, v, w"), `project 1 %` = list(share = 0.01, columns = "k, w"),
  `project 10 %` = list(share = 0.1, columns = "k, w"), `project 50 %` = list(share = 0.5, columns = "k, w"),
  `group 1` = list(key = "one"), `group 500` = list(key = "g"), `group n/10` = list(key = "k10"),
  `join 1 %` = list(join = "s1"), `join 10 %` = list(join = "s10")
)

RANGE <- 1000000L

made_tables <- function(size) {
  set.seed(size)
  rows <- as.integer(size * 1e6 / 16)
  r <- data.frame(k = sample.int(rows), g = sample.int(500L, rows, TRUE), v = sample.int(RANGE, rows, TRUE), w = sample.int(RANGE, rows, TRUE))
  part <- function(share) data.frame(k = sample.int(rows, rows * share), x = sample.int(RANGE, rows * share, TRUE))
  list(r = r, s1 = part(0.01), s10 = part(0.1))
}

sql_of <- function(case) {
  if (!is.null(case$share)) return(sprintf("SELECT %s FROM r WHERE v <= %d", case$columns, as.integer(RANGE * case$share)))
  if (!is.null(case$join)) return(sprintf("SELECT r.k, r.v, s.x FROM r JOIN %s s ON r.k = s.k", case$join))
  key <- c(one = "1", g = "g", k10 = "k / 10")[[case$key]]
  sprintf("SELECT %s AS key, count(*) AS n, sum(v) AS v, max(w) AS w FROM r GROUP BY 1", if (case$key == "k10") "CAST(k AS INTEGER) / 10" else key)
}

# R divides as a number, Inlay's SQL too: whole numbers by //.
inlay_sql <- function(case) sub("CAST(k AS INTEGER) / 10", "k // 10", sql_of(case), fixed = TRUE)

data_table_answer <- function(t, case) {
  r <- t$r
  if (!is.null(case$share)) return(r[v <= as.integer(RANGE * case$share), strsplit(case$columns, ", ")[[1L]], with = FALSE])
  if (!is.null(case$join)) return(merge(r[, .(k, v)], t[[case$join]], by = "k"))
  switch(case$key, one = r[, .(n = .N, v = sum(as.numeric(v)), w = max(w))], g = r[, .(n = .N, v = sum(as.numeric(v)), w = max(w)), by = g],
         k10 = r[, .(n = .N, v = sum(as.numeric(v)), w = max(w)), by = k %/% 10L])
}

file_of <- function(folder, size, ending) file.path(folder, paste0("ssdbm-", size, ".", ending))

prepare <- function(folder, size) {
  if (file.exists(file_of(folder, size, "done"))) return(invisible())
  t <- made_tables(size)
  for (driver in c("inlay", if (has("RSQLite")) "sqlite")) {
    con <- if (driver == "inlay") dbConnect(inlay(), file_of(folder, size, "inlay")) else dbConnect(RSQLite::SQLite(), file_of(folder, size, "sqlite"))
    for (name in names(t)) dbWriteTable(con, name, t[[name]], overwrite = TRUE)
    dbDisconnect(con)
  }
  if (has("data.table")) for (name in names(t)) data.table::fwrite(t[[name]], file_of(folder, size, paste0(name, ".csv")))
  file.create(file_of(folder, size, "done"))
}

opened <- function(engine, folder, size, threads) {
  if (engine == "inlay") return(dbConnect(inlay(), file_of(folder, size, "inlay"), config = list(threads = threads), read_only = TRUE))
  if (engine == "sqlite") return(dbConnect(RSQLite::SQLite(), file_of(folder, size, "sqlite")))
  data.table::setDTthreads(threads)
  sapply(c("r", "s1", "s10"), function(name) data.table::fread(file_of(folder, size, paste0(name, ".csv"))), simplify = FALSE)
}

answer <- function(engine, it, case) {
  switch(engine, inlay = dbGetQuery(it, inlay_sql(case)), sqlite = dbGetQuery(it, sql_of(case)), data.table = data_table_answer(it, case))
}

# What engines agree on: rows, and the sum of the last column.
signature_of <- function(frame) c(nrow(frame), sum(as.numeric(frame[[ncol(frame)]])))

main <- function() {
  folder <- argument("folder", file.path(tempdir(), "ssdbm"))
  sizes <- as.integer(strsplit(argument("sizes", "10,100"), ",")[[1L]])
  rounds <- as.integer(argument("rounds", "5"))
  threads <- as.integer(argument("threads", "2"))
  engines <- c("inlay", if (has("data.table")) "data.table", if (has("RSQLite")) "sqlite")
  dir.create(folder, showWarnings = FALSE, recursive = TRUE)
  one <- argument("one", "")
  if (one != "") {
    # A cold run: what this process does, told to the one that started it.
    case <- CASES[[argument("case", "")]]
    if (one == "data.table") suppressPackageStartupMessages(library(data.table))
    cat(time_of(signature_of(answer(one, opened(one, folder, sizes, threads), case))), "\n")
    return(invisible())
  }
  if (has("data.table")) suppressPackageStartupMessages(library(data.table))
  is_cold <- argument("cold", "0") == "1"
  for (size in sizes) {
    prepare(folder, size)
    head_of(paste0(size, " MB, ", if (is_cold) "cold" else "hot"), engines)
    its <- if (!is_cold) sapply(engines, opened, folder, size, threads, simplify = FALSE)
    for (name in names(CASES)) {
      case <- CASES[[name]]
      cold <- function(engine) {
        command <- c(sub("--file=", "", grep("--file=", commandArgs(FALSE), value = TRUE)), paste0("--one=", engine), shQuote(paste0("--case=", name)),
                     paste0("--folder=", folder), paste0("--sizes=", size), paste0("--threads=", threads))
        as.numeric(utils::tail(system2(file.path(R.home("bin"), "Rscript"), command, stdout = TRUE), 1L))
      }
      if (is_cold) {
        times <- sapply(engines, function(engine) median(vapply(seq_len(rounds), function(i) cold(engine), 0)))
      } else {
        found <- sapply(engines, function(engine) signature_of(answer(engine, its[[engine]], case)))
        if (!all(found == found[, "inlay"])) stop(name, ": the engines differ: ", paste(found, collapse = " "))
        times <- in_turns(sapply(engines, function(engine) function() answer(engine, its[[engine]], case), simplify = FALSE), rounds)
      }
      row_of(name, times)
    }
    if (!is_cold) for (it in its) if (is(it, "DBIConnection")) dbDisconnect(it)
    cat("\n")
  }
}

main()
