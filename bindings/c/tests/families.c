/* Each family of functions, with right arguments and with wrong ones. */
#include "check.h"

#include <stdatomic.h>

static void errors_have_parts(void) {
  OPEN();
  inlay_result *result = (inlay_result *)&error;
  FAILS(inlay_query(connection, "SELECT 1,\n  nam FROM (SELECT 1 AS name)", &result, &error), INLAY_ERROR_UNDEFINED_COLUMN);
  CHECK(result == NULL);
  CHECK(strcmp(inlay_error_sqlstate(error), "42703") == 0);
  CHECK(strstr(inlay_error_message(error), "nam") != NULL);
  CHECK(strstr(inlay_error_hint(error), "name") != NULL);
  CHECK(inlay_error_line(error) == 2 && inlay_error_column(error) == 3 && inlay_error_offset(error) == 13);
  CHECK(!inlay_error_is_retryable(error) && inlay_error_detail(error) == NULL);
  CHECK(strcmp(inlay_status_name(INLAY_ERROR_UNDEFINED_COLUMN), "UndefinedColumn") == 0);
  CHECK(strcmp(inlay_status_name(9999), "Unknown") == 0);
  /* Text stays readable, and frees do nothing a second time. */
  inlay_result_release(&result);
  inlay_result_release(&result);
  CHECK(strstr(inlay_error_text(error), "^") != NULL);
  /* The next call frees the error. */
  OK(inlay_execute(connection, "SELECT 1", NULL, &error));
  CHECK(inlay_execute(connection, "SELEC", NULL, NULL) == INLAY_ERROR_SYNTAX);
  CHECK(inlay_query(connection, NULL, &result, NULL) == INLAY_ERROR_INVALID_ARGUMENT);
  FAILS(inlay_query(connection, "SELECT '\xff'", NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
  CLOSE();
}

static void databases_open_and_close_in_any_order(void) {
  OPEN();
  inlay_config *config = NULL;
  inlay_database *other = NULL;
  inlay_connection *second = NULL;
  char *text = NULL;
  OK(inlay_config_new(&config, &error));
  OK(inlay_config_set(config, "threads", "1", &error));
  OK(inlay_open(":memory:", config, &other, &error));
  OK(inlay_config_set(config, "no_such_setting", "1", &error));
  inlay_database *none = NULL;
  FAILS(inlay_open(NULL, config, &none, &error), INLAY_ERROR_INVALID_ARGUMENT);
  CHECK(none == NULL);
  inlay_config_free(&config);
  inlay_config_free(&config);
  OK(inlay_connect(other, &second, &error));
  OK(inlay_execute(second, "CREATE TABLE only_here (a INTEGER)", NULL, &error));
  FAILS(inlay_execute(connection, "FROM only_here", NULL, &error), INLAY_ERROR_UNDEFINED_TABLE);
  OK(inlay_get(second, "threads", &text, &error));
  CHECK(strcmp(text, "1") == 0);
  inlay_text_free(&text);
  inlay_text_free(&text);
  OK(inlay_database_path(other, &text, &error));
  CHECK(strcmp(text, ":memory:") == 0);
  inlay_text_free(&text);
  inlay_close(&other);
  CHECK(number(second, "SELECT 42") == 42);
  inlay_disconnect(&second);
  FAILS(inlay_open("/no/such/folder/file", NULL, &none, &error), INLAY_ERROR_IO);
  CHECK(inlay_database_memory_used(NULL) == 0 && inlay_version()[0] == '0');
  CLOSE();
}

static void transactions_and_settings(void) {
  OPEN();
  char *text = NULL;
  bool is_on = false;
  uint64_t changed = 99;
  OK(inlay_execute(connection, "CREATE TABLE t (a INTEGER)", &changed, &error));
  CHECK(changed == 0);
  OK(inlay_begin(connection, &error));
  FAILS(inlay_begin(connection, &error), INLAY_ERROR_TRANSACTION_STATE);
  OK(inlay_execute(connection, "INSERT INTO t VALUES (1), (2)", &changed, &error));
  CHECK(changed == 2 && inlay_in_transaction(connection));
  OK(inlay_rollback(connection, &error));
  CHECK(!inlay_in_transaction(connection) && number(connection, "SELECT count(*) FROM t") == 0);
  FAILS(inlay_commit(connection, &error), INLAY_ERROR_TRANSACTION_STATE);
  OK(inlay_set_autocommit(connection, false, &error));
  OK(inlay_get_autocommit(connection, &is_on, &error));
  CHECK(!is_on);
  OK(inlay_execute(connection, "INSERT INTO t VALUES (3)", NULL, &error));
  CHECK(inlay_in_transaction(connection));
  OK(inlay_commit(connection, &error));
  OK(inlay_set_autocommit(connection, true, &error));
  OK(inlay_execute(connection, "CREATE SCHEMA s", NULL, &error));
  OK(inlay_set_schema(connection, "s", &error));
  OK(inlay_get_schema(connection, &text, &error));
  CHECK(strcmp(text, "s") == 0);
  inlay_text_free(&text);
  OK(inlay_set(connection, "threads", "2", &error));
  FAILS(inlay_set(connection, "threads", "'; DROP TABLE t", &error), INLAY_ERROR_INVALID_ARGUMENT);
  FAILS(inlay_set(connection, "thread", "2", &error), INLAY_ERROR_INVALID_ARGUMENT);
  CHECK(inlay_connection_id(connection) > 0);
  /* An open transaction is undone. */
  inlay_connection *second = NULL;
  OK(inlay_connect(database, &second, &error));
  OK(inlay_begin(second, &error));
  OK(inlay_execute(second, "DELETE FROM main.t", NULL, &error));
  inlay_disconnect(&second);
  CHECK(number(connection, "SELECT count(*) FROM main.t") == 1);
  CLOSE();
}

static void scripts_answer_each_statement(void) {
  OPEN();
  inlay_script *script = NULL;
  inlay_result *result = NULL;
  OK(inlay_script_new(connection, "CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (1), (2); SELECT nope; FROM t", &script, &error));
  OK(inlay_script_next(script, &result, &error));
  CHECK(strcmp(inlay_result_tag(result), "CREATE TABLE") == 0 && inlay_result_get_kind(result) == INLAY_RESULT_NOTHING);
  inlay_result_release(&result);
  OK(inlay_script_next(script, &result, &error));
  CHECK(strcmp(inlay_result_tag(result), "INSERT 0 2") == 0 && inlay_result_changed_rows(result) == 2);
  CHECK(strcmp(inlay_result_command(result), "INSERT") == 0 && inlay_result_get_kind(result) == INLAY_RESULT_CHANGED);
  inlay_result_release(&result);
  FAILS(inlay_script_next(script, &result, &error), INLAY_ERROR_UNDEFINED_COLUMN);
  CHECK(result == NULL);
  OK(inlay_script_next(script, &result, &error));
  CHECK(inlay_result_get_kind(result) == INLAY_RESULT_ROWS && inlay_result_changed_rows(result) == -1);
  inlay_result_release(&result);
  OK(inlay_script_next(script, &result, &error));
  CHECK(result == NULL);
  inlay_script_free(&script);
  inlay_script_free(&script);
  CLOSE();
}

static void statements_take_values(void) {
  OPEN();
  inlay_statement *statement = NULL;
  inlay_result *result = NULL;
  inlay_type_id type = 0;
  size_t count = 0;
  OK(inlay_execute(connection, "CREATE TABLE t (id BIGINT, name VARCHAR)", NULL, &error));
  OK(inlay_prepare(connection, "SELECT name, id + 1 AS next FROM t WHERE id = ? AND name LIKE $pattern", &statement, &error));
  CHECK(inlay_parameter_count(statement) == 2);
  CHECK(inlay_parameter_name(statement, 1) == NULL && strcmp(inlay_parameter_name(statement, 2), "pattern") == 0);
  CHECK(inlay_parameter_index(statement, "pattern") == 2 && inlay_parameter_index(statement, "other") == 0);
  OK(inlay_parameter_type(statement, 1, &type, &error));
  CHECK(type == INLAY_TYPE_BIGINT);
  FAILS(inlay_parameter_type(statement, 3, &type, &error), INLAY_ERROR_INVALID_ARGUMENT);
  OK(inlay_statement_column_count(statement, &count, &error));
  CHECK(count == 2 && strcmp(inlay_statement_column_name(statement, 1), "next") == 0);
  CHECK(inlay_statement_column_type(statement, 1) == INLAY_TYPE_BIGINT && inlay_statement_column_name(statement, 2) == NULL);
  CHECK(strcmp(inlay_statement_command(statement), "SELECT") == 0);
  OK(inlay_bind_int32(statement, 1, 7, &error));
  FAILS(inlay_statement_query(statement, &result, &error), INLAY_ERROR_INVALID_ARGUMENT);
  SAYS("$pattern");
  FAILS(inlay_bind_int32(statement, 3, 7, &error), INLAY_ERROR_INVALID_ARGUMENT);
  SAYS("there is no parameter 3");
  FAILS(inlay_bind_int32(statement, 0, 7, &error), INLAY_ERROR_INVALID_ARGUMENT);
  OK(inlay_bind_text(statement, 2, "x%", 2, &error));
  OK(inlay_execute(connection, "INSERT INTO t VALUES (7, 'xy')", NULL, &error));
  OK(inlay_statement_query(statement, &result, &error));
  OK(inlay_result_row_count(result, &count, &error));
  CHECK(count == 1);
  inlay_result_release(&result);
  OK(inlay_bind_text(statement, 1, "seven", 5, &error));
  FAILS(inlay_statement_query(statement, &result, &error), INLAY_ERROR_INVALID_CAST);
  SAYS("parameter 1 takes a BIGINT");
  OK(inlay_clear_bindings(statement, &error));
  FAILS(inlay_statement_execute(statement, NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
  inlay_statement_free(&statement);
  inlay_statement_free(&statement);
  FAILS(inlay_prepare(connection, "SELECT 1; SELECT 2", &statement, &error), INLAY_ERROR_INVALID_ARGUMENT);
  CLOSE();
}

static void all_types_are_bound_and_read(void) {
  OPEN();
  inlay_statement *statement = NULL;
  inlay_result *result = NULL;
  OK(inlay_prepare(connection,
                   "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21",
                   &statement, &error));
  inlay_int128 huge = {5, 1};
  inlay_decimal decimal = {{(uint64_t)-1250, -1}, 6, 2};
  inlay_date date = {2024, 2, 29};
  inlay_time time = {23, 59, 58, 123456000};
  inlay_timestamp moment = {{1969, 12, 31}, {23, 59, 59, 999999000}};
  inlay_interval interval = {14, 3, -5};
  OK(inlay_bind_bool(statement, 1, true, &error));
  OK(inlay_bind_int8(statement, 2, -8, &error));
  OK(inlay_bind_int16(statement, 3, -16, &error));
  OK(inlay_bind_int32(statement, 4, -32, &error));
  OK(inlay_bind_int64(statement, 5, -64, &error));
  OK(inlay_bind_uint8(statement, 6, 200, &error));
  OK(inlay_bind_uint16(statement, 7, 60000, &error));
  OK(inlay_bind_uint32(statement, 8, 4000000000u, &error));
  OK(inlay_bind_uint64(statement, 9, UINT64_MAX, &error));
  OK(inlay_bind_int128(statement, 10, huge, &error));
  OK(inlay_bind_float(statement, 11, 0.5f, &error));
  OK(inlay_bind_double(statement, 12, 0.25, &error));
  OK(inlay_bind_decimal(statement, 13, decimal, &error));
  OK(inlay_bind_text(statement, 14, "a\0b", 3, &error));
  OK(inlay_bind_blob(statement, 15, "\xff\0", 2, &error));
  OK(inlay_bind_date(statement, 16, date, &error));
  OK(inlay_bind_time(statement, 17, time, &error));
  OK(inlay_bind_timestamp(statement, 18, moment, &error));
  OK(inlay_bind_timestamptz(statement, 19, 1000000, &error));
  OK(inlay_bind_interval(statement, 20, interval, &error));
  OK(inlay_bind_null(statement, 21, &error));
  OK(inlay_statement_query(statement, &result, &error));
  const inlay_type_id types[] = {INLAY_TYPE_BOOLEAN, INLAY_TYPE_TINYINT, INLAY_TYPE_SMALLINT, INLAY_TYPE_INTEGER,
                                 INLAY_TYPE_BIGINT, INLAY_TYPE_UTINYINT, INLAY_TYPE_USMALLINT, INLAY_TYPE_UINTEGER,
                                 INLAY_TYPE_UBIGINT, INLAY_TYPE_HUGEINT, INLAY_TYPE_REAL, INLAY_TYPE_DOUBLE,
                                 INLAY_TYPE_DECIMAL, INLAY_TYPE_VARCHAR, INLAY_TYPE_BLOB, INLAY_TYPE_DATE,
                                 INLAY_TYPE_TIME, INLAY_TYPE_TIMESTAMP, INLAY_TYPE_TIMESTAMP_TZ, INLAY_TYPE_INTERVAL};
  for (size_t column = 0; column < sizeof types / sizeof *types; column++) {
    CHECK(inlay_result_column_type(result, column) == types[column]);
  }
  bool flag = false;
  int64_t whole = 0;
  uint64_t large = 0;
  double real = 0;
  const char *text = NULL;
  const void *data = NULL;
  size_t size = 0;
  OK(inlay_value_bool(result, 0, 0, &flag, &error));
  CHECK(flag);
  const int64_t wholes[] = {-8, -16, -32, -64, 200, 60000, 4000000000};
  for (size_t column = 0; column < 7; column++) {
    OK(inlay_value_int64(result, 0, column + 1, &whole, &error));
    CHECK(whole == wholes[column]);
  }
  OK(inlay_value_uint64(result, 0, 8, &large, &error));
  CHECK(large == UINT64_MAX);
  FAILS(inlay_value_int64(result, 0, 8, &whole, &error), INLAY_ERROR_OUT_OF_RANGE);
  OK(inlay_value_int128(result, 0, 9, &huge, &error));
  CHECK(huge.low == 5 && huge.high == 1);
  OK(inlay_value_double(result, 0, 10, &real, &error));
  CHECK(real == 0.5);
  OK(inlay_value_double(result, 0, 12, &real, &error));
  CHECK(real == -12.5);
  OK(inlay_value_decimal(result, 0, 12, &decimal, &error));
  CHECK(decimal.unscaled.low == (uint64_t)-1250 && decimal.unscaled.high == -1 && decimal.scale == 2);
  OK(inlay_value_text(result, 0, 12, &text, NULL, &error));
  CHECK(strcmp(text, "-12.50") == 0);
  OK(inlay_value_text(result, 0, 13, &text, &size, &error));
  CHECK(size == 3 && memcmp(text, "a\0b", 4) == 0);
  OK(inlay_value_blob(result, 0, 14, &data, &size, &error));
  CHECK(size == 2 && memcmp(data, "\xff\0", 2) == 0);
  FAILS(inlay_value_blob(result, 0, 1, &data, &size, &error), INLAY_ERROR_TYPE_MISMATCH);
  OK(inlay_value_date(result, 0, 15, &date, &error));
  CHECK(date.year == 2024 && date.month == 2 && date.day == 29);
  OK(inlay_value_time(result, 0, 16, &time, &error));
  CHECK(time.hour == 23 && time.second == 58 && time.nanos == 123456000);
  OK(inlay_value_timestamp(result, 0, 17, &moment, &error));
  CHECK(moment.date.year == 1969 && moment.time.nanos == 999999000);
  OK(inlay_value_timestamp(result, 0, 18, &moment, &error));
  CHECK(moment.date.year == 1970 && moment.time.second == 1);
  OK(inlay_value_interval(result, 0, 19, &interval, &error));
  CHECK(interval.months == 14 && interval.days == 3 && interval.micros == -5);
  CHECK(inlay_value_is_null(result, 0, 20) && !inlay_value_is_null(result, 0, 0) && inlay_value_is_null(result, 1, 0));
  OK(inlay_value_text(result, 0, 20, &text, &size, &error));
  CHECK(text == NULL && size == 0);
  FAILS(inlay_value_int64(result, 1, 0, &whole, &error), INLAY_ERROR_INVALID_ARGUMENT);
  SAYS("there is no row 1");
  FAILS(inlay_value_int64(result, 0, 21, &whole, &error), INLAY_ERROR_INVALID_ARGUMENT);
  SAYS("there is no column 21");
  inlay_result_release(&result);
  date.month = 13;
  FAILS(inlay_bind_date(statement, 16, date, &error), INLAY_ERROR_INVALID_ARGUMENT);
  SAYS("parameter 16");
  decimal.precision = 39;
  FAILS(inlay_bind_decimal(statement, 13, decimal, &error), INLAY_ERROR_INVALID_ARGUMENT);
  FAILS(inlay_bind_text(statement, 14, "\xff", 1, &error), INLAY_ERROR_INVALID_ARGUMENT);
  inlay_statement_free(&statement);
  CLOSE();
}

static void columns_are_arrays(void) {
  OPEN();
  inlay_result *result = NULL;
  inlay_array view;
  OK(inlay_execute(connection,
                   "CREATE TABLE t AS SELECT CASE WHEN range % 3 <> 2 THEN range::INTEGER END AS a, range * 0.25 AS b, "
                   "'text ' || range AS c, range::DECIMAL(12, 2) / 4 AS d, DATE '2024-01-01' + range::INTEGER AS e "
                   "FROM range(10000)",
                   NULL, &error));
  const char *queries[] = {"SELECT a, c, a * 2 AS f FROM t ORDER BY c DESC", "SELECT a, c, a AS f FROM t"};
  for (int query = 0; query < 2; query++) {
    OK(inlay_query(connection, queries[query], &result, &error));
    OK(inlay_column_view(result, 0, &view, &error));
    CHECK(view.type_id == INLAY_TYPE_INTEGER && view.layout == INLAY_LAYOUT_INT32 && view.width == 4 && view.count == 10000);
    inlay_int32_column numbers;
    OK(inlay_column_int32(result, 0, &numbers, &error));
    size_t nulls = 0;
    for (size_t row = 0; row < numbers.count; row++) {
      bool is_null = numbers.is_null(numbers.data[row]);
      CHECK(is_null == !(view.validity[row / 64] >> (row % 64) & 1));
      CHECK(is_null || numbers.data[row] == ((const int32_t *)view.data)[row]);
      nulls += is_null;
    }
    CHECK(nulls == 3333 && numbers.null_value == INT32_MIN);
    inlay_array texts;
    OK(inlay_column_view(result, 1, &texts, &error));
    CHECK(texts.layout == INLAY_LAYOUT_BYTES && texts.validity == NULL);
    inlay_text_column strings;
    OK(inlay_column_text(result, 1, &strings, &error));
    for (size_t row = 0; row < strings.count; row++) {
      const inlay_bytes *bytes = (const inlay_bytes *)texts.data + row;
      CHECK(strlen(strings.data[row]) == bytes->size && memcmp(strings.data[row], bytes->data, bytes->size) == 0);
    }
    inlay_int64_column wide;
    OK(inlay_column_int64(result, 0, &wide, &error));
    CHECK(wide.is_null(wide.data[query == 0 ? 0 : 2]) == numbers.is_null(numbers.data[query == 0 ? 0 : 2]));
    inlay_int8_column narrow;
    FAILS(inlay_column_int8(result, 0, &narrow, &error), INLAY_ERROR_OUT_OF_RANGE);
    FAILS(inlay_column_view(result, 3, &view, &error), INLAY_ERROR_INVALID_ARGUMENT);
    inlay_result_release(&result);
  }
  OK(inlay_query(connection, "SELECT b, d, e, e + INTERVAL 1 HOUR AS g, a > 5 AS h, c::BLOB AS i FROM t LIMIT 7", &result, &error));
  inlay_double_column reals, decimals;
  inlay_date_column dates;
  inlay_timestamp_column moments;
  inlay_time_column times;
  inlay_bool_column flags;
  inlay_blob_column blobs;
  OK(inlay_column_double(result, 0, &reals, &error));
  OK(inlay_column_double(result, 1, &decimals, &error));
  OK(inlay_column_date(result, 2, &dates, &error));
  OK(inlay_column_timestamp(result, 3, &moments, &error));
  OK(inlay_column_time(result, 3, &times, &error));
  OK(inlay_column_bool(result, 4, &flags, &error));
  OK(inlay_column_blob(result, 5, &blobs, &error));
  CHECK(reals.count == 7 && reals.data[3] == 0.75 && decimals.data[3] == 0.75);
  CHECK(dates.data[6].year == 2024 && dates.data[6].month == 1 && dates.data[6].day == 7 && !dates.is_null(dates.data[6]));
  CHECK(dates.is_null(dates.null_value) && moments.data[1].time.hour == 1 && times.data[1].hour == 1);
  CHECK(flags.data[0] == 0 && flags.is_null(flags.data[2]) && flags.data[6] == 1);
  CHECK(blobs.data[1].size == 6 && memcmp(blobs.data[1].data, "text 1", 6) == 0);
  /* Columns outlive the connection and the database. */
  inlay_result *kept = result;
  inlay_result_retain(kept);
  inlay_result_release(&result);
  CLOSE();
  CHECK(reals.data[6] == 1.5);
  inlay_result_release(&kept);
}

static void chunks_are_streamed(void) {
  OPEN();
  inlay_result *result = NULL;
  inlay_chunk *chunk = NULL, *kept = NULL;
  inlay_array view;
  OK(inlay_query(connection, "SELECT range AS n FROM range(100000)", &result, &error));
  int64_t expected = 0;
  for (;;) {
    OK(inlay_result_next_chunk(result, &chunk, &error));
    if (chunk == NULL) break;
    OK(inlay_chunk_view(chunk, 0, &view, &error));
    CHECK(view.count == inlay_chunk_row_count(chunk) && inlay_chunk_column_count(chunk) == 1);
    for (size_t row = 0; row < view.count; row++) CHECK(((const int64_t *)view.data)[row] == expected++);
    FAILS(inlay_chunk_view(chunk, 1, &view, &error), INLAY_ERROR_INVALID_ARGUMENT);
    if (kept == NULL) {
      kept = chunk;
      chunk = NULL;
    }
    inlay_chunk_free(&chunk);
  }
  CHECK(expected == 100000);
  FAILS(inlay_column_view(result, 0, &view, &error), INLAY_ERROR_CLOSED);
  inlay_result_release(&result);
  OK(inlay_query(connection,
                 "SELECT [range, NULL] AS l, {'a': range, 'b': 'x' || range} AS s, MAP {range: 'v'} AS m FROM range(3)",
                 &result, &error));
  inlay_chunk *column = NULL, *parts = NULL;
  OK(inlay_result_column_chunk(result, 0, &column, &error));
  OK(inlay_chunk_parts(column, 0, &parts, &error));
  const uint32_t *offsets = inlay_chunk_offsets(parts);
  CHECK(offsets[0] == 0 && offsets[1] == 2 && offsets[3] == 6 && inlay_chunk_tags(parts) == NULL);
  OK(inlay_chunk_view(parts, 0, &view, &error));
  CHECK(view.type_id == INLAY_TYPE_BIGINT && ((const int64_t *)view.data)[4] == 2 && !(view.validity[0] >> 5 & 1));
  FAILS(inlay_chunk_parts(parts, 0, &chunk, &error), INLAY_ERROR_TYPE_MISMATCH);
  inlay_chunk_free(&parts);
  inlay_chunk_free(&column);
  OK(inlay_result_next_chunk(result, &chunk, &error));
  OK(inlay_chunk_parts(chunk, 1, &parts, &error));
  OK(inlay_chunk_view(parts, 1, &view, &error));
  CHECK(inlay_chunk_column_count(parts) == 2 && ((const inlay_bytes *)view.data)[2].data[1] == '2');
  inlay_chunk_free(&parts);
  OK(inlay_chunk_parts(chunk, 2, &parts, &error));
  CHECK(inlay_chunk_column_count(parts) == 2 && inlay_chunk_offsets(parts)[3] == 3);
  inlay_chunk_free(&parts);
  inlay_chunk_free(&chunk);
  inlay_type *type = NULL;
  OK(inlay_result_column_full_type(result, 1, &type, &error));
  CHECK(inlay_type_get_id(type) == INLAY_TYPE_STRUCT && inlay_type_size(type) == 2);
  CHECK(strcmp(inlay_type_part_name(type, 1), "b") == 0 && inlay_type_get_id(inlay_type_part(type, 1)) == INLAY_TYPE_VARCHAR);
  CHECK(inlay_type_part(type, 2) == NULL);
  inlay_type_free(&type);
  OK(inlay_type_parse("DECIMAL(12, 2)", &type, &error));
  CHECK(inlay_type_precision(type) == 12 && inlay_type_scale(type) == 2 && strcmp(inlay_type_text(type), "DECIMAL(12,2)") == 0);
  inlay_type_free(&type);
  inlay_result_release(&result);
  CLOSE();
  OK(inlay_chunk_view(kept, 0, &view, &error));
  CHECK(((const int64_t *)view.data)[1] == 1);
  inlay_chunk_free(&kept);
}

static void rows_are_appended(void) {
  OPEN();
  inlay_appender *appender = NULL;
  uint64_t appended = 0;
  OK(inlay_execute(connection, "CREATE SCHEMA s; CREATE TABLE s.t (id INTEGER, name VARCHAR, price DECIMAL(8, 2), day DATE)", NULL, &error));
  OK(inlay_appender_new(connection, "s", "t", &appender, &error));
  CHECK(inlay_appender_column_count(appender) == 4 && inlay_appender_column_type(appender, 3) == INLAY_TYPE_DATE);
  for (int row = 0; row < 1000; row++) {
    inlay_date day = {2024, 1, 1};
    OK(inlay_append_int32(appender, row, &error));
    OK(inlay_append_text(appender, "name", 4, &error));
    OK(inlay_append_double(appender, row / 4.0, &error));
    OK(inlay_append_date(appender, day, &error));
    OK(inlay_appender_end_row(appender, &error));
  }
  FAILS(inlay_appender_end_row(appender, &error), INLAY_ERROR_INVALID_ARGUMENT);
  OK(inlay_append_text(appender, "no number", 9, &error));
  OK(inlay_append_null(appender, &error));
  OK(inlay_append_null(appender, &error));
  OK(inlay_append_null(appender, &error));
  FAILS(inlay_append_null(appender, &error), INLAY_ERROR_INVALID_ARGUMENT);
  FAILS(inlay_appender_end_row(appender, &error), INLAY_ERROR_INVALID_CAST);
  int32_t ids[] = {1, 2, 3};
  const char *names[] = {"x", NULL, "a longer text than a view"};
  double prices[] = {0.5, 1.5, 2.5};
  int32_t days[] = {0, 1, 2};
  uint64_t validity = 3;
  inlay_array arrays[4] = {{INLAY_TYPE_INTEGER, 0, 0, 0, 4, 3, ids, NULL},
                           {INLAY_TYPE_VARCHAR, INLAY_LAYOUT_STRINGS, 0, 0, 8, 3, names, NULL},
                           {INLAY_TYPE_DOUBLE, 0, 0, 0, 8, 3, prices, &validity},
                           {INLAY_TYPE_DATE, 0, 0, 0, 4, 3, days, NULL}};
  OK(inlay_appender_columns(appender, arrays, 4, &error));
  OK(inlay_appender_flush(appender, &error));
  CHECK(number(connection, "SELECT count(*) FROM s.t") == 1003);
  OK(inlay_appender_close(&appender, &appended, &error));
  CHECK(appended == 1003 && appender == NULL);
  FAILS(inlay_appender_close(&appender, &appended, &error), INLAY_ERROR_INVALID_ARGUMENT);
  OK(inlay_append(connection, "s", "t", arrays, 4, &appended, &error));
  CHECK(appended == 3 && number(connection, "SELECT count(*) FROM s.t WHERE name IS NULL AND price = 1.5") == 2);
  CHECK(number(connection, "SELECT count(*) FROM s.t WHERE price IS NULL AND day = DATE '1970-01-03'") == 2);
  FAILS(inlay_append(connection, "s", "t", arrays, 3, NULL, &error), inlay_error_status(error));
  arrays[1].count = 2;
  FAILS(inlay_append(connection, "s", "t", arrays, 4, NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
  arrays[1].count = 3;
  arrays[3].data = NULL;
  FAILS(inlay_append(connection, "s", "t", arrays, 4, NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
  arrays[3].type_id = 99;
  FAILS(inlay_append(connection, "s", "t", arrays, 4, NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
  arrays[3] = arrays[2];
  arrays[3].type_id = INLAY_TYPE_TIME;
  FAILS(inlay_append(connection, "s", "t", arrays, 4, NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
  /* A statement for each row of arrays. */
  inlay_statement *statement = NULL;
  OK(inlay_prepare(connection, "DELETE FROM s.t WHERE id = ?", &statement, &error));
  OK(inlay_statement_execute_many(statement, arrays, 1, &appended, &error));
  CHECK(appended == 9);
  FAILS(inlay_statement_execute_many(statement, arrays, 2, &appended, &error), INLAY_ERROR_INVALID_ARGUMENT);
  inlay_statement_free(&statement);
  const char *columns[] = {"a", "b"};
  OK(inlay_register_arrays(connection, "mine", columns, arrays, 2, &error));
  CHECK(number(connection, "SELECT sum(a) FROM mine WHERE b IS NOT NULL") == 4);
  bool found = false;
  OK(inlay_unregister(connection, "mine", &found, &error));
  CHECK(found);
  FAILS(inlay_execute(connection, "FROM mine", NULL, &error), INLAY_ERROR_UNDEFINED_TABLE);
  CLOSE();
}

static void arrow_goes_out_and_in(void) {
  OPEN();
  inlay_result *result = NULL;
  struct ArrowArrayStream stream;
  uint64_t appended = 0;
  OK(inlay_execute(connection, "CREATE TABLE t (name VARCHAR, n BIGINT)", NULL, &error));
  OK(inlay_query(connection, "SELECT range AS n, 'x' || range AS name FROM range(5000)", &result, &error));
  OK(inlay_result_arrow_stream(result, &stream, &error));
  OK(inlay_append_arrow(connection, NULL, "t", &stream, true, &appended, &error));
  CHECK(appended == 5000 && stream.release == NULL);
  FAILS(inlay_append_arrow(connection, NULL, "t", &stream, true, NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
  FAILS(inlay_result_arrow_stream(result, &stream, &error), INLAY_ERROR_CLOSED);
  CHECK(stream.release == NULL);
  inlay_result_release(&result);
  OK(inlay_query(connection, "FROM t", &result, &error));
  OK(inlay_result_arrow_stream(result, &stream, &error));
  OK(inlay_register_arrow(connection, "again", &stream, &error));
  CHECK(number(connection, "SELECT count(*) FROM again JOIN t USING (n)") == 5000);
  inlay_result_release(&result);
  /* A stream outlives everything else. */
  OK(inlay_query(connection, "SELECT range FROM range(3000)", &result, &error));
  OK(inlay_result_arrow_stream(result, &stream, &error));
  inlay_result_release(&result);
  CLOSE();
  struct ArrowArray array;
  CHECK(stream.get_next(&stream, &array) == 0 && array.length == 3000);
  array.release(&array);
  stream.release(&stream);
}

static void failing_streams_are_released(void) {
  OPEN();
  for (int round = 0; round < 200; round++) {
    inlay_result *result = NULL;
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    const char *sql = round % 2 ? "SELECT range FROM range(10)" : "SELECT (99999999 - range)::SMALLINT FROM range(99999999)";
    if (inlay_query(connection, sql, &result, &error) != INLAY_OK) continue;
    OK(inlay_result_arrow_stream(result, &stream, &error));
    inlay_result_release(&result);
    if (stream.get_next(&stream, &array) == 0) {
      if (array.release != NULL) array.release(&array);
    } else {
      CHECK(stream.get_last_error(&stream) != NULL);
    }
    stream.release(&stream);
  }
  /* One that fails behind the rows that came at once. */
  inlay_result *result = NULL;
  struct ArrowArrayStream stream;
  struct ArrowArray array;
  OK(inlay_query(connection, "SELECT CASE WHEN range < 9000000 THEN range ELSE range::SMALLINT END FROM range(9900000)", &result, &error));
  OK(inlay_result_arrow_stream(result, &stream, &error));
  inlay_result_release(&result);
  CLOSE();
  int status = 0;
  while ((status = stream.get_next(&stream, &array)) == 0 && array.release != NULL) array.release(&array);
  CHECK(status != 0 && strstr(stream.get_last_error(&stream), "SMALLINT") != NULL);
  stream.release(&stream);
}

static void statements_run_by_themselves(void) {
  OPEN();
  inlay_pending *pending = NULL;
  inlay_result *result = NULL;
  inlay_progress progress;
  OK(inlay_start(connection, "SELECT count(*) FROM range(3000000)", &pending, &error));
  while (!inlay_pending_wait(pending, 5)) inlay_pending_progress(pending, &progress);
  OK(inlay_pending_finish(&pending, &result, &error));
  int64_t count = 0;
  OK(inlay_value_int64(result, 0, 0, &count, &error));
  CHECK(count == 3000000 && pending == NULL);
  inlay_result_release(&result);
  const char *forever = "SELECT count(*) FROM range(100000000000) a, range(1000) b WHERE a.range + b.range = -1";
  OK(inlay_start(connection, forever, &pending, &error));
  CHECK(!inlay_pending_wait(pending, 20));
  inlay_pending_interrupt(pending);
  FAILS(inlay_pending_finish(&pending, &result, &error), INLAY_ERROR_INTERRUPTED);
  OK(inlay_start(connection, forever, &pending, &error));
  for (int tries = 0; tries < 5000 && !inlay_get_progress(connection, &progress); tries++) inlay_pending_wait(pending, 1);
  inlay_interrupt(connection);
  FAILS(inlay_pending_finish(&pending, NULL, &error), INLAY_ERROR_INTERRUPTED);
  /* One that comes while nothing runs has no effect. */
  inlay_interrupt(connection);
  CHECK(number(connection, "SELECT 1") == 1);
  inlay_statement *statement = NULL;
  OK(inlay_prepare(connection, "SELECT ? + 1", &statement, &error));
  FAILS(inlay_statement_start(statement, &pending, &error), INLAY_ERROR_INVALID_ARGUMENT);
  OK(inlay_bind_int32(statement, 1, 41, &error));
  OK(inlay_statement_start(statement, &pending, &error));
  OK(inlay_pending_finish(&pending, &result, &error));
  OK(inlay_value_int64(result, 0, 0, &count, &error));
  CHECK(count == 42);
  inlay_result_release(&result);
  inlay_statement_free(&statement);
  OK(inlay_start(connection, forever, &pending, &error));
  inlay_pending_free(&pending);
  inlay_pending_free(&pending);
  CHECK(number(connection, "SELECT 2") == 2);
  CLOSE();
}

/* ---- Functions ---- */

static void add(inlay_call *call, const inlay_array *arguments, size_t count, size_t rows, inlay_output *output) {
  const int32_t *left = arguments[0].data, *right = arguments[1].data;
  int64_t *sums = inlay_output_data(output);
  int64_t bonus = *(int64_t *)inlay_call_user_data(call);
  CHECK(count == 2 && inlay_output_row_count(output) == rows && !inlay_call_is_interrupted(call));
  for (size_t row = 0; row < rows; row++) {
    if (left[row] < 0) inlay_call_fail(call, "a negative number");
    sums[row] = (int64_t)left[row] + right[row] + bonus;
    if (left[row] == 13) inlay_output_set_null(output, row, NULL);
  }
}

static void shout(inlay_call *call, const inlay_array *arguments, size_t count, size_t rows, inlay_output *output) {
  const inlay_bytes *texts = arguments[0].data;
  (void)call;
  (void)count;
  for (size_t row = 0; row < rows; row++) {
    char loud[64];
    size_t size = texts[row].size < 63 ? texts[row].size : 63;
    if (arguments[0].validity != NULL && !(arguments[0].validity[row / 64] >> (row % 64) & 1)) continue;
    memcpy(loud, texts[row].data, size);
    loud[size] = '!';
    CHECK(inlay_output_set_text(output, row, loud, size + 1, NULL) == INLAY_OK);
    CHECK(inlay_output_set_text(output, rows, loud, size, NULL) != INLAY_OK);
  }
}

static void longest(inlay_call *call, const inlay_array *arguments, size_t count, const uint32_t *ends, size_t groups,
                    inlay_output *output) {
  const double *values = arguments[0].data;
  double *found = inlay_output_data(output);
  (void)call;
  (void)count;
  for (size_t group = 0, row = 0; group < groups; group++) {
    double most = -1e300;
    for (; row < ends[group]; row++) most = values[row] > most ? values[row] : most;
    found[group] = most;
  }
}

typedef struct {
  int64_t next, end;
} run;

static atomic_int runs_open;

static void *begin_count(inlay_call *call, const inlay_array *arguments, size_t count) {
  run *state = malloc(sizeof *state);
  CHECK(count == 1 && arguments[0].count == 1);
  state->next = 0;
  state->end = *(const int64_t *)arguments[0].data;
  if (state->end > 1000000) inlay_call_fail(call, "too many");
  runs_open++;
  return state;
}

static size_t next_count(inlay_call *call, void *kept, inlay_output *const *columns, size_t count, size_t capacity) {
  run *state = kept;
  int64_t *numbers = inlay_output_data(columns[0]);
  size_t rows = 0;
  (void)call;
  CHECK(count == 2);
  for (; rows < capacity && state->next < state->end; rows++) {
    char text[32];
    int size = snprintf(text, sizeof text, "row %d", (int)state->next);
    inlay_output_set_text(columns[1], rows, text, (size_t)size, NULL);
    numbers[rows] = state->next++;
  }
  return rows;
}

static void end_count(void *kept) {
  runs_open--;
  free(kept);
}

static atomic_int destroyed;

static void destroy(void *data) {
  (void)data;
  destroyed++;
}

static void functions_of_the_program(void) {
  OPEN();
  const char *integers[] = {"INTEGER", "INTEGER"}, *texts[] = {"VARCHAR"}, *doubles[] = {"DOUBLE"}, *bigints[] = {"BIGINT"};
  const char *nested[] = {"INTEGER[]"};
  static int64_t bonus = 100;
  OK(inlay_create_scalar_function(connection, "add_all", integers, 2, "BIGINT", INLAY_FUNCTION_DEFAULT, add, &bonus, destroy, &error));
  CHECK(number(connection, "SELECT add_all(1, 2)") == 103);
  CHECK(number(connection, "SELECT sum(add_all(range::INTEGER, 1)) FROM range(10000)") == 49995000 + 10000 * 101 - 13 - 101);
  CHECK(number(connection, "SELECT count(*) FROM range(10000) WHERE add_all(range::INTEGER, NULL) IS NULL") == 10000);
  FAILS(inlay_execute(connection, "SELECT add_all(-1, 2)", NULL, &error), INLAY_ERROR_EXTERNAL);
  SAYS("a negative number");
  FAILS(inlay_create_scalar_function(connection, "add_all", integers, 2, "BIGINT", 0, add, NULL, destroy, &error), INLAY_ERROR_DUPLICATE);
  CHECK(destroyed == 1);
  FAILS(inlay_create_scalar_function(connection, "f", nested, 1, "BIGINT", 0, add, NULL, destroy, &error), INLAY_ERROR_UNSUPPORTED);
  FAILS(inlay_create_scalar_function(connection, "f", integers, 2, "BIGINT", 64, add, NULL, NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
  FAILS(inlay_create_scalar_function(connection, "f", integers, 2, "BIGINT", 0, NULL, NULL, NULL, &error), INLAY_ERROR_INVALID_ARGUMENT);
  OK(inlay_create_scalar_function(connection, "shout", texts, 1, "VARCHAR", INLAY_FUNCTION_SEES_NULLS, shout, NULL, NULL, &error));
  CHECK(number(connection, "SELECT count(*) FROM range(3000) WHERE shout('n' || range) = 'n' || range || '!'") == 3000);
  CHECK(number(connection, "SELECT (shout(NULL) IS NULL)::INTEGER") == 1);
  OK(inlay_create_aggregate_function(connection, "most", doubles, 1, "DOUBLE", 0, longest, NULL, destroy, &error));
  CHECK(number(connection, "SELECT sum(m) FROM (SELECT most(range) AS m FROM range(1000) GROUP BY range % 10)") == 9945);
  OK(inlay_create_table_function(connection, "count_to", bigints, 1, (const char *[]){"n", "t"}, (const char *[]){"BIGINT", "VARCHAR"}, 2,
                                 begin_count, next_count, end_count, NULL, destroy, &error));
  CHECK(number(connection, "SELECT sum(n) FROM count_to(10000) WHERE t = 'row ' || n") == 49995000);
  CHECK(number(connection, "SELECT count(*) FROM range(5) r, count_to(r.range)") == 10);
  FAILS(inlay_execute(connection, "FROM count_to(9999999)", NULL, &error), INLAY_ERROR_EXTERNAL);
  CHECK(number(connection, "SELECT count(*) FROM (FROM count_to(1000000) LIMIT 3)") == 3);
  CHECK(runs_open == 0);
  bool found = false;
  destroyed = 0;
  OK(inlay_remove_function(connection, "most", &found, &error));
  CHECK(found);
  FAILS(inlay_execute(connection, "SELECT most(1)", NULL, &error), INLAY_ERROR_UNDEFINED_FUNCTION);
  CLOSE();
  CHECK(destroyed >= 2);
}

static void replace(void *data, const char *name, inlay_replacement *replacement) {
  inlay_connection *other = data;
  if (strcmp(name, "numbers") == 0) inlay_replacement_query(replacement, "SELECT range AS n FROM range(4)", NULL);
  if (strcmp(name, "broken") == 0) inlay_replacement_fail(replacement, "it is broken");
  if (strcmp(name, "streamed") == 0) {
    inlay_result *result = NULL;
    struct ArrowArrayStream stream;
    CHECK(inlay_query(other, "SELECT 7 AS n", &result, NULL) == INLAY_OK);
    CHECK(inlay_result_arrow_stream(result, &stream, NULL) == INLAY_OK);
    CHECK(inlay_replacement_arrow(replacement, &stream, NULL) == INLAY_OK);
    inlay_result_release(&result);
  }
}

static void tables_of_the_program(void) {
  OPEN();
  inlay_connection *other = NULL;
  OK(inlay_connect(database, &other, &error));
  OK(inlay_set_replacement_scan(connection, replace, other, destroy, &error));
  CHECK(number(connection, "SELECT sum(n) FROM numbers") == 6);
  CHECK(number(connection, "SELECT sum(n) FROM streamed") == 7);
  FAILS(inlay_execute(connection, "FROM broken", NULL, &error), INLAY_ERROR_EXTERNAL);
  SAYS("it is broken");
  FAILS(inlay_execute(connection, "FROM nothing", NULL, &error), INLAY_ERROR_UNDEFINED_TABLE);
  FAILS(inlay_execute(other, "FROM numbers", NULL, &error), INLAY_ERROR_UNDEFINED_TABLE);
  destroyed = 0;
  OK(inlay_set_replacement_scan(connection, NULL, NULL, NULL, &error));
  CHECK(destroyed == 1);
  FAILS(inlay_execute(connection, "FROM numbers", NULL, &error), INLAY_ERROR_UNDEFINED_TABLE);
  inlay_disconnect(&other);
  CLOSE();
}

static void days_are_taken_apart(void) {
  inlay_error *error = NULL;
  int32_t days = 0;
  int64_t micros = 0;
  inlay_date date = inlay_date_of_days(19782);
  CHECK(date.year == 2024 && date.month == 2 && date.day == 29);
  OK(inlay_days_of_date(date, &days, &error));
  CHECK(days == 19782);
  date = inlay_date_of_days(INT32_MAX);
  CHECK(date.year == INT32_MAX && date.month == 0);
  OK(inlay_days_of_date(date, &days, &error));
  CHECK(days == INT32_MAX);
  date.year = 2023, date.month = 2, date.day = 29;
  FAILS(inlay_days_of_date(date, &days, &error), INLAY_ERROR_OUT_OF_RANGE);
  inlay_timestamp moment = inlay_timestamp_of(-1, 1000);
  CHECK(moment.date.year == 1969 && moment.time.nanos == 999000000);
  OK(inlay_micros_of_timestamp(moment, &micros, &error));
  CHECK(micros == -1000 && inlay_timestamp_of(0, 7).date.month == 0);
  CHECK(inlay_time_of_micros(86400000000).hour == 24 && inlay_time_of_micros(-1).hour == 255);
  inlay_time time;
  int32_t offset = 1;
  OK(inlay_timetz_parts(((int64_t)57599 * 1000000) << 24 | 57599, &time, &offset, &error));
  CHECK(time.hour == 0 && offset == 0);
  inlay_error_free(&error);
}

int main(void) {
  errors_have_parts();
  databases_open_and_close_in_any_order();
  transactions_and_settings();
  scripts_answer_each_statement();
  statements_take_values();
  all_types_are_bound_and_read();
  columns_are_arrays();
  chunks_are_streamed();
  rows_are_appended();
  arrow_goes_out_and_in();
  failing_streams_are_released();
  statements_run_by_themselves();
  functions_of_the_program();
  tables_of_the_program();
  days_are_taken_apart();
  puts("all families work");
  return 0;
}
