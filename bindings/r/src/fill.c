/* Loops from arrays of the engine to R's values, NA where NULL is. */
#include "inlay_r.h"
#include <math.h>
#include <string.h>

int row_is_null(const inlay_array *array, size_t row) {
  return array->validity != NULL && !(array->validity[row / 64] >> (row % 64) & 1);
}

#define INTS(type, value)                                                     \
  do {                                                                        \
    const type *data = array->data;                                           \
    for (size_t i = 0; i < count; i++) {                                      \
      const type it = data[from + i];                                         \
      out[i] = row_is_null(array, from + i) ? NA_INTEGER : (int)(value);      \
    }                                                                         \
  } while (0)

static void codes(const inlay_array *array, size_t from, size_t count, int *out) {
  switch (array->width) {
    case 1: INTS(uint8_t, it + 1); break;
    case 2: INTS(uint16_t, it + 1); break;
    default: INTS(uint32_t, it + 1); break;
  }
}

void fill_int(const inlay_array *array, form form, size_t from, size_t count, int *out) {
  if (form == AS_FACTOR) {
    codes(array, from, count, out);
    return;
  }
  switch (array->layout) {
    case INLAY_LAYOUT_BOOL: INTS(uint8_t, it != 0); break;
    case INLAY_LAYOUT_INT8: INTS(int8_t, it); break;
    case INLAY_LAYOUT_INT16: INTS(int16_t, it); break;
    case INLAY_LAYOUT_INT32: INTS(int32_t, it); break;
    case INLAY_LAYOUT_UINT8: INTS(uint8_t, it); break;
    case INLAY_LAYOUT_UINT16: INTS(uint16_t, it); break;
    /* What has no place in R's integer is NA, as of as.integer(). */
    case INLAY_LAYOUT_INT64: INTS(int64_t, it > INT32_MAX || it < -INT32_MAX ? NA_INTEGER : it); break;
    default:
      for (size_t i = 0; i < count; i++) out[i] = NA_INTEGER;
  }
}

#define DOUBLES(type, value)                                                  \
  do {                                                                        \
    const type *data = array->data;                                           \
    for (size_t i = 0; i < count; i++) {                                      \
      const type it = data[from + i];                                         \
      out[i] = row_is_null(array, from + i) ? NA_REAL : (double)(value);      \
    }                                                                         \
  } while (0)

static double number_of(inlay_int128 it, int is_signed) {
  /* A small one is exact in its lower half alone. */
  if (it.high == 0) return (double)it.low;
  if (is_signed && it.high == -1 && it.low != 0) return -(double)(~it.low + 1);
  long double high = is_signed ? (long double)it.high : (long double)(uint64_t)it.high;
  return (double)(high * 18446744073709551616.0L + (long double)it.low);
}

static long double power_of_ten(int digits) {
  long double power = 1;
  while (digits-- > 0) power *= 10;
  return power;
}

static void decimals(const inlay_array *array, size_t from, size_t count, double *out) {
  const long double unit = power_of_ten(array->scale);
  switch (array->layout) {
    case INLAY_LAYOUT_INT16: DOUBLES(int16_t, (double)it / (double)unit); break;
    case INLAY_LAYOUT_INT32: DOUBLES(int32_t, (double)it / (double)unit); break;
    case INLAY_LAYOUT_INT64: DOUBLES(int64_t, (long double)it / unit); break;
    default: {
      const inlay_int128 *data = array->data;
      for (size_t i = 0; i < count; i++) {
        const inlay_int128 it = data[from + i];
        const long double whole = (long double)it.high * 18446744073709551616.0L + (long double)it.low;
        out[i] = row_is_null(array, from + i) ? NA_REAL : (double)(whole / unit);
      }
    }
  }
}

static double moment(int64_t at, double units) {
  if (at == INT64_MAX) return R_PosInf;
  if (at == -INT64_MAX) return R_NegInf;
  return (double)at / units;
}

static double units_per_second(inlay_type_id type) {
  if (type == INLAY_TYPE_TIMESTAMP_S) return 1;
  if (type == INLAY_TYPE_TIMESTAMP_MS) return 1e3;
  return type == INLAY_TYPE_TIMESTAMP_NS ? 1e9 : 1e6;
}

static double day(int32_t days) {
  if (days == INT32_MAX) return R_PosInf;
  return days == -INT32_MAX ? R_NegInf : days;
}

/* As EXTRACT(epoch FROM ...) counts: a month is 30 days. */
static double seconds(inlay_interval it) { return (it.months * 30.0 + it.days) * 86400.0 + (double)it.micros / 1e6; }

static double bits(int64_t number) {
  double out;
  memcpy(&out, &number, sizeof out);
  return out;
}

static void bits_of(const inlay_array *array, size_t from, size_t count, double *out) {
  const int64_t *data = array->data;
  for (size_t i = 0; i < count; i++) out[i] = bits(row_is_null(array, from + i) ? INT64_MIN : data[from + i]);
}

static void numbers(const inlay_array *array, size_t from, size_t count, double *out) {
  switch (array->layout) {
    case INLAY_LAYOUT_INT8: DOUBLES(int8_t, it); break;
    case INLAY_LAYOUT_INT16: DOUBLES(int16_t, it); break;
    case INLAY_LAYOUT_INT32: DOUBLES(int32_t, it); break;
    case INLAY_LAYOUT_INT64: DOUBLES(int64_t, it); break;
    case INLAY_LAYOUT_INT128: DOUBLES(inlay_int128, number_of(it, 1)); break;
    case INLAY_LAYOUT_UINT8: DOUBLES(uint8_t, it); break;
    case INLAY_LAYOUT_UINT16: DOUBLES(uint16_t, it); break;
    case INLAY_LAYOUT_UINT32: DOUBLES(uint32_t, it); break;
    case INLAY_LAYOUT_UINT64: DOUBLES(uint64_t, it); break;
    case INLAY_LAYOUT_UINT128: DOUBLES(inlay_int128, number_of(it, 0)); break;
    case INLAY_LAYOUT_FLOAT: DOUBLES(float, it); break;
    case INLAY_LAYOUT_DOUBLE: DOUBLES(double, it); break;
    default:
      for (size_t i = 0; i < count; i++) out[i] = NA_REAL;
  }
}

void fill_double(const inlay_array *array, form form, size_t from, size_t count, double *out) {
  switch (form) {
    case AS_INTEGER64: bits_of(array, from, count, out); return;
    case AS_DATE: DOUBLES(int32_t, day(it)); return;
    case AS_MOMENT: DOUBLES(int64_t, moment(it, units_per_second(array->type_id))); return;
    case AS_SECONDS:
      if (array->layout == INLAY_LAYOUT_INTERVAL) DOUBLES(inlay_interval, seconds(it));
      else DOUBLES(int64_t, (double)it / 1e6);
      return;
    default:
      if (array->type_id == INLAY_TYPE_DECIMAL) decimals(array, from, count, out);
      else numbers(array, from, count, out);
  }
}

/* A UUID's highest bit is flipped in memory. */
static SEXP uuid(inlay_int128 it) {
  const uint64_t high = (uint64_t)it.high ^ (UINT64_C(1) << 63), low = it.low;
  char text[37];
  snprintf(text, sizeof text, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(high >> 32), (unsigned)(high >> 16 & 0xffff),
           (unsigned)(high & 0xffff), (unsigned)(low >> 48), (unsigned long long)(low & UINT64_C(0xffffffffffff)));
  return Rf_mkChar(text);
}

int has_texts(const inlay_array *array) {
  if (array->layout == INLAY_LAYOUT_BYTES) return array->type_id == INLAY_TYPE_VARCHAR || array->type_id == INLAY_TYPE_JSON;
  return array->type_id == INLAY_TYPE_UUID || array->type_id == INLAY_TYPE_BIGINT;
}

SEXP text_at(const inlay_array *array, size_t row) {
  if (row_is_null(array, row)) return NA_STRING;
  if (array->type_id == INLAY_TYPE_UUID) return uuid(((const inlay_int128 *)array->data)[row]);
  if (array->type_id == INLAY_TYPE_BIGINT) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)((const int64_t *)array->data)[row]);
    return Rf_mkChar(text);
  }
  const inlay_bytes it = ((const inlay_bytes *)array->data)[row];
  if (it.size > INT_MAX) Rf_error("the text in row %.0f has %.0f bytes, more than R's strings can have", (double)row + 1, (double)it.size);
  if (it.size > 0 && memchr(it.data, 0, it.size) != NULL)
    Rf_error("the text in row %.0f has a NUL character, which R's strings cannot have; ask for it as BLOB", (double)row + 1);
  return Rf_mkCharLenCE(it.size == 0 ? "" : it.data, (int)it.size, CE_UTF8);
}

SEXP blob_at(const inlay_array *array, size_t row) {
  if (row_is_null(array, row)) return R_NilValue;
  const inlay_bytes it = ((const inlay_bytes *)array->data)[row];
  SEXP raw = Rf_allocVector(RAWSXP, (R_xlen_t)it.size);
  if (it.size > 0) memcpy(RAW(raw), it.data, it.size);
  return raw;
}
