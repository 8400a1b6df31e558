/* Values of R's vectors as parameters of a statement. R/result.R has made them plain: no factors, no POSIXlt. */
#include "inlay_r.h"
#include <math.h>
#include <string.h>

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
  const double value = REAL_ELT(values, row);
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
      const int value = INTEGER_ELT(values, row);
      if (value == NA_INTEGER) return inlay_bind_null(it, parameter, error);
      if (Rf_inherits(values, "Date")) return bind_day(it, parameter, value, error);
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
