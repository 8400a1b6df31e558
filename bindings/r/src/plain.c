/* R's plain vectors into what functions of the engine write to. What is read of R's memory is found on the main thread; it is written by
 * any. */
#include "inlay_r.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void plain_begin(plain_values *it, SEXP values) {
  memset(it, 0, sizeof *it);
  const R_xlen_t count = XLENGTH(values);
  switch (TYPEOF(values)) {
    case LGLSXP: it->data = LOGICAL_RO(values); break;
    case INTSXP: it->data = INTEGER_RO(values); break;
    case REALSXP: it->data = REAL_RO(values); break;
    case STRSXP:
    case VECSXP: {
      inlay_bytes *texts = calloc((size_t)count + 1, sizeof *texts);
      if (texts == NULL) Rf_error("out of memory");
      it->texts = texts;
      for (R_xlen_t i = 0; i < count; i++) {
        if (TYPEOF(values) == STRSXP) {
          SEXP text = STRING_ELT(values, i);
          if (text != NA_STRING) texts[i] = (inlay_bytes){CHAR(text), (size_t)LENGTH(text)};
        } else {
          SEXP bytes = VECTOR_ELT(values, i);
          if (bytes != R_NilValue) texts[i] = (inlay_bytes){(const char *)RAW_RO(bytes), (size_t)XLENGTH(bytes)};
          if (bytes != R_NilValue && XLENGTH(bytes) == 0) texts[i].data = "";
        }
      }
      break;
    }
    default: Rf_error("R's type \"%s\" is none of a value", Rf_type2char(TYPEOF(values)));
  }
}

void plain_end(plain_values *it) {
  free(it->texts);
  it->texts = NULL;
}

static int is_na(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return value != value && (uint32_t)bits == 1954;
}

typedef struct {
  inlay_output *output;
  char *said;
  int is_failed;
} writing;

static void set_null(writing *to, size_t row) {
  inlay_error *error = NULL;
  if (inlay_output_set_null(to->output, row, &error) == INLAY_OK) return;
  snprintf(to->said, SAID, "%s", inlay_error_text(error));
  inlay_error_free(&error);
  to->is_failed = 1;
}

static void misfit(writing *to, double value, const char *type) {
  snprintf(to->said, SAID, "the value %.15g does not fit %s", value, type);
  to->is_failed = 1;
}

#define WHOLE(ctype, least, most, name)                                        \
  do {                                                                         \
    const int *values = (const int *)it->data + from;                          \
    ctype *out = data;                                                         \
    for (size_t i = 0; i < count; i++) {                                       \
      if (values[i] == NA_INTEGER) set_null(to, i);                            \
      else if (values[i] < (least) || values[i] > (most)) misfit(to, values[i], name); \
      else out[i] = (ctype)values[i];                                          \
    }                                                                          \
  } while (0)

/* Numbers, NULL where R has no number; NaN is one in R, and none in SQL but for REAL and DOUBLE. */
#define REALS(ctype, fits, value, name)                                        \
  do {                                                                         \
    const double *values = (const double *)it->data + from;                    \
    ctype *out = data;                                                         \
    for (size_t i = 0; i < count; i++) {                                       \
      const double x = values[i];                                              \
      if (x != x) set_null(to, i);                                             \
      else if (!(fits)) misfit(to, x, name);                                   \
      else out[i] = value;                                                     \
    }                                                                          \
  } while (0)

static void floats(const plain_values *it, size_t from, size_t count, writing *to, int is_double) {
  const double *values = (const double *)it->data + from;
  void *data = inlay_output_data(to->output);
  for (size_t i = 0; i < count; i++) {
    if (is_na(values[i])) set_null(to, i);
    else if (is_double) ((double *)data)[i] = values[i];
    else ((float *)data)[i] = (float)values[i];
  }
}

static inlay_int128 wide(long double value) {
  const long double two64 = 18446744073709551616.0L;
  const long double high = floorl(value / two64);
  inlay_int128 it = {(uint64_t)(value - high * two64), (int64_t)high};
  /* The upper half of what has no sign does not fit a signed one. */
  if (high >= 9223372036854775808.0L) it.high = (int64_t)(uint64_t)high;
  return it;
}

static void decimals(const plain_values *it, size_t from, size_t count, writing *to) {
  void *data = inlay_output_data(to->output);
  const double *values = (const double *)it->data + from;
  const int digits = inlay_output_precision(to->output), scale = inlay_output_scale(to->output);
  const long double unit = powl(10, scale), most = powl(10, digits);
  char type[32];
  snprintf(type, sizeof type, "DECIMAL(%d,%d)", digits, scale);
  for (size_t i = 0; i < count; i++) {
    const double x = values[i];
    const long double number = roundl((long double)x * unit);
    if (x != x) set_null(to, i);
    else if (!(fabsl(number) < most)) misfit(to, x, type);
    else if (digits <= 4) ((int16_t *)data)[i] = (int16_t)number;
    else if (digits <= 9) ((int32_t *)data)[i] = (int32_t)number;
    else if (digits <= 18) ((int64_t *)data)[i] = (int64_t)number;
    else ((inlay_int128 *)data)[i] = wide(number);
  }
}

static void longs(const plain_values *it, size_t from, size_t count, writing *to) {
  const int64_t *values = (const int64_t *)it->data + from;
  int64_t *data = inlay_output_data(to->output);
  for (size_t i = 0; i < count; i++) {
    if (values[i] == INT64_MIN) set_null(to, i);
    else data[i] = values[i];
  }
}

/* Days, or moments in so many units per second; infinity is the largest number. */
static void days(const plain_values *it, size_t from, size_t count, writing *to) {
  void *data = inlay_output_data(to->output);
  REALS(int32_t, isinf(x) || fabs(x) < INT32_MAX, isinf(x) ? (x > 0 ? INT32_MAX : -INT32_MAX) : floor(x), "DATE");
}

static void moments(const plain_values *it, size_t from, size_t count, writing *to, double units, const char *name) {
  void *data = inlay_output_data(to->output);
  /* A double times its units has more digits than a double. */
  REALS(int64_t, isinf(x) || fabs(x * units) < 9.2e18, isinf(x) ? (x > 0 ? INT64_MAX : -INT64_MAX) : llroundl((long double)x * units), name);
}

static void intervals(const plain_values *it, size_t from, size_t count, writing *to) {
  const double *values = (const double *)it->data + from;
  inlay_interval *out = inlay_output_data(to->output);
  for (size_t i = 0; i < count; i++) {
    if (values[i] != values[i]) set_null(to, i);
    else if (fabs(values[i]) > 9.2e12) misfit(to, values[i], "INTERVAL");
    else out[i] = (inlay_interval){.micros = llround(values[i] * 1e6)};
  }
}

/* 32 digits, with or without hyphens. */
static int uuid_of(const inlay_bytes *text, inlay_int128 *out) {
  uint64_t halves[2] = {0, 0};
  int digits = 0;
  for (size_t i = 0; i < text->size; i++) {
    const char c = text->data[i];
    if (c == '-') continue;
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
    if (digit < 0 || digits == 32) return 0;
    halves[digits / 16] = halves[digits / 16] << 4 | (uint64_t)digit;
    digits++;
  }
  out->high = (int64_t)(halves[0] ^ UINT64_C(1) << 63);
  out->low = halves[1];
  return digits == 32;
}

static void uuids(const plain_values *it, size_t from, size_t count, writing *to) {
  inlay_int128 *out = inlay_output_data(to->output);
  for (size_t i = 0; i < count; i++) {
    const inlay_bytes *text = &it->texts[from + i];
    if (text->data == NULL) {
      set_null(to, i);
    } else if (!uuid_of(text, &out[i])) {
      snprintf(to->said, SAID, "a text is no UUID: \"%.60s\"", text->data);
      to->is_failed = 1;
    }
  }
}

static void texts(const plain_values *it, size_t from, size_t count, writing *to) {
  inlay_error *error = NULL;
  for (size_t i = 0; i < count && !to->is_failed; i++) {
    const inlay_bytes *text = &it->texts[from + i];
    if (text->data == NULL || inlay_output_set_text(to->output, i, text->data, text->size, &error) == INLAY_OK) continue;
    snprintf(to->said, SAID, "%s", inlay_error_text(error));
    inlay_error_free(&error);
    to->is_failed = 1;
  }
}

const char *form_name(inlay_type_id type) {
  switch (type) {
    case INLAY_TYPE_BOOLEAN: return "logical";
    case INLAY_TYPE_TINYINT:
    case INLAY_TYPE_SMALLINT:
    case INLAY_TYPE_INTEGER:
    case INLAY_TYPE_UTINYINT:
    case INLAY_TYPE_USMALLINT: return "integer";
    case INLAY_TYPE_BIGINT: return "integer64";
    case INLAY_TYPE_UINTEGER:
    case INLAY_TYPE_UBIGINT:
    case INLAY_TYPE_HUGEINT:
    case INLAY_TYPE_UHUGEINT: return "whole";
    case INLAY_TYPE_REAL:
    case INLAY_TYPE_DOUBLE:
    case INLAY_TYPE_DECIMAL: return "double";
    case INLAY_TYPE_DATE: return "date";
    case INLAY_TYPE_TIMESTAMP:
    case INLAY_TYPE_TIMESTAMP_S:
    case INLAY_TYPE_TIMESTAMP_MS:
    case INLAY_TYPE_TIMESTAMP_NS:
    case INLAY_TYPE_TIMESTAMP_TZ: return "moment";
    case INLAY_TYPE_TIME:
    case INLAY_TYPE_INTERVAL: return "seconds";
    case INLAY_TYPE_VARCHAR:
    case INLAY_TYPE_JSON:
    case INLAY_TYPE_UUID: return "text";
    case INLAY_TYPE_BLOB: return "blob";
    default: return "none";
  }
}

int plain_write(const plain_values *it, size_t from, size_t count, inlay_output *output, char *said) {
  writing writing = {.output = output, .said = said}, *to = &writing;
  void *data = inlay_output_data(output);
  const double two63 = 9223372036854775808.0;
  switch (inlay_output_type(output)) {
    case INLAY_TYPE_BOOLEAN: WHOLE(uint8_t, 0, 1, "BOOLEAN"); break;
    case INLAY_TYPE_TINYINT: WHOLE(int8_t, -128, 127, "TINYINT"); break;
    case INLAY_TYPE_SMALLINT: WHOLE(int16_t, -32768, 32767, "SMALLINT"); break;
    case INLAY_TYPE_INTEGER: WHOLE(int32_t, -INT32_MAX, INT32_MAX, "INTEGER"); break;
    case INLAY_TYPE_UTINYINT: WHOLE(uint8_t, 0, 255, "UTINYINT"); break;
    case INLAY_TYPE_USMALLINT: WHOLE(uint16_t, 0, 65535, "USMALLINT"); break;
    case INLAY_TYPE_UINTEGER: REALS(uint32_t, x >= 0 && x <= UINT32_MAX, x, "UINTEGER"); break;
    case INLAY_TYPE_UBIGINT: REALS(uint64_t, x >= 0 && x < 2 * two63, x, "UBIGINT"); break;
    case INLAY_TYPE_HUGEINT: REALS(inlay_int128, fabs(x) < 1.7e38, wide(x), "HUGEINT"); break;
    case INLAY_TYPE_UHUGEINT: REALS(inlay_int128, x >= 0 && x < 3.4e38, wide(x), "UHUGEINT"); break;
    case INLAY_TYPE_BIGINT: longs(it, from, count, to); break;
    case INLAY_TYPE_REAL: floats(it, from, count, to, 0); break;
    case INLAY_TYPE_DOUBLE: floats(it, from, count, to, 1); break;
    case INLAY_TYPE_DECIMAL: decimals(it, from, count, to); break;
    case INLAY_TYPE_DATE: days(it, from, count, to); break;
    case INLAY_TYPE_TIMESTAMP:
    case INLAY_TYPE_TIMESTAMP_TZ: moments(it, from, count, to, 1e6, "TIMESTAMP"); break;
    case INLAY_TYPE_TIMESTAMP_S: moments(it, from, count, to, 1, "TIMESTAMP_S"); break;
    case INLAY_TYPE_TIMESTAMP_MS: moments(it, from, count, to, 1e3, "TIMESTAMP_MS"); break;
    case INLAY_TYPE_TIMESTAMP_NS: moments(it, from, count, to, 1e9, "TIMESTAMP_NS"); break;
    case INLAY_TYPE_TIME: REALS(int64_t, x >= 0 && x <= 86400, llround(x * 1e6), "TIME"); break;
    case INLAY_TYPE_INTERVAL: intervals(it, from, count, to); break;
    case INLAY_TYPE_UUID: uuids(it, from, count, to); break;
    case INLAY_TYPE_VARCHAR:
    case INLAY_TYPE_JSON:
    case INLAY_TYPE_BLOB: texts(it, from, count, to); break;
    default:
      snprintf(said, SAID, "functions in R give no values of this type; VARCHAR can stand for it");
      return 0;
  }
  return !writing.is_failed;
}
