/* A language of the program's, and columns that are the program's alone. */
#include "check.h"

static int alive = 0;

static void destroy(void *user_data) {
  (void)user_data;
  alive--;
}

/* x times the number that is the text. */
static void times(inlay_call *call, const inlay_array *arguments, size_t argument_count, size_t row_count, inlay_output *output) {
  const int64_t factor = *(const int64_t *)inlay_call_user_data(call);
  int64_t *values = inlay_output_data(output);
  CHECK(argument_count == 1 && inlay_output_scale(output) == 0);
  for (size_t i = 0; i < row_count; i++) values[i] = factor * ((const int64_t *)arguments[0].data)[i];
}

static void largest(inlay_call *call, const inlay_array *arguments, size_t argument_count, const uint32_t *ends, size_t group_count,
                    inlay_output *output) {
  int64_t *values = inlay_output_data(output);
  (void)call, (void)argument_count;
  for (size_t group = 0, row = 0; group < group_count; group++) {
    values[group] = INT64_MIN;
    for (; row < ends[group]; row++) {
      const int64_t value = ((const int64_t *)arguments[0].data)[row];
      if (value > values[group]) values[group] = value;
    }
  }
}

static size_t one_row(inlay_call *call, void *state, inlay_output *const *columns, size_t column_count, size_t capacity) {
  int64_t *left = inlay_call_user_data(call);
  (void)state, (void)capacity;
  CHECK(column_count == 2);
  CHECK(inlay_output_precision(columns[1]) == 6 && inlay_output_scale(columns[1]) == 2);
  if (*left == 0) return 0;
  ((int32_t *)inlay_output_data(columns[0]))[0] = (int32_t)*left;
  ((int32_t *)inlay_output_data(columns[1]))[0] = 150;
  --*left;
  return 1;
}

static int checks = 0;

static void define(void *user_data, inlay_definition *it) {
  inlay_error *error = NULL;
  static int64_t factors[4];
  static int next = 0;
  CHECK(strcmp(user_data, "the language") == 0);
  const char *text = inlay_definition_body(it);
  const int64_t number = strtoll(text, NULL, 10);
  if (number == 0) {
    inlay_definition_fail(it, "the text is no number");
    return;
  }
  if (inlay_definition_is_check(it)) {
    checks++;
    return;
  }
  if (number < 0) return;
  factors[next] = number;
  int64_t *factor = &factors[next++];
  alive++;
  switch (inlay_definition_kind(it)) {
    case INLAY_FUNCTION_SCALAR:
      CHECK(strcmp(inlay_definition_name(it), "times") == 0 && inlay_definition_parameter_count(it) == 1);
      CHECK(strcmp(inlay_definition_parameter_name(it, 0), "x") == 0 && strcmp(inlay_definition_parameter_type(it, 0), "BIGINT") == 0);
      CHECK(inlay_definition_parameter_name(it, 1) == NULL && inlay_definition_column_count(it) == 0);
      CHECK(strcmp(inlay_definition_returns(it), "BIGINT") == 0);
      FAILS(inlay_definition_aggregate(it, largest, NULL, NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
      OK(inlay_definition_scalar(it, times, factor, destroy, &error));
      break;
    case INLAY_FUNCTION_AGGREGATE: OK(inlay_definition_aggregate(it, largest, factor, destroy, &error)); break;
    default:
      CHECK(inlay_definition_column_count(it) == 2 && strcmp(inlay_definition_column_name(it, 1), "d") == 0);
      CHECK(strcmp(inlay_definition_column_type(it, 1), "DECIMAL(6,2)") == 0 && inlay_definition_column_type(it, 2) == NULL);
      OK(inlay_definition_table(it, NULL, one_row, NULL, factor, destroy, &error));
  }
  inlay_error_free(&error);
}

static void a_language_makes_functions_of_texts(void) {
  OPEN();
  FAILS(inlay_execute(connection, "CREATE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE TOY AS $$7$$", NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
  FAILS(inlay_set_language(connection, "toy", NULL, NULL, destroy, &error), INLAY_ERROR_INVALID_ARGUMENT);
  alive = 1;
  OK(inlay_set_language(connection, "toy", define, "the language", destroy, &error));
  OK(inlay_execute(connection, "CREATE FUNCTION times(x BIGINT) RETURNS BIGINT LANGUAGE TOY_MAP AS $$7$$", NULL, &error));
  CHECK(checks == 1);
  FAILS(inlay_execute(connection, "SELECT times(6)", NULL, &error), INLAY_ERROR_FORBIDDEN);
  SAYS("allow_r");
  OK(inlay_execute(connection, "SET allow_r = true", NULL, &error));
  CHECK(number(connection, "SELECT times(6)") == 42);
  CHECK(number(connection, "SELECT sum(times(range)) FROM range(10000)") == 7 * INT64_C(49995000));
  OK(inlay_execute(connection, "CREATE AGGREGATE largest(x BIGINT) RETURNS BIGINT LANGUAGE TOY AS $$1$$", NULL, &error));
  CHECK(number(connection, "SELECT sum(m) FROM (SELECT largest(range) AS m FROM range(100) GROUP BY range % 10)") == 945);
  OK(inlay_execute(connection, "CREATE FUNCTION rows() RETURNS TABLE (i INTEGER, d DECIMAL(6, 2)) LANGUAGE TOY AS $$3$$", NULL, &error));
  CHECK(number(connection, "SELECT sum(i * d)::BIGINT FROM rows()") == 9);
  FAILS(inlay_execute(connection, "CREATE FUNCTION f(x BIGINT) RETURNS BIGINT LANGUAGE TOY AS $$?$$", NULL, &error), INLAY_ERROR_SYNTAX);
  SAYS("the text is no number");
  FAILS(inlay_execute(connection, "CREATE FUNCTION f(x INTEGER[]) RETURNS BIGINT LANGUAGE TOY AS $$1$$", NULL, &error), INLAY_ERROR_UNSUPPORTED);
  FAILS(inlay_execute(connection, "CREATE FUNCTION f(*) RETURNS BIGINT LANGUAGE TOY AS $$1$$", NULL, &error), INLAY_ERROR_UNSUPPORTED);
  FAILS(inlay_execute(connection, "CREATE FUNCTION f(t TABLE) RETURNS TABLE (i INTEGER) LANGUAGE TOY AS $$1$$", NULL, &error),
        INLAY_ERROR_UNSUPPORTED);
  OK(inlay_execute(connection, "CREATE FUNCTION f() RETURNS BIGINT LANGUAGE TOY AS $$-1$$", NULL, &error));
  FAILS(inlay_execute(connection, "SELECT f()", NULL, &error), INLAY_ERROR_EXTERNAL);
  SAYS("gave no function");
  CLOSE();
  CHECK(alive == 0);
}

static void columns_are_the_programs_alone(void) {
  OPEN();
  inlay_result *result = NULL;
  inlay_buffer *first = NULL, *second = NULL, *none = NULL;
  OK(inlay_execute(connection,
                   "CREATE TABLE t AS SELECT i::INTEGER AS i, CASE WHEN i % 2 = 0 THEN i::DOUBLE END AS d, i > 3 AS b, 's' AS s FROM range(100000) r(i)",
                   NULL, &error));
  OK(inlay_query(connection, "FROM t", &result, &error));
  bool may_have = true;
  OK(inlay_column_may_have_null(result, 0, &may_have, &error));
  CHECK(!may_have);
  OK(inlay_column_may_have_null(result, 1, &may_have, &error));
  CHECK(may_have);
  OK(inlay_result_column_buffer(result, 0, &first, &error));
  OK(inlay_result_column_buffer(result, 0, &second, &error));
  CHECK(inlay_buffer_count(first) == 100000 && inlay_buffer_width(first) == 4);
  int32_t *values = inlay_buffer_data(first);
  CHECK(values[99999] == 99999);
  values[99999] = -1;
  CHECK(((int32_t *)inlay_buffer_data(second))[99999] == 99999);
  CHECK(number(connection, "SELECT max(i) FROM t") == 99999);
  inlay_buffer_free(&second);
  OK(inlay_result_column_buffer(result, 1, &second, &error));
  uint64_t bits;
  memcpy(&bits, (double *)inlay_buffer_data(second) + 1, sizeof bits);
  CHECK((uint32_t)bits == 1954);
  CHECK(((double *)inlay_buffer_data(second))[2] == 2);
  FAILS(inlay_result_column_buffer(result, 2, &none, &error), INLAY_ERROR_TYPE_MISMATCH);
  FAILS(inlay_result_column_buffer(result, 3, &none, &error), INLAY_ERROR_TYPE_MISMATCH);
  FAILS(inlay_result_column_buffer(result, 4, &none, &error), INLAY_ERROR_INVALID_ARGUMENT);
  CHECK(none == NULL && inlay_buffer_data(NULL) == NULL);
  inlay_result_release(&result);
  OK(inlay_query(connection, "SELECT i FROM t WHERE i % 3 = 0 ORDER BY i", &result, &error));
  OK(inlay_result_column_buffer(result, 0, &none, &error));
  inlay_result_release(&result);
  CLOSE();
  CHECK(values[99999] == -1 && values[1] == 1);
  CHECK(((int32_t *)inlay_buffer_data(none))[33333] == 99999);
  inlay_buffer_free(&first);
  inlay_buffer_free(&second);
  inlay_buffer_free(&none);
  CHECK(first == NULL);
}

static void values_of_chunks_are_texts(void) {
  OPEN();
  inlay_result *result = NULL;
  inlay_chunk *chunk = NULL;
  char *text = NULL;
  OK(inlay_query(connection, "SELECT '101'::BIT, '12:30:00+02'::TIMETZ, NULL, [1, 2]", &result, &error));
  OK(inlay_result_next_chunk(result, &chunk, &error));
  const char *texts[] = {"101", "12:30:00+02", NULL, "[1, 2]"};
  for (size_t column = 0; column < 4; column++) {
    OK(inlay_chunk_text(chunk, 0, column, &text, &error));
    CHECK(texts[column] == NULL ? text == NULL : strcmp(text, texts[column]) == 0);
    inlay_text_free(&text);
  }
  FAILS(inlay_chunk_text(chunk, 1, 0, &text, &error), INLAY_ERROR_INVALID_ARGUMENT);
  FAILS(inlay_chunk_text(chunk, 0, 4, &text, &error), INLAY_ERROR_INVALID_ARGUMENT);
  CHECK(text == NULL);
  inlay_chunk_free(&chunk);
  inlay_result_release(&result);
  CLOSE();
}

int main(void) {
  a_language_makes_functions_of_texts();
  columns_are_the_programs_alone();
  values_of_chunks_are_texts();
  return 0;
}
