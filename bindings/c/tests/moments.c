/* An interrupt at any moment of a call ends that call, and one while nothing runs ends nothing: duckdb/duckdb-go#88,
 * marcboeker/go-duckdb#148, #132. The library's callbacks are moments that are the same in each run. */
#define _GNU_SOURCE
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static const char *FOREVER = "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range + b.range = -1";

/* While names are looked up: what comes behind, as 60,000 parameters and all of the query, is not done. */
static void interrupt_and_find(void *connection, const char *name, inlay_replacement *replacement) {
  if (strcmp(name, "missing") != 0) return;
  inlay_interrupt(connection);
  CHECK(inlay_replacement_query(replacement, "SELECT range AS a FROM range(100000000000)", NULL) == INLAY_OK);
}

static void while_planned(void) {
  OPEN();
  enum { PARAMETERS = 60000 };
  char *sql = malloc(PARAMETERS * 3 + 100);
  inlay_statement *statement = NULL;
  inlay_result *result = NULL;
  inlay_pending *pending = NULL;
  int length = sprintf(sql, "SELECT count(*) FROM missing WHERE a IN (?");
  for (int number = 1; number < PARAMETERS; number++) length += sprintf(sql + length, ",?");
  strcpy(sql + length, ")");
  OK(inlay_set_replacement_scan(connection, interrupt_and_find, connection, NULL, &error));
  OK(inlay_prepare(connection, sql, &statement, &error));
  for (int number = 1; number <= PARAMETERS; number++) OK(inlay_bind_int32(statement, (size_t)number, -number, &error));
  FAILS(inlay_statement_query(statement, &result, &error), INLAY_ERROR_INTERRUPTED);
  CHECK(result == NULL && number(connection, "SELECT 1") == 1);
  FAILS(inlay_statement_execute(statement, NULL, &error), INLAY_ERROR_INTERRUPTED);
  FAILS(inlay_query(connection, "SELECT count(*) FROM missing", NULL, &error), INLAY_ERROR_INTERRUPTED);
  FAILS(inlay_execute(connection, "CREATE TABLE made AS FROM missing", NULL, &error), INLAY_ERROR_INTERRUPTED);
  FAILS(inlay_execute(connection, "FROM made", NULL, &error), INLAY_ERROR_UNDEFINED_TABLE);
  OK(inlay_start(connection, "SELECT count(*) FROM missing", &pending, &error));
  FAILS(inlay_pending_finish(&pending, NULL, &error), INLAY_ERROR_INTERRUPTED);
  CHECK(number(connection, "SELECT 1") == 1);
  inlay_statement_free(&statement);
  free(sql);
  CLOSE();
}

/* While it runs, and by a function that looks itself. */
static void interrupt_and_add(inlay_call *call, const inlay_array *arguments, size_t count, size_t rows, inlay_output *output) {
  int64_t *sums = inlay_output_data(output);
  (void)count;
  inlay_interrupt(inlay_call_user_data(call));
  CHECK(inlay_call_is_interrupted(call));
  for (size_t row = 0; row < rows; row++) sums[row] = ((const int64_t *)arguments[0].data)[row] + 1;
}

static void while_running(void) {
  OPEN();
  const char *types[] = {"BIGINT"};
  OK(inlay_create_scalar_function(connection, "interrupted", types, 1, "BIGINT", INLAY_FUNCTION_VOLATILE, interrupt_and_add, connection,
                                  NULL, &error));
  FAILS(inlay_execute(connection, "SELECT sum(interrupted(range)) FROM range(100000000000)", NULL, &error), INLAY_ERROR_INTERRUPTED);
  CHECK(number(connection, "SELECT 1") == 1);
  CLOSE();
}

/* One that was started, before it has a thread. */
static void when_started(void) {
  OPEN();
  inlay_pending *pending = NULL;
  for (int round = 0; round < 100; round++) {
    OK(inlay_start(connection, FOREVER, &pending, &error));
    inlay_interrupt(connection);
    FAILS(inlay_pending_finish(&pending, NULL, &error), INLAY_ERROR_INTERRUPTED);
    CHECK(number(connection, "SELECT 1") == 1);
  }
  CLOSE();
}

/* While nothing runs, what begins later is not ended; of an answer whose rows are still to be computed the next read is. */
static void while_idle(void) {
  OPEN();
  inlay_result *result = NULL;
  inlay_chunk *chunk = NULL;
  size_t rows = 0;
  OK(inlay_query(connection, "SELECT range, 'a text of some length ' || range FROM range(3000000)", &result, &error));
  do {
    inlay_interrupt(connection);
    CHECK(number(connection, "SELECT 1") == 1);
    inlay_chunk_free(&chunk);
    OK(inlay_result_next_chunk(result, &chunk, &error));
    rows += inlay_chunk_row_count(chunk);
  } while (chunk != NULL);
  CHECK(rows == 3000000);
  inlay_result_release(&result);
  OK(inlay_query(connection, "SELECT range, 'a text of some length ' || range FROM range(10000000)", &result, &error));
  inlay_interrupt(connection);
  inlay_array view;
  FAILS(inlay_column_view(result, 0, &view, &error), INLAY_ERROR_INTERRUPTED);
  CHECK(number(connection, "SELECT 1") == 1);
  inlay_result_release(&result);
  for (int round = 0; round < 1000; round++) {
    inlay_interrupt(connection);
    CHECK(number(connection, "SELECT 1") == 1);
  }
  CLOSE();
}

static atomic_bool over;

static void *interrupt_always(void *connection) {
  while (!over) {
    inlay_interrupt(connection);
    usleep(500);
  }
  return NULL;
}

/* While rows that are there are converted, no statement runs; the call ends all the same, and can be repeated. */
static void while_converting(void) {
  OPEN();
  inlay_result *result = NULL;
  inlay_text_column texts;
  inlay_array view;
  pthread_t id;
  OK(inlay_query(connection, "SELECT range AS a FROM range(3000000)", &result, &error));
  OK(inlay_column_view(result, 0, &view, &error));
  over = false;
  CHECK(pthread_create(&id, NULL, interrupt_always, connection) == 0);
  FAILS(inlay_column_text(result, 0, &texts, &error), INLAY_ERROR_INTERRUPTED);
  over = true;
  pthread_join(id, NULL);
  OK(inlay_column_text(result, 0, &texts, &error));
  CHECK(texts.count == 3000000 && strcmp(texts.data[2999999], "2999999") == 0);
  inlay_result_release(&result);
  CLOSE();
}

/* One of two statements of a connection is ended, or both, as both had begun; never the one that begins behind. */
static void *run_forever(void *connection) {
  inlay_error *error = NULL;
  FAILS(inlay_execute(connection, FOREVER, NULL, &error), INLAY_ERROR_INTERRUPTED);
  inlay_error_free(&error);
  return NULL;
}

static void while_waiting(void) {
  OPEN();
  for (int round = 0; round < 20; round++) {
    pthread_t ids[2];
    inlay_progress progress;
    for (int index = 0; index < 2; index++) CHECK(pthread_create(&ids[index], NULL, run_forever, connection) == 0);
    while (!inlay_get_progress(connection, &progress)) usleep(100);
    usleep(1000 * (unsigned)(round % 5));
    /* Who has not begun by now is ended by one of these. */
    over = false;
    pthread_t id;
    CHECK(pthread_create(&id, NULL, interrupt_always, connection) == 0);
    for (int index = 0; index < 2; index++) pthread_join(ids[index], NULL);
    over = true;
    pthread_join(id, NULL);
    CHECK(number(connection, "SELECT 1") == 1);
  }
  CLOSE();
}

int main(void) {
  while_planned();
  while_running();
  when_started();
  while_idle();
  while_converting();
  while_waiting();
  return 0;
}
