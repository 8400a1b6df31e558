# DBI's own suite, with what is left out and why.

skip_if(Sys.getenv("INLAY_R_LONG") == "", "takes minutes: INLAY_R_LONG=1")
skip_if_not_installed("DBItest")

DBItest::make_context(
  inlay(), list(dbdir = tempfile(fileext = ".inlay"), factors = "text"),
  tweaks = DBItest::tweaks(
    constructor_name = "inlay", constructor_relax_args = TRUE, placeholder_pattern = c("?", "$1", "$name"),
    date_cast = function(x) paste0("DATE '", x, "'"), time_cast = function(x) paste0("TIME '", x, "'"),
    timestamp_cast = function(x) paste0("TIMESTAMP '", x, "'"), blob_cast = function(x) paste0("(", x, ")::BLOB"),
    logical_return = as.logical, date_typed = TRUE, time_typed = TRUE, timestamp_typed = TRUE, temporary_tables = TRUE,
    list_temporary_tables = TRUE, dbitest_version = "1.7.3"
  ),
  name = "inlay"
)
DBItest::test_all(skip = c(
  # The package is called as the database is, not R...
  "package_name",
  # Any number of results of a connection may be open.
  "send_query_only_one_result_set", "send_statement_only_one_result_set"
))
