/* Values of R's vectors as parameters of a statement. R/result.R has made them plain: no factors, no POSIXlt. */
#include "inlay_r.h"
#include <math.h>
#include <string.h>

/* Days, moments and times may be integers in R, too. */
static double number_at(SEXP values, R_xlen_t row) {
  if (TYPEOF(values) == REALSXP) return REAL_ELT(values, row);
  const int value = INTEGER_ELT(values, row);
  return value == NA_INTEGER ? NA_REAL : value;
}

static inlay_status bind_day(inlay_statement *it, size_t parameter, double days, inlay_error **error) {
  inlay_date date = {0};
  if (R_FINITE(days) && fabs(days) < INT32_MAX) date = inlay_date_of_days((int32_t)floor(days));
  else date.year = days > 0 ? INT32_MAX : -INT32_MAX;
  return inlay_bind_date(it, parameter, date, error);
}

static int64_t micros_of(double seconds) {
  if (!R_FINITE(seconds)) return seconds > 0 ? INT64_MAX : -INT64_MAX;
  return (int64_t)llround(seconds * 1e6);
}

/* A moment; for a parameter that is a TIMESTAMP without a zone, as it is in UTC. */
static inlay_status bind_moment(inlay_statement *it, size_t parameter, double seconds, inlay_error **error) {
  inlay_type_id type = INLAY_TYPE_NULL;
  const int64_t micros = micros_of(seconds);
  if (inlay_parameter_type(it, parameter, &type, NULL) == INLAY_OK && type == INLAY_TYPE_TIMESTAMP)
    return inlay_bind_timestamp(it, parameter, inlay_timestamp_of(micros, 1000000), error);
  return inlay_bind_timestamptz(it, parameter, micros, error);
}

static inlay_status bind_seconds(inlay_statement *it, size_t parameter, SEXP values, double seconds, inlay_error **error) {
  if (Rf_inherits(values, "hms")) return inlay_bind_time(it, parameter, inlay_time_of_micros(micros_of(seconds)), error);
  const inlay_interval interval = {.micros = micros_of(seconds)};
  return inlay_bind_interval(it, parameter, interval, error);
}

static inlay_status bind_double(inlay_statement *it, size_t parameter, SEXP values, R_xlen_t row, inlay_error **error) {
  const double value = number_at(values, row);
  if (Rf_inherits(values, "integer64")) {
    int64_t number;
    memcpy(&number, &value, sizeof number);
    return number == INT64_MIN ? inlay_bind_null(it, parameter, error) : inlay_bind_int64(it, parameter, number, error);
  }
  const int is_plain = !Rf_isObject(values);
  if (is_plain ? R_IsNA(value) : ISNAN(value)) return inlay_bind_null(it, parameter, error);
  if (Rf_inherits(values, "Date")) return bind_day(it, parameter, value, error);
  if (Rf_inherits(values, "POSIXct")) return bind_moment(it, parameter, value, error);
  if (Rf_inherits(values, "difftime")) return bind_seconds(it, parameter, values, value, error);
  return inlay_bind_double(it, parameter, value, error);
}

static inlay_status bind_blob(inlay_statement *it, size_t parameter, SEXP value, inlay_error **error) {
  if (value == R_NilValue) return inlay_bind_null(it, parameter, error);
  if (TYPEOF(value) != RAWSXP) Rf_error("parameter %d is a list whose elements are not raw", (int)parameter);
  return inlay_bind_blob(it, parameter, (const char *)RAW_RO(value), (size_t)XLENGTH(value), error);
}

static inlay_status bind_text(inlay_statement *it, size_t parameter, SEXP value, inlay_error **error) {
  if (value == NA_STRING) return inlay_bind_null(it, parameter, error);
  const void *top = vmaxget();
  const char *text = Rf_translateCharUTF8(value);
  inlay_status status = inlay_bind_text(it, parameter, text, strlen(text), error);
  vmaxset(top);
  return status;
}

static inlay_status bind_value(inlay_statement *it, size_t parameter, SEXP values, R_xlen_t row, inlay_error **error) {
  switch (TYPEOF(values)) {
    case NILSXP: return inlay_bind_null(it, parameter, error);
    case LGLSXP: {
      const int value = LOGICAL_ELT(values, row);
      return value == NA_LOGICAL ? inlay_bind_null(it, parameter, error) : inlay_bind_bool(it, parameter, value != 0, error);
    }
    case INTSXP: {
      if (Rf_isObject(values)) return bind_double(it, parameter, values, row, error);
      const int value = INTEGER_ELT(values, row);
      if (value == NA_INTEGER) return inlay_bind_null(it, parameter, error);
      return inlay_bind_int32(it, parameter, value, error);
    }
    case REALSXP: return bind_double(it, parameter, values, row, error);
    case STRSXP: return bind_text(it, parameter, STRING_ELT(values, row), error);
    case VECSXP: return bind_blob(it, parameter, VECTOR_ELT(values, row), error);
    default: Rf_error("parameter %d: R's type \"%s\" cannot be bound", (int)parameter, Rf_type2char(TYPEOF(values)));
  }
}

/* Binds row `row`, from 0, of a list of vectors, one for each parameter. */
SEXP bind_row(SEXP handle, SEXP values, SEXP row) {
  inlay_statement *statement = statement_of(handle);
  inlay_error *error = NULL;
  const R_xlen_t at = (R_xlen_t)Rf_asReal(row);
  for (R_xlen_t i = 0; i < XLENGTH(values); i++) {
    if (bind_value(statement, (size_t)i + 1, VECTOR_ELT(values, i), at, &error) != INLAY_OK) raise_error(&error);
  }
  return R_NilValue;
}

/* ---- All rows at once ---- */

static uint64_t *valid_bits(R_xlen_t count) {
  const size_t words = (size_t)(count + 63) / 64;
  uint64_t *bits = (uint64_t *)R_alloc(words == 0 ? 1 : words, sizeof *bits);
  memset(bits, 0xff, words * sizeof *bits);
  return bits;
}

static void clear_bit(uint64_t *bits, R_xlen_t row) { bits[row / 64] &= ~(UINT64_C(1) << (row % 64)); }

static void logical_array(inlay_array *it, SEXP values, uint64_t *bits) {
  uint8_t *out = (uint8_t *)R_alloc(it->count + 1, 1);
  for (R_xlen_t i = 0; i < (R_xlen_t)it->count; i++) {
    const int value = LOGICAL_ELT(values, i);
    out[i] = value == 1;
    if (value == NA_LOGICAL) clear_bit(bits, i);
  }
  it->type_id = INLAY_TYPE_BOOLEAN;
  it->data = out;
}

static void integer_array(inlay_array *it, SEXP values, uint64_t *bits) {
  const int *data = INTEGER_RO(values);
  for (R_xlen_t i = 0; i < (R_xlen_t)it->count; i++)
    if (data[i] == NA_INTEGER) clear_bit(bits, i);
  it->type_id = INLAY_TYPE_INTEGER;
  it->data = data;
}

static void double_array(inlay_array *it, SEXP values, uint64_t *bits) {
  const double *data = REAL_RO(values);
  const int is_integer64 = Rf_inherits(values, "integer64");
  for (R_xlen_t i = 0; i < (R_xlen_t)it->count; i++)
    if (is_integer64 ? ((const int64_t *)data)[i] == INT64_MIN : R_IsNA(data[i])) clear_bit(bits, i);
  it->type_id = is_integer64 ? INLAY_TYPE_BIGINT : INLAY_TYPE_DOUBLE;
  it->data = data;
}

static void day_array(inlay_array *it, SEXP values, uint64_t *bits) {
  int32_t *out = (int32_t *)R_alloc(it->count + 1, sizeof *out);
  for (R_xlen_t i = 0; i < (R_xlen_t)it->count; i++) {
    const double value = number_at(values, i);
    out[i] = 0;
    if (ISNAN(value)) clear_bit(bits, i);
    else out[i] = fabs(value) >= INT32_MAX ? (value > 0 ? INT32_MAX : -INT32_MAX) : (int32_t)floor(value);
  }
  it->type_id = INLAY_TYPE_DATE;
  it->data = out;
}

/* type: what counts microseconds. */
static void micros_array(inlay_array *it, SEXP values, uint64_t *bits, inlay_type_id type) {
  int64_t *out = (int64_t *)R_alloc(it->count + 1, sizeof *out);
  for (R_xlen_t i = 0; i < (R_xlen_t)it->count; i++) {
    const double value = number_at(values, i);
    out[i] = 0;
    if (ISNAN(value)) clear_bit(bits, i);
    else out[i] = micros_of(value);
  }
  it->type_id = type;
  it->data = out;
}

static void interval_array(inlay_array *it, SEXP values, uint64_t *bits) {
  inlay_interval *out = (inlay_interval *)R_alloc(it->count + 1, sizeof *out);
  memset(out, 0, it->count * sizeof *out);
  for (R_xlen_t i = 0; i < (R_xlen_t)it->count; i++) {
    const double value = number_at(values, i);
    if (ISNAN(value)) clear_bit(bits, i);
    else out[i].micros = micros_of(value);
  }
  it->type_id = INLAY_TYPE_INTERVAL;
  it->data = out;
}

static void text_array(inlay_array *it, SEXP values, uint64_t *bits) {
  inlay_bytes *out = (inlay_bytes *)R_alloc(it->count + 1, sizeof *out);
  for (R_xlen_t i = 0; i < (R_xlen_t)it->count; i++) {
    SEXP text = STRING_ELT(values, i);
    out[i].data = text == NA_STRING ? "" : Rf_translateCharUTF8(text);
    out[i].size = strlen(out[i].data);
    if (text == NA_STRING) clear_bit(bits, i);
  }
  it->type_id = INLAY_TYPE_VARCHAR;
  it->data = out;
}

static void blob_array(inlay_array *it, SEXP values, uint64_t *bits, int parameter) {
  inlay_bytes *out = (inlay_bytes *)R_alloc(it->count + 1, sizeof *out);
  for (R_xlen_t i = 0; i < (R_xlen_t)it->count; i++) {
    SEXP value = VECTOR_ELT(values, i);
    if (value != R_NilValue && TYPEOF(value) != RAWSXP) Rf_error("parameter %d is a list whose elements are not raw", parameter);
    out[i].data = value == R_NilValue ? "" : (const char *)RAW_RO(value);
    out[i].size = value == R_NilValue ? 0 : (size_t)XLENGTH(value);
    if (value == R_NilValue) clear_bit(bits, i);
  }
  it->type_id = INLAY_TYPE_BLOB;
  it->data = out;
}

/* The values of a parameter as an array, which is there until the end of the call from R. */
static inlay_array array_of(inlay_statement *statement, int parameter, SEXP values) {
  inlay_array it = {.count = (size_t)XLENGTH(values)};
  uint64_t *bits = valid_bits(XLENGTH(values));
  it.validity = bits;
  if (Rf_inherits(values, "Date")) day_array(&it, values, bits);
  else if (Rf_inherits(values, "POSIXct")) {
    inlay_type_id type = INLAY_TYPE_NULL;
    const int is_utc = inlay_parameter_type(statement, (size_t)parameter, &type, NULL) == INLAY_OK && type == INLAY_TYPE_TIMESTAMP;
    micros_array(&it, values, bits, is_utc ? INLAY_TYPE_TIMESTAMP : INLAY_TYPE_TIMESTAMP_TZ);
  } else if (Rf_inherits(values, "hms")) micros_array(&it, values, bits, INLAY_TYPE_TIME);
  else if (Rf_inherits(values, "difftime")) interval_array(&it, values, bits);
  else switch (TYPEOF(values)) {
    case LGLSXP: logical_array(&it, values, bits); break;
    case INTSXP: integer_array(&it, values, bits); break;
    case REALSXP: double_array(&it, values, bits); break;
    case STRSXP: text_array(&it, values, bits); break;
    case VECSXP: blob_array(&it, values, bits, parameter); break;
    default: Rf_error("parameter %d: R's type \"%s\" cannot be bound", parameter, Rf_type2char(TYPEOF(values)));
  }
  return it;
}

typedef struct {
  inlay_statement *statement;
  inlay_array *arrays;
  size_t count;
  uint64_t changed;
} many;

static inlay_status many_work(void *data, inlay_error **error) {
  many *it = data;
  return inlay_statement_execute_many(it->statement, it->arrays, it->count, &it->changed, error);
}

/* Runs a statement that gives no rows once for each row of the vectors, all or nothing; how many rows were changed. */
SEXP execute_rows(SEXP connection, SEXP handle, SEXP values) {
  many it = {.statement = statement_of(handle), .count = (size_t)XLENGTH(values)};
  it.arrays = (inlay_array *)R_alloc(it.count, sizeof *it.arrays);
  for (size_t i = 0; i < it.count; i++) it.arrays[i] = array_of(it.statement, (int)i + 1, VECTOR_ELT(values, (R_xlen_t)i));
  run(connection_of(connection), many_work, &it);
  return Rf_ScalarReal((double)it.changed);
}

/* Whether the statement gives rows; if that is not known before it runs, it may. */
SEXP gives_rows(SEXP handle) {
  size_t count = 0;
  return Rf_ScalarLogical(inlay_statement_column_count(statement_of(handle), &count, NULL) != INLAY_OK || count > 0);
}
