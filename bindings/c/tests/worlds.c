/* What users of comparable libraries ran into: each is a part of this program, by its name.
 *
 * The comments name the reports. */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *FOREVER = "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range + b.range = -1";

static long resident_kib(void) {
  long pages = 0, resident = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld %ld", &pages, &resident) == 2);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Memory stays where it was after the first tenth: duckdb/duckdb#3926, #21539, #21089. */
static void memory(long rounds) {
  OPEN();
  inlay_statement *insert = NULL, *select = NULL;
  long first = 0;
  OK(inlay_execute(connection, "CREATE TABLE t (a BIGINT)", NULL, &error));
  OK(inlay_prepare(connection, "SELECT $1 + 1", &select, &error));
  for (long round = 0; round < rounds; round++) {
    inlay_result *result = NULL;
    inlay_chunk *chunk = NULL;
    OK(inlay_bind_int64(select, 1, round, &error));
    OK(inlay_statement_query(select, &result, &error));
    if (round % 3 == 0) {
      int64_t value = 0;
      OK(inlay_value_int64(result, 0, 0, &value, &error));
      CHECK(value == round + 1);
    } else if (round % 3 == 1) {
      OK(inlay_result_next_chunk(result, &chunk, &error));
      inlay_chunk_free(&chunk);
    }
    inlay_result_release(&result);
    if (round % 10 == 0) {
      inlay_statement *once = NULL;
      OK(inlay_prepare(connection, "SELECT ? || 'x'", &once, &error));
      OK(inlay_bind_text(once, 1, "y", 1, &error));
      OK(inlay_statement_execute(once, NULL, &error));
      inlay_statement_free(&once);
    }
    if (round == rounds / 10) first = resident_kib();
  }
  long grown = resident_kib() - first;
  if (grown > 8 * 1024) fprintf(stderr, "runs of a statement took %ld KiB\n", grown);
  CHECK(grown <= 8 * 1024);
  /* Rows that are inserted take memory, their statements do not: the table is emptied. */
  OK(inlay_prepare(connection, "INSERT INTO t VALUES (?)", &insert, &error));
  for (long round = 0; round < rounds; round++) {
    if (round % 1000 == 0) {
      if (round > 0) OK(inlay_commit(connection, &error));
      OK(inlay_execute(connection, "TRUNCATE TABLE t", NULL, &error));
      OK(inlay_begin(connection, &error));
    }
    OK(inlay_bind_int64(insert, 1, round, &error));
    OK(inlay_statement_execute(insert, NULL, &error));
    if (round == rounds / 10) first = resident_kib();
  }
  OK(inlay_commit(connection, &error));
  grown = resident_kib() - first;
  if (grown > 8 * 1024) fprintf(stderr, "inserts took %ld KiB\n", grown);
  CHECK(grown <= 8 * 1024);
  inlay_statement_free(&insert);
  inlay_statement_free(&select);
  CLOSE();
}

typedef struct {
  inlay_connection *connection;
  inlay_database *database;
  long number, rounds;
} job;

static void *query_many(void *given) {
  job *work = given;
  inlay_error *error = NULL;
  for (long round = 0; round < work->rounds; round++) {
    inlay_result *result = NULL;
    char sql[64];
    int64_t value = 0;
    snprintf(sql, sizeof sql, "SELECT %ld * 1000 + %ld", work->number, round);
    OK(inlay_query(work->connection, sql, &result, &error));
    OK(inlay_value_int64(result, 0, 0, &value, &error));
    CHECK(value == work->number * 1000 + round);
    inlay_result_release(&result);
    CHECK(inlay_query(work->connection, "SELECT nope", &result, NULL) == INLAY_ERROR_UNDEFINED_COLUMN);
  }
  return NULL;
}

static void *query_own(void *given) {
  job *work = given;
  inlay_error *error = NULL;
  OK(inlay_connect(work->database, &work->connection, &error));
  query_many(work);
  inlay_disconnect(&work->connection);
  return NULL;
}

/* Many threads, one connection, or one each: marcboeker/go-duckdb#479. */
static void threads(long rounds) {
  OPEN();
  pthread_t ids[16];
  job jobs[16];
  for (int own = 0; own < 2; own++) {
    int count = own ? 8 : 16;
    for (int index = 0; index < count; index++) {
      job work = {own ? NULL : connection, database, index, rounds};
      jobs[index] = work;
      CHECK(pthread_create(&ids[index], NULL, own ? query_own : query_many, &jobs[index]) == 0);
    }
    for (int index = 0; index < count; index++) pthread_join(ids[index], NULL);
  }
  CLOSE();
}

static atomic_bool over;
static _Atomic double interrupted_at;

static void *interrupt_late(void *given) {
  struct timespec wait = {0, 0};
  wait.tv_nsec = (long)(intptr_t)((job *)given)->number * 1000;
  nanosleep(&wait, NULL);
  interrupted_at = seconds();
  /* At any moment of the call: before it began there is nothing to end, so it is sent until the call is over. */
  while (!over) {
    inlay_interrupt(((job *)given)->connection);
    wait.tv_nsec = 1000000;
    nanosleep(&wait, NULL);
  }
  return NULL;
}

/* An interrupt ends the call that runs and no other: duckdb/duckdb-go#88, marcboeker/go-duckdb#148, #132. */
static void interrupts(long rounds) {
  OPEN();
  for (long round = 0; round < rounds; round++) {
    pthread_t id;
    job work = {connection, database, (round * 7919) % 20000, 0};
    over = false;
    CHECK(pthread_create(&id, NULL, interrupt_late, &work) == 0);
    FAILS(inlay_execute(connection, FOREVER, NULL, &error), INLAY_ERROR_INTERRUPTED);
    over = true;
    double late = seconds() - interrupted_at;
    if (late > 0.1) fprintf(stderr, "an interrupt took %.3f s\n", late);
    pthread_join(id, NULL);
    inlay_interrupt(connection);
    CHECK(number(connection, "SELECT 1") == 1);
  }
  CLOSE();
}

/* Handles go in any order, and the file is free with the last: duckdb/duckdb-rs#312. */
static void order(const char *path) {
  for (int last = 0; last < 3; last++) {
    inlay_error *error = NULL;
    inlay_database *database = NULL, *again = NULL;
    inlay_connection *connection = NULL;
    inlay_statement *statement = NULL;
    inlay_result *result = NULL;
    OK(inlay_open(path, NULL, &database, &error));
    OK(inlay_connect(database, &connection, &error));
    inlay_close(&database);
    CHECK(number(connection, "SELECT 42") == 42);
    OK(inlay_execute(connection, "CREATE OR REPLACE TABLE t AS SELECT range AS a FROM range(200000)", NULL, &error));
    OK(inlay_prepare(connection, "FROM t", &statement, &error));
    OK(inlay_statement_query(statement, &result, &error));
    inlay_disconnect(&connection);
    if (last == 0) {
      inlay_statement_free(&statement);
      inlay_array view;
      OK(inlay_column_view(result, 0, &view, &error));
      CHECK(view.count == 200000 && ((const int64_t *)view.data)[199999] == 199999);
    }
    if (last == 1) {
      inlay_result_release(&result);
      OK(inlay_statement_query(statement, &result, &error));
    }
    inlay_result_release(&result);
    inlay_statement_free(&statement);
    /* Another process may open the file now. */
    pid_t child = fork();
    if (child == 0) {
      int status = 1;
      if (inlay_open(path, NULL, &again, &error) == INLAY_OK && inlay_connect(again, &connection, &error) == INLAY_OK) {
        status = number(connection, "SELECT count(*) FROM t") == 200000 ? 0 : 2;
        inlay_disconnect(&connection);
        inlay_close(&again);
      } else {
        fprintf(stderr, "%s\n", inlay_error_text(error));
      }
      _exit(status);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK(status == 0);
  }
}

/* A child has no use of its parent's handles, and may open its own: duckdb/duckdb-python#292. */
static void forks(const char *path) {
  inlay_error *error = NULL;
  inlay_database *database = NULL, *own = NULL;
  inlay_connection *connection = NULL;
  inlay_statement *statement = NULL;
  inlay_result *result = NULL, *unread = NULL;
  inlay_appender *appender = NULL;
  inlay_array view;
  OK(inlay_open(path, NULL, &database, &error));
  OK(inlay_connect(database, &connection, &error));
  OK(inlay_execute(connection, "CREATE OR REPLACE TABLE t AS SELECT range AS a FROM range(100000)", NULL, &error));
  OK(inlay_prepare(connection, "SELECT sum(a) FROM t", &statement, &error));
  OK(inlay_query(connection, "FROM t", &unread, &error));
  OK(inlay_query(connection, "SELECT a + 1 FROM t", &result, &error));
  OK(inlay_column_view(result, 0, &view, &error));
  OK(inlay_appender_new(connection, NULL, "t", &appender, &error));
  pid_t child = fork();
  if (child == 0) {
    inlay_connection *mine = NULL;
    FAILS(inlay_execute(connection, "SELECT 1", NULL, &error), INLAY_ERROR_CLOSED);
    FAILS(inlay_statement_execute(statement, NULL, &error), INLAY_ERROR_CLOSED);
    FAILS(inlay_connect(database, &mine, &error), INLAY_ERROR_CLOSED);
    FAILS(inlay_column_view(unread, 0, &view, &error), INLAY_ERROR_CLOSED);
    inlay_result_release(&unread);
    inlay_result_release(&result);
    inlay_statement_free(&statement);
    inlay_appender_free(&appender);
    inlay_disconnect(&connection);
    inlay_close(&database);
    OK(inlay_open(NULL, NULL, &own, &error));
    OK(inlay_connect(own, &mine, &error));
    CHECK(number(mine, "SELECT sum(range) FROM range(1000000)") == 499999500000);
    inlay_disconnect(&mine);
    inlay_close(&own);
    exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(number(connection, "SELECT count(*) FROM t") == 100000);
  inlay_appender_free(&appender);
  inlay_result_release(&unread);
  inlay_result_release(&result);
  inlay_statement_free(&statement);
  CLOSE();
}

static void *run_forever(void *given) {
  inlay_execute(((job *)given)->connection, FOREVER, NULL, NULL);
  return NULL;
}

/* The program ends while a query runs in another thread: it is not aborted. */
static void leave(void) {
  OPEN();
  static job work;
  inlay_progress progress;
  pthread_t id;
  work.connection = connection;
  CHECK(pthread_create(&id, NULL, run_forever, &work) == 0);
  for (int tries = 0; tries < 5000 && !inlay_get_progress(connection, &progress); tries++) usleep(1000);
  exit(0);
}

/* A file that is damaged is an error, whatever is damaged. */
static void damage(const char *path) {
  inlay_error *error = NULL;
  inlay_database *database = NULL;
  inlay_connection *connection = NULL;
  OK(inlay_open(path, NULL, &database, &error));
  OK(inlay_connect(database, &connection, &error));
  OK(inlay_execute(connection, "CREATE TABLE t AS SELECT range AS a, 'text ' || range AS b FROM range(50000); CHECKPOINT", NULL, &error));
  CLOSE();
  FILE *file = fopen(path, "r+b");
  CHECK(file != NULL);
  fseek(file, 0, SEEK_END);
  long size = ftell(file);
  for (long at = 0; at < size; at += 97) {
    fseek(file, at, SEEK_SET);
    fputc(0x5a, file);
  }
  fclose(file);
  inlay_status status = inlay_open(path, NULL, &database, &error);
  CHECK(status != INLAY_OK && database == NULL && error != NULL);
  inlay_error_free(&error);
}

/* What is made of rows counts as the database's memory: at the limit it is an error, and it is given back with the result. */
static void budget(void) {
  inlay_error *error = NULL;
  inlay_config *config = NULL;
  inlay_database *database = NULL;
  inlay_connection *connection = NULL;
  inlay_result *result = NULL;
  inlay_text_column texts;
  inlay_int64_column wide;
  inlay_double_column doubles;
  OK(inlay_config_new(&config, &error));
  OK(inlay_config_set(config, "memory_limit", "40MB", &error));
  OK(inlay_open(NULL, config, &database, &error));
  OK(inlay_connect(database, &connection, &error));
  OK(inlay_query(connection, "SELECT range::INTEGER AS a FROM range(3000000)", &result, &error));
  size_t rows = 0;
  OK(inlay_result_row_count(result, &rows, &error));
  uint64_t before = inlay_database_memory_used(database);
  OK(inlay_column_int64(result, 0, &wide, &error));
  CHECK(wide.data[2999999] == 2999999 && inlay_database_memory_used(database) >= before + rows * 8);
  FAILS(inlay_column_text(result, 0, &texts, &error), INLAY_ERROR_OUT_OF_MEMORY);
  FAILS(inlay_column_double(result, 0, &doubles, &error), INLAY_ERROR_OUT_OF_MEMORY);
  CHECK(number(connection, "SELECT 1") == 1);
  inlay_result_release(&result);
  CHECK(inlay_database_memory_used(database) <= before);
  inlay_config_free(&config);
  CLOSE();
}

int main(int count, char **given) {
  CHECK(count >= 2);
  const char *name = given[1];
  const char *path = count > 2 ? given[2] : NULL;
  long rounds = count > 2 ? atol(given[2]) : 0;
  if (strcmp(name, "memory") == 0) memory(rounds);
  if (strcmp(name, "threads") == 0) threads(rounds);
  if (strcmp(name, "interrupts") == 0) interrupts(rounds);
  if (strcmp(name, "order") == 0) order(path);
  if (strcmp(name, "forks") == 0) forks(path);
  if (strcmp(name, "leave") == 0) leave();
  if (strcmp(name, "budget") == 0) budget();
  if (strcmp(name, "damage") == 0) damage(path);
  return 0;
}
