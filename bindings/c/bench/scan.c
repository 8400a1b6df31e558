/* Eight numeric columns of lineitem from a file into C: `SELECT` to pointers of all rows, as they lie, and as plain arrays.
 *
 *     scan [SCALE [ROUNDS [FOLDER]]]
 *
 * The file is made and opened anew; the first round reads it, the others find what it read. Bytes that were copied are those that the
 * process holds more afterwards. Row groups of the table are full, as loading makes them; what dbgen makes is not.
 */
#define _GNU_SOURCE
#include "inlay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { COLUMNS = 8, ROUNDS_MAX = 1001 };

static const char *QUERY =
    "SELECT l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax FROM lineitem";

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double own_mib(void) {
  long pages = 0, resident = 0, shared = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld %ld", &pages, &resident, &shared) != 3) exit(1);
  fclose(file);
  return (double)(resident - shared) * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static inlay_error *error;

static void need(inlay_status status) {
  if (status == INLAY_OK) return;
  fprintf(stderr, "%s\n", inlay_error_text(error));
  exit(1);
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

/* One read of all columns; gives how long it took, and how many values there were. */
static double read_columns(inlay_connection *connection, int is_plain, size_t *values) {
  inlay_result *result = NULL;
  double began = milliseconds();
  *values = 0;
  need(inlay_query(connection, QUERY, &result, &error));
  for (size_t column = 0; column < COLUMNS; column++) {
    if (is_plain) {
      inlay_double_column plain;
      need(inlay_column_double(result, column, &plain, &error));
      *values += plain.count;
    } else {
      inlay_array view;
      need(inlay_column_view(result, column, &view, &error));
      *values += view.count;
    }
  }
  double taken = milliseconds() - began;
  inlay_result_release(&result);
  return taken;
}

int main(int count, char **given) {
  const char *scale = count > 1 ? given[1] : "1";
  int rounds = count > 2 ? atoi(given[2]) : 51;
  const char *folder = count > 3 ? given[3] : "/tmp";
  char path[4096], sql[256];
  inlay_database *database = NULL;
  inlay_connection *connection = NULL;
  if (rounds < 1 || rounds > ROUNDS_MAX) return 1;
  snprintf(path, sizeof path, "%s/scan-%ld.inlay", folder, (long)time(NULL));
  snprintf(sql, sizeof sql, "CALL tpch_dbgen(sf := %s); CREATE TABLE full_groups AS FROM lineitem ORDER BY l_orderkey; DROP TABLE lineitem; "
           "ALTER TABLE full_groups RENAME TO lineitem; CHECKPOINT", scale);
  need(inlay_open(path, NULL, &database, &error));
  need(inlay_connect(database, &connection, &error));
  need(inlay_execute(connection, sql, NULL, &error));
  inlay_disconnect(&connection);
  inlay_close(&database);
  need(inlay_open(path, NULL, &database, &error));
  need(inlay_connect(database, &connection, &error));
  for (int is_plain = 0; is_plain < 2; is_plain++) {
    double times[ROUNDS_MAX];
    size_t values = 0;
    double first = read_columns(connection, is_plain, &values), before = own_mib();
    for (int round = 0; round < rounds; round++) times[round] = read_columns(connection, is_plain, &values);
    double copied = own_mib() - before;
    qsort(times, (size_t)rounds, sizeof *times, by_size);
    printf("%-28s %12zu values  first %8.1f ms  then %8.3f ms  %6.1f MiB more\n", is_plain ? "as doubles" : "as they lie", values, first,
           times[rounds / 2], copied);
  }
  inlay_disconnect(&connection);
  inlay_close(&database);
  remove(path);
  return 0;
}
