/* Lists, structs, maps, unions and bytes as R's lists and data frames. They are made at once, for all rows that
 * are wanted: R 4.2 has no lists that are made on touch.
 *
 * A column is a tree of parts (node); each has its array, and where its own parts begin for each row. */
#include "inlay_r.h"
#include <stdlib.h>

typedef struct node {
  inlay_array array;
  const inlay_type *type;
  inlay_type_id id;
  inlay_chunk *chunk; /* the one that it is a column of */
  size_t column;
  inlay_chunk *parts;
  const uint32_t *offsets;
  const uint8_t *tags;
  size_t child_count;
  struct node *children;
} node;

typedef struct {
  inlay_chunk *chunk;
  node root;
  const wishes *wishes;
  R_xlen_t from, count;
} reading;

static void free_node(node *it) {
  for (size_t i = 0; i < it->child_count; i++) free_node(&it->children[i]);
  free(it->children);
  inlay_chunk_free(&it->parts);
}

static inlay_status read_node(node *it, inlay_chunk *chunk, size_t column, const inlay_type *type, inlay_error **error) {
  it->type = type;
  it->id = inlay_type_get_id(type);
  it->chunk = chunk;
  it->column = column;
  inlay_status status = inlay_chunk_view(chunk, column, &it->array, error);
  if (status != INLAY_OK || it->array.layout != INLAY_LAYOUT_NESTED) return status;
  status = inlay_chunk_parts(chunk, column, &it->parts, error);
  if (status != INLAY_OK) return status;
  it->offsets = inlay_chunk_offsets(it->parts);
  it->tags = inlay_chunk_tags(it->parts);
  const size_t count = inlay_chunk_column_count(it->parts);
  it->children = calloc(count, sizeof *it->children);
  if (it->children == NULL) return INLAY_ERROR_OUT_OF_MEMORY;
  it->child_count = count;
  for (size_t i = 0; i < count && status == INLAY_OK; i++)
    status = read_node(&it->children[i], it->parts, i, inlay_type_part(type, i), error);
  return status;
}

static SEXP values_of(const node *it, const wishes *wishes, size_t from, size_t count);

/* A data frame with a column for each part. */
static SEXP frame_of(const node *it, const wishes *wishes, size_t from, size_t count) {
  SEXP frame = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)it->child_count));
  SEXP names = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)it->child_count));
  for (size_t i = 0; i < it->child_count; i++) {
    const char *name = it->id == INLAY_TYPE_MAP ? (i == 0 ? "key" : "value") : inlay_type_part_name(it->type, i);
    SET_STRING_ELT(names, (R_xlen_t)i, Rf_mkCharCE(name == NULL ? "" : name, CE_UTF8));
    SET_VECTOR_ELT(frame, (R_xlen_t)i, values_of(&it->children[i], wishes, from, count));
  }
  Rf_setAttrib(frame, R_NamesSymbol, names);
  make_frame(frame, (R_xlen_t)count);
  UNPROTECT(2);
  return frame;
}

static SEXP list_of(const node *it, const wishes *wishes, size_t from, size_t count) {
  SEXP list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)count));
  for (size_t i = 0; i < count; i++) {
    const size_t row = from + i;
    if (row_is_null(&it->array, row)) continue;
    if (it->tags != NULL) {
      SET_VECTOR_ELT(list, (R_xlen_t)i, values_of(&it->children[it->tags[row]], wishes, row, 1));
      continue;
    }
    const size_t first = it->offsets[row], size = it->offsets[row + 1] - first;
    SET_VECTOR_ELT(list, (R_xlen_t)i,
                   it->id == INLAY_TYPE_MAP ? frame_of(it, wishes, first, size) : values_of(&it->children[0], wishes, first, size));
  }
  UNPROTECT(1);
  return list;
}

static void fill_vector(const inlay_array *array, form form, size_t from, size_t count, SEXP vector) {
  switch (vector_of(form)) {
    case LGLSXP: fill_int(array, form, from, count, LOGICAL(vector)); break;
    case INTSXP: fill_int(array, form, from, count, INTEGER(vector)); break;
    case REALSXP: fill_double(array, form, from, count, REAL(vector)); break;
    case STRSXP:
      for (size_t i = 0; i < count; i++) SET_STRING_ELT(vector, (R_xlen_t)i, text_at(array, from + i));
      break;
    default:
      for (size_t i = 0; i < count; i++) SET_VECTOR_ELT(vector, (R_xlen_t)i, blob_at(array, from + i));
  }
}

/* Texts of values that lie in memory as numbers: the engine makes them. */
static void made_texts(const node *it, size_t from, size_t count, SEXP vector) {
  for (size_t i = 0; i < count; i++) {
    inlay_error *error = NULL;
    char *text = NULL;
    if (inlay_chunk_text(it->chunk, from + i, it->column, &text, &error) != INLAY_OK) raise_error(&error);
    /* The text is R's own, or R is out of memory. */
    SET_STRING_ELT(vector, (R_xlen_t)i, text == NULL ? NA_STRING : Rf_mkCharCE(text, CE_UTF8));
    inlay_text_free(&text);
  }
}

static SEXP values_of(const node *it, const wishes *wishes, size_t from, size_t count) {
  const form form = form_of(it->id, wishes);
  if (form == AS_NESTED) return it->id == INLAY_TYPE_STRUCT ? frame_of(it, wishes, from, count) : list_of(it, wishes, from, count);
  SEXP vector = PROTECT(Rf_allocVector(vector_of(form), (R_xlen_t)count));
  if (vector_of(form) == STRSXP && !has_texts(&it->array)) made_texts(it, from, count, vector);
  else fill_vector(&it->array, form, from, count, vector);
  dress(vector, form, it->type, wishes);
  UNPROTECT(1);
  return vector;
}

SEXP array_values(const inlay_array *array, const wishes *wishes, size_t count) {
  const form form = form_of(array->type_id, wishes);
  if (vector_of(form) == STRSXP && !has_texts(array)) Rf_error("values of this type cannot be arguments of functions in R; cast them to VARCHAR");
  SEXP vector = PROTECT(Rf_allocVector(vector_of(form), (R_xlen_t)count));
  fill_vector(array, form, 0, count, vector);
  dress_plain(vector, form, array->type_id, wishes);
  UNPROTECT(1);
  return vector;
}

static SEXP read_values(void *data) {
  reading *it = data;
  return values_of(&it->root, it->wishes, (size_t)it->from, (size_t)it->count);
}

static void end_reading(void *data) {
  reading *it = data;
  free_node(&it->root);
  inlay_chunk_free(&it->chunk);
}

SEXP nested_column(inlay_result *result, size_t column, const inlay_type *type, const wishes *wishes, R_xlen_t from, R_xlen_t count) {
  inlay_error *error = NULL;
  reading reading = {.wishes = wishes, .from = from, .count = count};
  if (inlay_result_column_chunk(result, column, &reading.chunk, &error) != INLAY_OK ||
      read_node(&reading.root, reading.chunk, 0, type, &error) != INLAY_OK) {
    end_reading(&reading);
    if (error == NULL) Rf_error("out of memory");
    raise_error(&error);
  }
  return R_ExecWithCleanup(read_values, &reading, end_reading, &reading);
}

typedef struct {
  node *columns;
  size_t column_count;
  const wishes *wishes;
  size_t from, count;
} slicing;

static SEXP slice(void *data) {
  const slicing *it = data;
  SEXP list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)it->column_count));
  for (size_t i = 0; i < it->column_count; i++)
    SET_VECTOR_ELT(list, (R_xlen_t)i, values_of(&it->columns[i], it->wishes, it->from, it->count));
  UNPROTECT(1);
  return list;
}

static void end_slicing(void *data) {
  slicing *it = data;
  for (size_t i = 0; i < it->column_count; i++) free_node(&it->columns[i]);
  free(it->columns);
}

SEXP chunk_values(inlay_chunk *chunk, inlay_type *const *types, const wishes *wishes, size_t from, size_t count) {
  inlay_error *error = NULL;
  inlay_status status = INLAY_OK;
  slicing it = {.column_count = inlay_chunk_column_count(chunk), .wishes = wishes, .from = from, .count = count};
  it.columns = calloc(it.column_count == 0 ? 1 : it.column_count, sizeof *it.columns);
  if (it.columns == NULL) Rf_error("out of memory");
  for (size_t i = 0; i < it.column_count && status == INLAY_OK; i++) status = read_node(&it.columns[i], chunk, i, types[i], &error);
  if (status != INLAY_OK) {
    end_slicing(&it);
    if (error == NULL) Rf_error("out of memory");
    raise_error(&error);
  }
  return R_ExecWithCleanup(slice, &it, end_slicing, &it);
}

SEXP empty_of(const inlay_type *type, const wishes *wishes) {
  const inlay_type_id id = inlay_type_get_id(type);
  const form form = form_of(id, wishes);
  if (id != INLAY_TYPE_STRUCT) {
    SEXP vector = PROTECT(Rf_allocVector(vector_of(form), 0));
    dress(vector, form, type, wishes);
    UNPROTECT(1);
    return vector;
  }
  const R_xlen_t count = (R_xlen_t)inlay_type_size(type);
  SEXP frame = PROTECT(Rf_allocVector(VECSXP, count));
  SEXP names = PROTECT(Rf_allocVector(STRSXP, count));
  for (R_xlen_t i = 0; i < count; i++) {
    SET_STRING_ELT(names, i, Rf_mkCharCE(inlay_type_part_name(type, (size_t)i), CE_UTF8));
    SET_VECTOR_ELT(frame, i, empty_of(inlay_type_part(type, (size_t)i), wishes));
  }
  Rf_setAttrib(frame, R_NamesSymbol, names);
  make_frame(frame, 0);
  UNPROTECT(2);
  return frame;
}
