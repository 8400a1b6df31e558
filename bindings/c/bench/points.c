/* Single rows through C, Inlay beside SQLite: the statements of bench/points, in turns, the median of the rounds.
 *
 *     points [ROUNDS [FOLDER]]
 *
 * Both have a file with a write-ahead log in FOLDER, a million rows, a primary key, and statements that are prepared once.
 */
#define _GNU_SOURCE
#include "inlay.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROWS = 1000000, RUNS = 50000, ROUNDS_MAX = 101 };

static const char *CREATE = "CREATE TABLE points (id INTEGER PRIMARY KEY, place INTEGER, name VARCHAR, amount DOUBLE)";
static const char *FILL_INLAY =
    "INSERT INTO points SELECT range, (range * 7919) % 1000000, 'name ' || range, range * 0.25 FROM range(1000000); CHECKPOINT";
static const char *FILL_SQLITE =
    "WITH RECURSIVE r(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM r WHERE n < 999999) "
    "INSERT INTO points SELECT n, (n * 7919) % 1000000, 'name ' || n, n * 0.25 FROM r";
static const char *STATEMENTS[] = {
    "SELECT 1",
    "SELECT id, place, name, amount FROM points WHERE id = ?",
    "INSERT INTO points VALUES (?, ?, ?, ?)",
    "UPDATE points SET amount = ? WHERE id = ?",
    "DELETE FROM points WHERE id = ?",
};
static const char *NAMES[] = {"SELECT 1", "by key", "INSERT in a transaction", "UPDATE in a transaction", "DELETE in a transaction"};
enum { CASES = sizeof STATEMENTS / sizeof *STATEMENTS };

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void need(int is_right, const char *what) {
  if (is_right) return;
  fprintf(stderr, "%s failed\n", what);
  exit(1);
}

static int key_of(int run) { return (int)((long long)run * 7919 % ROWS); }

static double sum; /* What was read: both engines must agree, and no read is left out. */

static double inlay_round(inlay_connection *connection, inlay_statement **statements, int which) {
  inlay_statement *statement = statements[which];
  inlay_error *error = NULL;
  need(inlay_begin(connection, &error) == INLAY_OK, "BEGIN");
  double began = seconds();
  for (int run = 0; run < RUNS; run++) {
    inlay_result *result = NULL;
    int key = key_of(run), ok = 1;
    if (which <= 1) {
      int64_t number = 0;
      double amount = 0;
      const char *name = NULL;
      if (which == 1) ok &= inlay_bind_int32(statement, 1, key, &error) == INLAY_OK;
      ok &= inlay_statement_query(statement, &result, &error) == INLAY_OK;
      ok &= inlay_value_int64(result, 0, 0, &number, &error) == INLAY_OK;
      if (which == 1) {
        ok &= inlay_value_text(result, 0, 2, &name, NULL, &error) == INLAY_OK;
        ok &= inlay_value_double(result, 0, 3, &amount, &error) == INLAY_OK;
        sum += (double)strlen(name) + amount;
      }
      sum += (double)number;
      inlay_result_release(&result);
    } else {
      uint64_t changed = 0;
      if (which == 2) {
        ok &= inlay_bind_int32(statement, 1, ROWS + run, &error) == INLAY_OK && inlay_bind_int32(statement, 2, run, &error) == INLAY_OK;
        ok &= inlay_bind_text(statement, 3, "a new name", 10, &error) == INLAY_OK && inlay_bind_double(statement, 4, 0.5, &error) == INLAY_OK;
      } else if (which == 3) {
        ok &= inlay_bind_double(statement, 1, 0.5, &error) == INLAY_OK && inlay_bind_int32(statement, 2, key, &error) == INLAY_OK;
      } else {
        ok &= inlay_bind_int32(statement, 1, key, &error) == INLAY_OK;
      }
      ok &= inlay_statement_execute(statement, &changed, &error) == INLAY_OK;
      sum += (double)changed;
    }
    if (!ok) fprintf(stderr, "%s\n", inlay_error_text(error));
    need(ok, NAMES[which]);
  }
  double taken = seconds() - began;
  need(inlay_rollback(connection, &error) == INLAY_OK, "ROLLBACK");
  return taken / RUNS * 1e6;
}

static double sqlite_round(sqlite3 *connection, sqlite3_stmt **statements, int which) {
  sqlite3_stmt *statement = statements[which];
  need(sqlite3_exec(connection, "BEGIN", NULL, NULL, NULL) == SQLITE_OK, "SQLite's BEGIN");
  double began = seconds();
  for (int run = 0; run < RUNS; run++) {
    int key = key_of(run);
    if (which == 1 || which == 4) sqlite3_bind_int(statement, 1, key);
    if (which == 2) {
      sqlite3_bind_int(statement, 1, ROWS + run);
      sqlite3_bind_int(statement, 2, run);
      sqlite3_bind_text(statement, 3, "a new name", 10, SQLITE_STATIC);
      sqlite3_bind_double(statement, 4, 0.5);
    }
    if (which == 3) {
      sqlite3_bind_double(statement, 1, 0.5);
      sqlite3_bind_int(statement, 2, key);
    }
    int status = sqlite3_step(statement);
    need(status == (which <= 1 ? SQLITE_ROW : SQLITE_DONE), "a step of SQLite");
    if (which <= 1) sum += (double)sqlite3_column_int64(statement, 0);
    if (which == 1) sum += (double)strlen((const char *)sqlite3_column_text(statement, 2)) + sqlite3_column_double(statement, 3);
    if (which > 1) sum += sqlite3_changes(connection);
    sqlite3_reset(statement);
  }
  double taken = seconds() - began;
  need(sqlite3_exec(connection, "ROLLBACK", NULL, NULL, NULL) == SQLITE_OK, "SQLite's ROLLBACK");
  return taken / RUNS * 1e6;
}

static int by_size(const void *left, const void *right) {
  double a = *(const double *)left, b = *(const double *)right;
  return (a > b) - (a < b);
}

static double median(double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_size);
  return values[count / 2];
}

int main(int count, char **given) {
  int rounds = count > 1 ? atoi(given[1]) : 7;
  const char *folder = count > 2 ? given[2] : "/tmp";
  char path[4096], own_path[4096];
  inlay_database *database = NULL;
  inlay_connection *own = NULL;
  inlay_statement *prepared[CASES] = {NULL};
  sqlite3 *other = NULL;
  sqlite3_stmt *others[CASES] = {NULL};
  need(rounds > 0 && rounds < ROUNDS_MAX, "the number of rounds");

  snprintf(own_path, sizeof own_path, "%s/points-%ld.inlay", folder, (long)time(NULL));
  need(inlay_open(own_path, NULL, &database, NULL) == INLAY_OK && inlay_connect(database, &own, NULL) == INLAY_OK, "opening Inlay");
  need(inlay_execute(own, CREATE, NULL, NULL) == INLAY_OK && inlay_execute(own, FILL_INLAY, NULL, NULL) == INLAY_OK, "filling Inlay");
  snprintf(path, sizeof path, "%s/points-%ld.sqlite", folder, (long)time(NULL));
  need(sqlite3_open(path, &other) == SQLITE_OK, "opening SQLite");
  sqlite3_exec(other, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -262144", NULL, NULL, NULL);
  need(sqlite3_exec(other, CREATE, NULL, NULL, NULL) == SQLITE_OK && sqlite3_exec(other, FILL_SQLITE, NULL, NULL, NULL) == SQLITE_OK, "filling SQLite");
  for (int which = 0; which < CASES; which++) {
    need(inlay_prepare(own, STATEMENTS[which], &prepared[which], NULL) == INLAY_OK, STATEMENTS[which]);
    need(sqlite3_prepare_v2(other, STATEMENTS[which], -1, &others[which], NULL) == SQLITE_OK, STATEMENTS[which]);
  }
  printf("%-26s %10s %10s %8s\n", "us per operation", "Inlay", "SQLite", "ratio");
  for (int which = 0; which < CASES; which++) {
    double times[2][ROUNDS_MAX], sums[2] = {0, 0};
    for (int round = 0; round < rounds; round++) {
      sum = 0;
      times[0][round] = inlay_round(own, prepared, which);
      sums[0] = sum;
      sum = 0;
      times[1][round] = sqlite_round(other, others, which);
      sums[1] = sum;
      need(sums[0] == sums[1], "to agree");
    }
    double first = median(times[0], rounds), second = median(times[1], rounds);
    printf("%-26s %10.2f %10.2f %8.2f\n", NAMES[which], first, second, first / second);
  }
  for (int which = 0; which < CASES; which++) {
    inlay_statement_free(&prepared[which]);
    sqlite3_finalize(others[which]);
  }
  inlay_disconnect(&own);
  inlay_close(&database);
  sqlite3_close(other);
  remove(path);
  remove(own_path);
  return 0;
}
