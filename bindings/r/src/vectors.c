/* Columns of results as R's vectors (ALTREP).
 *
 * A vector is a window of a column. Where memory of the engine is what R would have (INTEGER, DOUBLE, BIGINT as
 * integer64; below each NULL lies R's NA), R reads it where it is. A whole column of such is a mapping that belongs to the
 * vector alone (an inlay_buffer): R writes to it as well, which never reaches the engine, and it outlives all else. Otherwise
 * values are converted when they are touched: one by one, or all, once, when somebody asks for a pointer.
 *
 * data1: an external pointer to the column; its finaliser lets go of the engine's memory.
 * data2: R's own values, once they were made; NULL before.
 */
#include "inlay_r.h"
#include <R_ext/Altrep.h>
#include <stdlib.h>
#include <string.h>

typedef struct column {
  inlay_result *result; /* keeps the memory, and the connection */
  inlay_chunk *chunk;   /* keeps the memory when the connection is to be let go of */
  size_t index;
  size_t from;
  R_xlen_t count;
  form form;
  int is_loaded;
  inlay_array array;
  const char *const *texts; /* of a type whose texts the engine makes */
  const void *direct;       /* where R reads; NULL if values are converted */
  inlay_buffer *buffer;     /* that it lies in, if it belongs to the vector */
  int may_have_null;        /* what is known of those in the buffer */
  SEXP vector;              /* not protected: it is there as long as this */
  uint64_t session;
  struct column *next, *previous;
} column;

static column *columns = NULL;
/* Buffers of vectors, each of which may be a mapping. The system gives a process some ten thousand, malloc's among them: where there are
 * many, R gets copies. */
static size_t buffers_alive = 0;
static size_t buffers_most = 32000;
static R_altrep_class_t logical_class, integer_class, double_class, text_class;

static void forget(column *it) {
  inlay_result_release(&it->result);
  inlay_chunk_free(&it->chunk);
  if (it->buffer != NULL) buffers_alive--;
  inlay_buffer_free(&it->buffer);
  it->direct = NULL;
  it->texts = NULL;
  memset(&it->array, 0, sizeof it->array);
}

static void unlink_column(column *it) {
  if (it->next != NULL) it->next->previous = it->previous;
  if (it->previous != NULL) it->previous->next = it->next;
  else columns = it->next;
}

static void finalize(SEXP handle) {
  column *it = R_ExternalPtrAddr(handle);
  if (it == NULL) return;
  R_ClearExternalPtr(handle);
  forget(it);
  unlink_column(it);
  free(it);
}

static column *column_of(SEXP vector) { return R_ExternalPtrAddr(R_altrep_data1(vector)); }
static int is_made(SEXP vector) { return R_altrep_data2(vector) != R_NilValue; }

/* The first row that is NULL; there is one. */
static size_t first_null(const inlay_array *array) {
  size_t word = 0;
  while (array->validity[word] == UINT64_MAX) word++;
  size_t row = word * 64;
  while (!row_is_null(array, row)) row++;
  return row;
}

/* Whether R's NA lies below NULLs, of which one is looked at: the engine writes the same below each. */
static int is_na_below(const column *it, const void *data) {
  const size_t row = first_null(&it->array);
  if (row >= it->array.count) return 1;
  switch (it->form) {
    case AS_INTEGER: return ((const int32_t *)data)[row] == NA_INTEGER;
    case AS_INTEGER64: return ((const int64_t *)data)[row] == INT64_MIN;
    default: return R_IsNA(((const double *)data)[row]);
  }
}

/* The column in the form in which the engine writes what stands for NULL below each NULL. */
static inlay_status with_nulls(const column *it, const void **data, inlay_error **error) {
  inlay_int32_column ints;
  inlay_int64_column longs;
  inlay_double_column doubles;
  inlay_status status;
  switch (it->form) {
    case AS_INTEGER:
      status = inlay_column_int32(it->result, it->index, &ints, error);
      *data = ints.data;
      return status;
    case AS_INTEGER64:
      status = inlay_column_int64(it->result, it->index, &longs, error);
      *data = longs.data;
      return status;
    default:
      status = inlay_column_double(it->result, it->index, &doubles, error);
      *data = doubles.data;
      return status;
  }
}

static int is_direct_layout(const column *it) {
  switch (it->form) {
    case AS_INTEGER: return it->array.layout == INLAY_LAYOUT_INT32;
    case AS_INTEGER64: return it->array.layout == INLAY_LAYOUT_INT64;
    case AS_DOUBLE: return it->array.layout == INLAY_LAYOUT_DOUBLE;
    default: return 0;
  }
}

static size_t width_of(form form) { return vector_of(form) == REALSXP ? sizeof(double) : sizeof(int); }

/* Finds where R can read values as they lie in the engine's memory. */
static inlay_status find_direct(column *it, inlay_error **error) {
  if (!is_direct_layout(it)) return INLAY_OK;
  const void *data = it->array.data;
  if (it->array.validity != NULL) {
    inlay_status status = with_nulls(it, &data, error);
    if (status != INLAY_OK || !is_na_below(it, data)) return status;
  }
  it->direct = data == NULL ? NULL : (const char *)data + it->from * width_of(it->form);
  return INLAY_OK;
}

static inlay_status load_quietly(column *it, inlay_error **error) {
  inlay_status status = inlay_column_view(it->result, it->index, &it->array, error);
  if (status == INLAY_OK) status = find_direct(it, error);
  if (status == INLAY_OK && it->form == AS_TEXT && !has_texts(&it->array)) {
    inlay_text_column texts;
    status = inlay_column_text(it->result, it->index, &texts, error);
    if (status == INLAY_OK) it->texts = texts.data;
  }
  it->is_loaded = status == INLAY_OK;
  return status;
}

static column *loaded(SEXP vector) {
  column *it = column_of(vector);
  inlay_error *error = NULL;
  if (!it->is_loaded && load_quietly(it, &error) != INLAY_OK) raise_error(&error);
  return it;
}

static void fill(column *it, size_t from, size_t count, void *out) {
  if (vector_of(it->form) == REALSXP) fill_double(&it->array, it->form, it->from + from, count, out);
  else fill_int(&it->array, it->form, it->from + from, count, out);
}

static SEXP text_of(column *it, R_xlen_t index) {
  const size_t row = it->from + (size_t)index;
  if (it->texts == NULL) return text_at(&it->array, row);
  return it->texts[row] == NULL ? NA_STRING : Rf_mkCharCE(it->texts[row], CE_UTF8);
}

/* Texts that were met lately, by a hash: R's own table of all texts takes longer to ask. */
#define LATELY 1024

static size_t hash_of(const inlay_bytes *it) {
  uint64_t first = 0, last = 0;
  const size_t size = it->size < 8 ? it->size : 8;
  memcpy(&first, it->data, size);
  memcpy(&last, it->data + it->size - size, size);
  const uint64_t mixed = (first ^ (last * UINT64_C(0x9e3779b97f4a7c15)) ^ it->size) * UINT64_C(0xff51afd7ed558ccd);
  return (size_t)(mixed >> 54);
}

static SEXP text_lately(column *it, R_xlen_t index, SEXP *lately) {
  const size_t row = it->from + (size_t)index;
  if (it->array.layout != INLAY_LAYOUT_BYTES || row_is_null(&it->array, row)) return text_of(it, index);
  const inlay_bytes *bytes = (const inlay_bytes *)it->array.data + row;
  if (bytes->size == 0) return R_BlankString;
  SEXP *place = &lately[hash_of(bytes)];
  if (*place == NULL || (size_t)LENGTH(*place) != bytes->size || memcmp(CHAR(*place), bytes->data, bytes->size) != 0) *place = text_of(it, index);
  return *place;
}

/* A plain vector of R with the values. Those that were met lately are protected by it. */
static SEXP plain(SEXP vector) {
  column *it = loaded(vector);
  SEXP values = PROTECT(Rf_allocVector(TYPEOF(vector), it->count));
  if (TYPEOF(vector) == STRSXP) {
    SEXP lately[LATELY] = {NULL};
    for (R_xlen_t i = 0; i < it->count; i++) SET_STRING_ELT(values, i, text_lately(it, i, lately));
  } else if (it->count > 0) {
    void *out = DATAPTR(values);
    if (it->direct != NULL) memcpy(out, it->direct, (size_t)it->count * width_of(it->form));
    else fill(it, 0, (size_t)it->count, out);
  }
  UNPROTECT(1);
  return values;
}

/* R's own values, made once. Memory that R may be reading is kept until the vector is gone. */
static SEXP made(SEXP vector) {
  if (!is_made(vector)) {
    R_set_altrep_data2(vector, PROTECT(plain(vector)));
    UNPROTECT(1);
    column *it = column_of(vector);
    if (it->direct == NULL) forget(it);
  }
  return R_altrep_data2(vector);
}

/* ---- Methods ---- */

static R_xlen_t length_of(SEXP vector) { return column_of(vector)->count; }

static void *dataptr(SEXP vector, Rboolean is_writable) {
  if (is_made(vector)) return DATAPTR(R_altrep_data2(vector));
  column *it = loaded(vector);
  if (is_writable && it->buffer != NULL) it->may_have_null = 1;
  if (it->direct != NULL && (!is_writable || it->buffer != NULL)) return (void *)it->direct;
  return DATAPTR(made(vector));
}

static const void *dataptr_or_null(SEXP vector) {
  if (is_made(vector)) return DATAPTR_RO(R_altrep_data2(vector));
  return column_of(vector)->direct;
}

static SEXP duplicate(SEXP vector, Rboolean is_deep) {
  (void)is_deep;
  return is_made(vector) ? Rf_duplicate(R_altrep_data2(vector)) : plain(vector);
}

static Rboolean inspect(SEXP vector, int pre, int deep, int pvec, void (*inspect_subtree)(SEXP, int, int, int)) {
  (void)pre, (void)deep, (void)pvec, (void)inspect_subtree;
  column *it = column_of(vector);
  Rprintf("inlay column, %s\n", is_made(vector) ? "made" : it->direct != NULL ? "mapped" : it->is_loaded ? "converted on touch" : "not read yet");
  return TRUE;
}

static int int_at(SEXP vector, R_xlen_t index) {
  if (is_made(vector)) return ((const int *)DATAPTR_RO(R_altrep_data2(vector)))[index];
  column *it = loaded(vector);
  if (it->direct != NULL) return ((const int *)it->direct)[index];
  int value;
  fill(it, (size_t)index, 1, &value);
  return value;
}

static double double_at(SEXP vector, R_xlen_t index) {
  if (is_made(vector)) return ((const double *)DATAPTR_RO(R_altrep_data2(vector)))[index];
  column *it = loaded(vector);
  if (it->direct != NULL) return ((const double *)it->direct)[index];
  double value;
  fill(it, (size_t)index, 1, &value);
  return value;
}

static R_xlen_t region(SEXP vector, R_xlen_t from, R_xlen_t count, void *out, size_t width) {
  const R_xlen_t length = column_of(vector)->count;
  if (count > length - from) count = length - from;
  if (count <= 0) return 0;
  const char *values = is_made(vector) ? DATAPTR_RO(R_altrep_data2(vector)) : loaded(vector)->direct;
  if (values != NULL) memcpy(out, values + (size_t)from * width, (size_t)count * width);
  else fill(column_of(vector), (size_t)from, (size_t)count, out);
  return count;
}

static R_xlen_t int_region(SEXP vector, R_xlen_t from, R_xlen_t count, int *out) {
  return region(vector, from, count, out, sizeof *out);
}

static R_xlen_t double_region(SEXP vector, R_xlen_t from, R_xlen_t count, double *out) {
  return region(vector, from, count, out, sizeof *out);
}

/* Known only where no NULL is; R looks at the values otherwise. */
static int int_no_na(SEXP vector) {
  const column *it = column_of(vector);
  if (is_made(vector) || it->direct == NULL || it->form != AS_INTEGER) return 0;
  return it->buffer != NULL ? !it->may_have_null : it->is_loaded && it->array.validity == NULL && it->array.data != NULL;
}

static SEXP string_at(SEXP vector, R_xlen_t index) {
  if (is_made(vector)) return STRING_ELT(R_altrep_data2(vector), index);
  return text_of(loaded(vector), index);
}

static void set_string(SEXP vector, R_xlen_t index, SEXP value) { SET_STRING_ELT(made(vector), index, value); }

static void common_methods(R_altrep_class_t it) {
  R_set_altrep_Length_method(it, length_of);
  R_set_altrep_Duplicate_method(it, duplicate);
  R_set_altrep_Inspect_method(it, inspect);
  R_set_altvec_Dataptr_method(it, dataptr);
  R_set_altvec_Dataptr_or_null_method(it, dataptr_or_null);
}

void vectors_init(DllInfo *dll) {
  logical_class = R_make_altlogical_class("inlay_logical", "inlay", dll);
  common_methods(logical_class);
  R_set_altlogical_Elt_method(logical_class, int_at);
  R_set_altlogical_Get_region_method(logical_class, int_region);
  integer_class = R_make_altinteger_class("inlay_integer", "inlay", dll);
  common_methods(integer_class);
  R_set_altinteger_Elt_method(integer_class, int_at);
  R_set_altinteger_Get_region_method(integer_class, int_region);
  R_set_altinteger_No_NA_method(integer_class, int_no_na);
  double_class = R_make_altreal_class("inlay_double", "inlay", dll);
  common_methods(double_class);
  R_set_altreal_Elt_method(double_class, double_at);
  R_set_altreal_Get_region_method(double_class, double_region);
  text_class = R_make_altstring_class("inlay_text", "inlay", dll);
  common_methods(text_class);
  R_set_altstring_Elt_method(text_class, string_at);
  R_set_altstring_Set_elt_method(text_class, set_string);
}

static R_altrep_class_t class_of(form form) {
  switch (vector_of(form)) {
    case LGLSXP: return logical_class;
    case INTSXP: return integer_class;
    case REALSXP: return double_class;
    default: return text_class;
  }
}

/* A vector of R's own with the values of a buffer, which is freed. */
static SEXP copied(owned_column *owned, form form, R_xlen_t count) {
  SEXP values = PROTECT(Rf_allocVector(vector_of(form), count));
  if (count > 0) memcpy(DATAPTR(values), inlay_buffer_data(owned->buffer), (size_t)count * width_of(form));
  inlay_buffer_free(&owned->buffer);
  UNPROTECT(1);
  return values;
}

SEXP column_vector(SEXP connection, inlay_result *result, size_t index, form form, R_xlen_t from, R_xlen_t count, owned_column *owned) {
  if (owned != NULL && buffers_alive >= buffers_most) return copied(owned, form, count);
  SEXP handle = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  column *it = calloc(1, sizeof *it);
  if (it == NULL) Rf_error("out of memory");
  it->index = index;
  it->from = (size_t)from;
  it->count = count;
  it->form = form;
  if (owned != NULL) {
    it->buffer = owned->buffer;
    it->may_have_null = owned->may_have_null;
    owned->buffer = NULL;
    buffers_alive++;
    it->direct = inlay_buffer_data(it->buffer);
    it->is_loaded = 1;
  } else {
    inlay_result_retain(result);
    it->result = result;
    it->session = inlay_connection_id(connection_of(connection));
  }
  it->next = columns;
  if (columns != NULL) columns->previous = it;
  columns = it;
  R_SetExternalPtrAddr(handle, it);
  R_RegisterCFinalizerEx(handle, finalize, FALSE);
  SEXP vector = PROTECT(R_new_altrep(class_of(form), handle, R_NilValue));
  it->vector = vector;
  UNPROTECT(2);
  return vector;
}

static form direct_form(inlay_type_id type) {
  if (type == INLAY_TYPE_INTEGER) return AS_INTEGER;
  if (type == INLAY_TYPE_BIGINT) return AS_INTEGER64;
  return type == INLAY_TYPE_DOUBLE ? AS_DOUBLE : AS_NESTED;
}

inlay_status vectors_take(inlay_result *result, owned_columns *to, inlay_error **error) {
  const size_t count = inlay_result_column_count(result);
  inlay_status status = INLAY_OK;
  to->columns = calloc(count == 0 ? 1 : count, sizeof *to->columns);
  if (to->columns == NULL) return INLAY_OK;
  to->count = count;
  for (size_t i = 0; i < count && status == INLAY_OK; i++) {
    owned_column *it = &to->columns[i];
    if (direct_form(inlay_result_column_type(result, i)) == AS_NESTED) continue;
    to->is_any = 1;
    bool may_have_null = true;
    status = inlay_column_may_have_null(result, i, &may_have_null, error);
    it->may_have_null = may_have_null;
    if (status == INLAY_OK) status = inlay_result_column_buffer(result, i, &it->buffer, error);
  }
  return status;
}

void vectors_give_back(owned_columns *it) {
  for (size_t i = 0; i < it->count; i++) inlay_buffer_free(&it->columns[i].buffer);
  free(it->columns);
  it->columns = NULL;
  it->count = 0;
}

owned_column *vectors_owned(owned_columns *it, inlay_result *result, size_t index, form form) {
  if (it == NULL || index >= it->count || it->columns[index].buffer == NULL) return NULL;
  return form == direct_form(inlay_result_column_type(result, index)) ? &it->columns[index] : NULL;
}

/* The engine keeps what it finds for the result. */
inlay_status vectors_find(inlay_result *result, inlay_error **error) {
  const size_t count = inlay_result_column_count(result);
  inlay_status status = INLAY_OK;
  for (size_t i = 0; i < count && status == INLAY_OK; i++) {
    column it = {.result = result, .index = i, .form = direct_form(inlay_result_column_type(result, i))};
    if (it.form != AS_NESTED) status = load_quietly(&it, error);
  }
  return status;
}

void vectors_load(SEXP frame) {
  for (R_xlen_t i = 0; i < XLENGTH(frame); i++) {
    SEXP vector = VECTOR_ELT(frame, i);
    if (!ALTREP(vector) || TYPEOF(vector) == VECSXP) continue;
    const column *it = column_of(vector);
    if (it->result == NULL) continue;
    if (it->form == direct_form(inlay_result_column_type(it->result, it->index))) loaded(vector);
  }
}

#define MUCH_BYTES (128.0 * 1024 * 1024)

/* The option inlay.mapped says how many columns may be mappings. */
static void read_option(void) {
  SEXP option = Rf_GetOption1(Rf_install("inlay.mapped"));
  if (Rf_isNumeric(option) && XLENGTH(option) == 1 && Rf_asReal(option) >= 0) buffers_most = (size_t)Rf_asReal(option);
}

/* When twice as much is held as after the last collection. */
void vectors_collect(SEXP database) {
  static double limit_bytes = MUCH_BYTES;
  static size_t limit_alive = 4096;
  inlay_database *it = R_ExternalPtrAddr(database);
  read_option();
  if (columns == NULL || it == NULL) return;
  if ((double)inlay_database_memory_used(it) < limit_bytes && buffers_alive < limit_alive) return;
  R_gc();
  limit_bytes = 2 * (double)inlay_database_memory_used(it) + MUCH_BYTES;
  limit_alive = 2 * buffers_alive + 4096;
}

/* A column of a result keeps the session, and by it the file. What is still to be read moves to a chunk, which
 * keeps its own memory alone. */
static void detach(column *it) {
  inlay_error *error = NULL;
  inlay_chunk *chunk = NULL;
  inlay_array array;
  if (it->vector == NULL || is_made(it->vector)) {
    forget(it);
    return;
  }
  if (inlay_result_column_chunk(it->result, it->index, &chunk, &error) != INLAY_OK ||
      inlay_chunk_view(chunk, 0, &array, &error) != INLAY_OK) {
    inlay_chunk_free(&chunk);
    raise_error(&error);
  }
  if (it->form == AS_TEXT && !has_texts(&array)) {
    inlay_chunk_free(&chunk);
    made(it->vector);
    return;
  }
  inlay_result_release(&it->result);
  it->chunk = chunk;
  it->array = array;
  it->is_loaded = 1;
  /* What lies below NULLs of a chunk is not known to be NA. */
  it->direct = it->direct != NULL && array.validity == NULL ? (const char *)array.data + it->from * width_of(it->form) : NULL;
}

void vectors_detach(uint64_t session) {
  int is_any = 0;
  for (column *it = columns; it != NULL; it = it->next) is_any |= it->session == session && it->result != NULL;
  if (!is_any) return;
  /* Those that nobody has any more go first. */
  R_gc();
  for (column *it = columns; it != NULL; it = it->next) {
    if (it->session == session && it->result != NULL) detach(it);
  }
}
