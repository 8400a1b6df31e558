/* monetdb.h: the names of MonetDBLite over inlay.h, so that programs written for it compile.
 *
 * One database at a time, as there. Functions that fail give a text, which the program frees by free(); NULL is success. What is not
 * there: prepared statements by number (prepare_id is set to 0; inlay_prepare is better), and reading of MonetDB's own files.
 */
#ifndef INLAY_MONETDB_H
#define INLAY_MONETDB_H

#include "inlay.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t monetdb_cnt;
typedef inlay_connection *monetdb_connection;

typedef enum {
  monetdb_bool,
  monetdb_int8_t,
  monetdb_int16_t,
  monetdb_int32_t,
  monetdb_int64_t,
  monetdb_size_t,
  monetdb_float,
  monetdb_double,
  monetdb_str,
  monetdb_blob,
  monetdb_date,
  monetdb_time,
  monetdb_timestamp
} monetdb_types;

typedef struct {
  size_t size;
  char *data;
} monetdb_data_blob;

typedef struct {
  unsigned char day;
  unsigned char month;
  short year;
} monetdb_data_date;

typedef struct {
  unsigned int ms;
  unsigned char seconds;
  unsigned char minutes;
  unsigned char hours;
} monetdb_data_time;

typedef struct {
  monetdb_data_date date;
  monetdb_data_time time;
} monetdb_data_timestamp;

/* What all columns begin with. */
typedef struct {
  monetdb_types type;
  void *data;
  size_t count;
} monetdb_column;

#define INLAY_MONETDB_COLUMN(ctype, name) \
  typedef struct {                        \
    monetdb_types type;                   \
    ctype *data;                          \
    size_t count;                         \
    ctype null_value;                     \
    double scale;                         \
    int (*is_null)(ctype value);          \
  } monetdb_column_##name

INLAY_MONETDB_COLUMN(int8_t, bool);
INLAY_MONETDB_COLUMN(int8_t, int8_t);
INLAY_MONETDB_COLUMN(int16_t, int16_t);
INLAY_MONETDB_COLUMN(int32_t, int32_t);
INLAY_MONETDB_COLUMN(int64_t, int64_t);
INLAY_MONETDB_COLUMN(size_t, size_t);
INLAY_MONETDB_COLUMN(float, float);
INLAY_MONETDB_COLUMN(double, double);
INLAY_MONETDB_COLUMN(char *, str);
INLAY_MONETDB_COLUMN(monetdb_data_blob, blob);
INLAY_MONETDB_COLUMN(monetdb_data_date, date);
INLAY_MONETDB_COLUMN(monetdb_data_time, time);
INLAY_MONETDB_COLUMN(monetdb_data_timestamp, timestamp);

/* An answer: type is 'Q' for rows, 'U' for a count of changed rows, 'S' for nothing. What is below id is not for programs. */
typedef struct {
  size_t nrows;
  size_t ncols;
  char type;
  size_t id;
  inlay_result *inlay;
  monetdb_column **columns;
} monetdb_result;

/* The database, one for all files of the program that include this. */
__attribute__((weak)) inlay_database *inlay_monetdb_database = NULL;
__attribute__((weak)) size_t inlay_monetdb_results = 0;

/* The text of an error, which is freed; NULL for none. */
static inline char *inlay_monetdb_error(inlay_error *error) {
  char *text;
  size_t size;
  if (error == NULL) return NULL;
  size = strlen(inlay_error_text(error)) + 1;
  text = (char *)malloc(size);
  if (text != NULL) memcpy(text, inlay_error_text(error), size);
  inlay_error_free(&error);
  return text;
}

static inline char *inlay_monetdb_text(const char *from) {
  size_t size = strlen(from) + 1;
  char *text = (char *)malloc(size);
  if (text != NULL) memcpy(text, from, size);
  return text;
}

/* Opens the database of the program: a file, which is made if there is none, or one in memory for NULL. */
static inline char *monetdb_startup(const char *dbdir, bool sequential) {
  inlay_config *config = NULL;
  inlay_error *error = NULL;
  if (inlay_monetdb_database != NULL) return inlay_monetdb_text("the database is open already; monetdb_shutdown closes it");
  if (inlay_config_new(&config, &error) == INLAY_OK &&
      (!sequential || inlay_config_set(config, "threads", "1", &error) == INLAY_OK)) {
    inlay_open(dbdir, config, &inlay_monetdb_database, &error);
  }
  inlay_config_free(&config);
  return inlay_monetdb_error(error);
}

static inline bool monetdb_is_initialized(void) { return inlay_monetdb_database != NULL; }

/* Closes the database; connections that are still open keep it until they are closed. */
static inline void monetdb_shutdown(void) { inlay_close(&inlay_monetdb_database); }

static inline char *monetdb_connect(monetdb_connection *conn) {
  inlay_error *error = NULL;
  if (inlay_monetdb_database == NULL) return inlay_monetdb_text("no database is open; monetdb_startup opens one");
  inlay_connect(inlay_monetdb_database, conn, &error);
  return inlay_monetdb_error(error);
}

static inline char *monetdb_disconnect(monetdb_connection conn) {
  inlay_disconnect(&conn);
  return NULL;
}

static inline char *monetdb_get_autocommit(monetdb_connection conn, int *result) {
  inlay_error *error = NULL;
  bool is_on = false;
  inlay_get_autocommit(conn, &is_on, &error);
  if (result != NULL) *result = is_on ? 1 : 0;
  return inlay_monetdb_error(error);
}

static inline char *monetdb_set_autocommit(monetdb_connection conn, int value) {
  inlay_error *error = NULL;
  inlay_set_autocommit(conn, value != 0, &error);
  return inlay_monetdb_error(error);
}

static inline int monetdb_in_transaction(monetdb_connection conn) { return inlay_in_transaction(conn) ? 1 : 0; }

static inline char *monetdb_cleanup_result(monetdb_connection conn, monetdb_result *result) {
  size_t column;
  (void)conn;
  if (result == NULL) return NULL;
  for (column = 0; result->columns != NULL && column < result->ncols; column++) {
    if (result->columns[column] != NULL && result->columns[column]->type >= monetdb_blob) free(result->columns[column]->data);
    free(result->columns[column]);
  }
  free(result->columns);
  inlay_result_release(&result->inlay);
  free(result);
  return NULL;
}

/* Runs statements. result, affected_rows and prepare_id may be NULL. */
static inline char *monetdb_query(monetdb_connection conn, const char *query, monetdb_result **result,
                                  monetdb_cnt *affected_rows, int *prepare_id) {
  inlay_error *error = NULL;
  inlay_result *answer = NULL;
  monetdb_result *made;
  int64_t changed;
  if (result != NULL) *result = NULL;
  if (prepare_id != NULL) *prepare_id = 0;
  if (inlay_query(conn, query, &answer, &error) != INLAY_OK) return inlay_monetdb_error(error);
  changed = inlay_result_changed_rows(answer);
  if (affected_rows != NULL) *affected_rows = changed < 0 ? 0 : changed;
  if (result == NULL) {
    /* All that the text does is done when its rows are counted. */
    size_t count;
    inlay_result_row_count(answer, &count, &error);
    inlay_result_release(&answer);
    return inlay_monetdb_error(error);
  }
  made = (monetdb_result *)calloc(1, sizeof(monetdb_result));
  if (made == NULL) {
    inlay_result_release(&answer);
    return inlay_monetdb_text("out of memory");
  }
  made->inlay = answer;
  made->id = ++inlay_monetdb_results;
  switch (inlay_result_get_kind(answer)) {
    case INLAY_RESULT_ROWS: made->type = 'Q'; break;
    case INLAY_RESULT_CHANGED: made->type = 'U'; break;
    default: made->type = 'S'; break;
  }
  made->ncols = inlay_result_column_count(answer);
  made->columns = (monetdb_column **)calloc(made->ncols + 1, sizeof(monetdb_column *));
  if (made->columns == NULL || inlay_result_row_count(answer, &made->nrows, &error) != INLAY_OK) {
    monetdb_cleanup_result(conn, made);
    return error == NULL ? inlay_monetdb_text("out of memory") : inlay_monetdb_error(error);
  }
  *result = made;
  return NULL;
}

static inline int inlay_monetdb_is_null_int8_t(int8_t value) { return value == INT8_MIN; }
static inline int inlay_monetdb_is_null_int16_t(int16_t value) { return value == INT16_MIN; }
static inline int inlay_monetdb_is_null_int32_t(int32_t value) { return value == INT32_MIN; }
static inline int inlay_monetdb_is_null_int64_t(int64_t value) { return value == INT64_MIN; }
static inline int inlay_monetdb_is_null_float(float value) { return isnan(value) != 0; }
static inline int inlay_monetdb_is_null_double(double value) { return isnan(value) != 0; }
static inline int inlay_monetdb_is_null_str(char *value) { return value == NULL; }
static inline int inlay_monetdb_is_null_blob(monetdb_data_blob value) { return value.data == NULL; }
static inline int inlay_monetdb_is_null_date(monetdb_data_date value) { return value.month == 0; }
static inline int inlay_monetdb_is_null_time(monetdb_data_time value) { return value.hours == 255; }
static inline int inlay_monetdb_is_null_timestamp(monetdb_data_timestamp value) { return value.date.month == 0; }

static inline monetdb_data_date inlay_monetdb_date(inlay_date from) {
  monetdb_data_date date;
  memset(&date, 0, sizeof date);
  if (from.month == 0 || from.year < SHRT_MIN || from.year > SHRT_MAX) return date;
  date.day = from.day;
  date.month = from.month;
  date.year = (short)from.year;
  return date;
}

static inline monetdb_data_time inlay_monetdb_time(inlay_time from) {
  monetdb_data_time time;
  time.ms = from.nanos / 1000000;
  time.seconds = from.second;
  time.minutes = from.minute;
  time.hours = from.hour;
  return time;
}

/* The type that a column has there. */
static inline monetdb_types inlay_monetdb_type(inlay_type_id type) {
  switch (type) {
    case INLAY_TYPE_BOOLEAN: return monetdb_bool;
    case INLAY_TYPE_TINYINT: return monetdb_int8_t;
    case INLAY_TYPE_SMALLINT:
    case INLAY_TYPE_UTINYINT: return monetdb_int16_t;
    case INLAY_TYPE_NULL:
    case INLAY_TYPE_INTEGER:
    case INLAY_TYPE_USMALLINT: return monetdb_int32_t;
    case INLAY_TYPE_BIGINT:
    case INLAY_TYPE_UINTEGER: return monetdb_int64_t;
    case INLAY_TYPE_REAL: return monetdb_float;
    case INLAY_TYPE_DOUBLE:
    case INLAY_TYPE_DECIMAL:
    case INLAY_TYPE_HUGEINT:
    case INLAY_TYPE_UBIGINT:
    case INLAY_TYPE_UHUGEINT: return monetdb_double;
    case INLAY_TYPE_BLOB: return monetdb_blob;
    case INLAY_TYPE_DATE: return monetdb_date;
    case INLAY_TYPE_TIME: return monetdb_time;
    case INLAY_TYPE_TIMESTAMP:
    case INLAY_TYPE_TIMESTAMP_S:
    case INLAY_TYPE_TIMESTAMP_MS:
    case INLAY_TYPE_TIMESTAMP_NS:
    case INLAY_TYPE_TIMESTAMP_TZ: return monetdb_timestamp;
    default: return monetdb_str;
  }
}

/* A column whose values lie as they do there: its memory is the result's. */
#define INLAY_MONETDB_FETCH(kind, name, ctype)                                            \
  case monetdb_##kind: {                                                                  \
    inlay_##name##_column from;                                                           \
    monetdb_column_##kind *column = (monetdb_column_##kind *)calloc(1, sizeof *column);   \
    if (column == NULL) break;                                                            \
    if (inlay_column_##name(mres->inlay, column_index, &from, &error) != INLAY_OK) {      \
      free(column);                                                                       \
      break;                                                                              \
    }                                                                                     \
    column->type = monetdb_##kind;                                                        \
    column->data = (ctype *)from.data;                                                    \
    column->count = from.count;                                                           \
    column->null_value = (ctype)from.null_value;                                          \
    column->scale = from.scale;                                                           \
    column->is_null = inlay_monetdb_is_null_##kind;                                       \
    made = (monetdb_column *)column;                                                      \
    break;                                                                                \
  }

/* One whose values are written anew. */
#define INLAY_MONETDB_WRITE(kind, ctype, write)                                           \
  case monetdb_##kind: {                                                                  \
    inlay_##kind##_column from;                                                           \
    monetdb_column_##kind *column = (monetdb_column_##kind *)calloc(1, sizeof *column);   \
    size_t row;                                                                           \
    if (column == NULL) break;                                                            \
    if (inlay_column_##kind(mres->inlay, column_index, &from, &error) != INLAY_OK ||      \
        (column->data = (ctype *)malloc((from.count + 1) * sizeof(ctype))) == NULL) {     \
      free(column);                                                                       \
      break;                                                                              \
    }                                                                                     \
    for (row = 0; row < from.count; row++) {                                              \
      ctype value;                                                                        \
      memset(&value, 0, sizeof value);                                                    \
      write;                                                                              \
      column->data[row] = value;                                                          \
    }                                                                                     \
    memset(&column->null_value, 0, sizeof(ctype));                                        \
    column->type = monetdb_##kind;                                                        \
    column->count = from.count;                                                           \
    column->scale = 1;                                                                    \
    column->is_null = inlay_monetdb_is_null_##kind;                                       \
    made = (monetdb_column *)column;                                                      \
    break;                                                                                \
  }

static inline int inlay_monetdb_is_null_bool(int8_t value) { return value == INT8_MIN; }

/* A column of an answer, from 0; it belongs to the answer. */
static inline char *monetdb_result_fetch(monetdb_connection conn, monetdb_result *mres, monetdb_column **res,
                                         size_t column_index) {
  inlay_error *error = NULL;
  monetdb_column *made = NULL;
  (void)conn;
  if (mres == NULL || res == NULL) return inlay_monetdb_text("the result, or where to put the column, is NULL");
  *res = NULL;
  if (column_index >= mres->ncols) return inlay_monetdb_text("the result has no such column");
  if (mres->columns[column_index] != NULL) {
    *res = mres->columns[column_index];
    return NULL;
  }
  switch (inlay_monetdb_type(inlay_result_column_type(mres->inlay, column_index))) {
    INLAY_MONETDB_FETCH(bool, bool, int8_t)
    INLAY_MONETDB_FETCH(int8_t, int8, int8_t)
    INLAY_MONETDB_FETCH(int16_t, int16, int16_t)
    INLAY_MONETDB_FETCH(int32_t, int32, int32_t)
    INLAY_MONETDB_FETCH(int64_t, int64, int64_t)
    INLAY_MONETDB_FETCH(float, float, float)
    INLAY_MONETDB_FETCH(double, double, double)
    INLAY_MONETDB_FETCH(str, text, char *)
    INLAY_MONETDB_WRITE(blob, monetdb_data_blob, value.size = from.data[row].size; value.data = (char *)from.data[row].data)
    INLAY_MONETDB_WRITE(date, monetdb_data_date, value = inlay_monetdb_date(from.data[row]))
    INLAY_MONETDB_WRITE(time, monetdb_data_time, value = inlay_monetdb_time(from.data[row]))
    INLAY_MONETDB_WRITE(timestamp, monetdb_data_timestamp, value.date = inlay_monetdb_date(from.data[row].date);
                        value.time = inlay_monetdb_time(from.data[row].time))
    default: break;
  }
  /* An hour of 0 is one; no day has a month of 0. */
  if (made != NULL && made->type == monetdb_time) ((monetdb_column_time *)made)->null_value.hours = 255;
  if (made == NULL) return error == NULL ? inlay_monetdb_text("out of memory") : inlay_monetdb_error(error);
  mres->columns[column_index] = made;
  *res = made;
  return NULL;
}

/* Arrays of numbers as they are given: which are NULL is asked of each. */
#define INLAY_MONETDB_GIVE(kind, id)                                                      \
  case monetdb_##kind: {                                                                  \
    monetdb_column_##kind *from = (monetdb_column_##kind *)input;                         \
    to->type_id = id;                                                                     \
    to->data = from->data;                                                                \
    for (row = 0; row < from->count; row++) {                                             \
      if (from->data[row] == from->null_value) validity[row / 64] &= ~((uint64_t)1 << (row % 64)); \
    }                                                                                     \
    return NULL;                                                                          \
  }

/* A column of the program's as an array. validity has a set bit for each row; values has room for 16 bytes for each. */
static inline char *inlay_monetdb_give(monetdb_column *input, inlay_array *to, uint64_t *validity, void *values) {
  inlay_error *error = NULL;
  size_t row;
  to->count = input->count;
  to->validity = validity;
  to->data = values;
  switch (input->type) {
    INLAY_MONETDB_GIVE(bool, INLAY_TYPE_BOOLEAN)
    INLAY_MONETDB_GIVE(int8_t, INLAY_TYPE_TINYINT)
    INLAY_MONETDB_GIVE(int16_t, INLAY_TYPE_SMALLINT)
    INLAY_MONETDB_GIVE(int32_t, INLAY_TYPE_INTEGER)
    INLAY_MONETDB_GIVE(int64_t, INLAY_TYPE_BIGINT)
    INLAY_MONETDB_GIVE(size_t, sizeof(size_t) == 8 ? INLAY_TYPE_UBIGINT : INLAY_TYPE_UINTEGER)
    case monetdb_float: {
      const float *from = (const float *)input->data;
      to->type_id = INLAY_TYPE_REAL;
      to->data = from;
      for (row = 0; row < input->count; row++) {
        if (isnan(from[row])) validity[row / 64] &= ~((uint64_t)1 << (row % 64));
      }
      return NULL;
    }
    case monetdb_double: {
      const double *from = (const double *)input->data;
      to->type_id = INLAY_TYPE_DOUBLE;
      to->data = from;
      for (row = 0; row < input->count; row++) {
        if (isnan(from[row])) validity[row / 64] &= ~((uint64_t)1 << (row % 64));
      }
      return NULL;
    }
    case monetdb_str:
      to->type_id = INLAY_TYPE_VARCHAR;
      to->layout = INLAY_LAYOUT_STRINGS;
      to->data = input->data;
      return NULL;
    case monetdb_blob: {
      const monetdb_data_blob *from = (const monetdb_data_blob *)input->data;
      inlay_bytes *bytes = (inlay_bytes *)values;
      to->type_id = INLAY_TYPE_BLOB;
      for (row = 0; row < input->count; row++) {
        bytes[row].data = from[row].data;
        bytes[row].size = from[row].size;
        if (from[row].data == NULL) validity[row / 64] &= ~((uint64_t)1 << (row % 64));
      }
      return NULL;
    }
    case monetdb_date:
    case monetdb_time:
    case monetdb_timestamp:
      for (row = 0; row < input->count; row++) {
        inlay_timestamp moment;
        const monetdb_data_timestamp *both = (const monetdb_data_timestamp *)input->data;
        const monetdb_data_date *date = input->type == monetdb_timestamp ? &both[row].date : NULL;
        const monetdb_data_time *time = input->type == monetdb_timestamp ? &both[row].time : NULL;
        bool is_null;
        memset(&moment, 0, sizeof moment);
        if (input->type == monetdb_date) date = (const monetdb_data_date *)input->data + row;
        if (input->type == monetdb_time) time = (const monetdb_data_time *)input->data + row;
        is_null = date != NULL ? date->month == 0 : time->hours == 255;
        moment.date.year = date != NULL ? date->year : 1970;
        moment.date.month = date != NULL ? date->month : 1;
        moment.date.day = date != NULL ? date->day : 1;
        if (time != NULL) {
          moment.time.hour = time->hours;
          moment.time.minute = time->minutes;
          moment.time.second = time->seconds;
          moment.time.nanos = time->ms * 1000000u;
        }
        if (is_null) {
          validity[row / 64] &= ~((uint64_t)1 << (row % 64));
        } else if (input->type == monetdb_date) {
          if (inlay_days_of_date(moment.date, (int32_t *)values + row, &error) != INLAY_OK) return inlay_monetdb_error(error);
        } else if (inlay_micros_of_timestamp(moment, (int64_t *)values + row, &error) != INLAY_OK) {
          return inlay_monetdb_error(error);
        }
      }
      to->type_id = input->type == monetdb_date   ? INLAY_TYPE_DATE
                    : input->type == monetdb_time ? INLAY_TYPE_TIME
                                                  : INLAY_TYPE_TIMESTAMP;
      return NULL;
    default: return inlay_monetdb_text("a column to append has a type that is not known");
  }
}

/* Puts arrays into a table, one for each of its columns, without any text of SQL. schema may be NULL. */
static inline char *monetdb_append(monetdb_connection conn, const char *schema, const char *table, monetdb_column **input,
                                   size_t column_count) {
  inlay_error *error = NULL;
  inlay_array *arrays = (inlay_array *)calloc(column_count + 1, sizeof(inlay_array));
  void **memory = (void **)calloc(2 * column_count + 1, sizeof(void *));
  char *failed = arrays == NULL || memory == NULL ? inlay_monetdb_text("out of memory") : NULL;
  size_t column;
  for (column = 0; failed == NULL && column < column_count; column++) {
    size_t words = (input[column]->count + 63) / 64;
    uint64_t *validity = (uint64_t *)malloc((words + 1) * sizeof(uint64_t));
    void *values = malloc((input[column]->count + 1) * 16);
    memory[2 * column] = validity;
    memory[2 * column + 1] = values;
    if (validity == NULL || values == NULL) {
      failed = inlay_monetdb_text("out of memory");
    } else {
      memset(validity, 0xff, (words + 1) * sizeof(uint64_t));
      failed = inlay_monetdb_give(input[column], &arrays[column], validity, values);
    }
  }
  if (failed == NULL) {
    inlay_append(conn, schema, table, arrays, column_count, NULL, &error);
    failed = inlay_monetdb_error(error);
  }
  for (column = 0; memory != NULL && column < 2 * column_count; column++) free(memory[column]);
  free(memory);
  free(arrays);
  return failed;
}

/* Names and types of a table's columns: two arrays, and each name, which the program frees by free(). */
static inline char *monetdb_get_columns(monetdb_connection conn, const char *schema_name, const char *table_name,
                                        size_t *column_count, char ***column_names, int **column_types) {
  inlay_error *error = NULL;
  inlay_statement *statement = NULL;
  size_t count = 0, size, column, at;
  char *sql;
  const char *parts[2];
  int part;
  *column_count = 0;
  *column_names = NULL;
  *column_types = NULL;
  parts[0] = schema_name;
  parts[1] = table_name;
  size = 2 * ((schema_name == NULL ? 0 : strlen(schema_name)) + strlen(table_name)) + 64;
  sql = (char *)malloc(size);
  if (sql == NULL) return inlay_monetdb_text("out of memory");
  strcpy(sql, "SELECT * FROM ");
  at = strlen(sql);
  for (part = 0; part < 2; part++) {
    const char *letter;
    if (parts[part] == NULL) continue;
    if (sql[at - 1] == '"') sql[at++] = '.';
    sql[at++] = '"';
    for (letter = parts[part]; *letter != 0; letter++) {
      if (*letter == '"') sql[at++] = '"';
      sql[at++] = *letter;
    }
    sql[at++] = '"';
  }
  sql[at] = 0;
  if (inlay_prepare(conn, sql, &statement, &error) == INLAY_OK &&
      inlay_statement_column_count(statement, &count, &error) == INLAY_OK) {
    *column_names = (char **)calloc(count + 1, sizeof(char *));
    *column_types = (int *)calloc(count + 1, sizeof(int));
    for (column = 0; *column_names != NULL && *column_types != NULL && column < count; column++) {
      (*column_names)[column] = inlay_monetdb_text(inlay_statement_column_name(statement, column));
      (*column_types)[column] = (int)inlay_monetdb_type(inlay_statement_column_type(statement, column));
    }
    *column_count = count;
  }
  inlay_statement_free(&statement);
  free(sql);
  return inlay_monetdb_error(error);
}

#ifdef __cplusplus
}
#endif

#endif
