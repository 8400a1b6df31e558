/* A result that is read in pieces: chunks are computed when they are asked for, and are not kept. Their values become vectors of R's own. */
#include "inlay_r.h"
#include <stdlib.h>

typedef struct {
  inlay_result *result;
  inlay_chunk *chunk; /* the one that is read; NULL behind the last */
  size_t from;        /* its next row */
  size_t column_count;
  inlay_type **types;
} reader;

static void free_reader(SEXP handle) {
  reader *it = R_ExternalPtrAddr(handle);
  if (it == NULL) return;
  R_ClearExternalPtr(handle);
  inlay_chunk_free(&it->chunk);
  inlay_result_release(&it->result);
  for (size_t i = 0; i < it->column_count; i++) inlay_type_free(&it->types[i]);
  free(it->types);
  free(it);
}

/* The next chunk that has rows. */
static inlay_status next_work(void *data, inlay_error **error) {
  reader *it = data;
  inlay_status status;
  do {
    inlay_chunk_free(&it->chunk);
    it->from = 0;
    status = inlay_result_next_chunk(it->result, &it->chunk, error);
  } while (status == INLAY_OK && it->chunk != NULL && inlay_chunk_row_count(it->chunk) == 0);
  return status;
}

/* Begins to read a result in pieces. */
SEXP begin_pieces(SEXP handle) {
  inlay_error *error = NULL;
  inlay_result *result = result_of(handle);
  SEXP keeper = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  reader *it = calloc(1, sizeof *it);
  if (it == NULL) Rf_error("out of memory");
  R_SetExternalPtrAddr(keeper, it);
  R_RegisterCFinalizerEx(keeper, free_reader, FALSE);
  inlay_result_retain(result);
  it->result = result;
  const size_t count = inlay_result_column_count(result);
  it->types = calloc(count == 0 ? 1 : count, sizeof(inlay_type *));
  if (it->types == NULL) Rf_error("out of memory");
  it->column_count = count;
  for (size_t i = 0; i < count; i++)
    if (inlay_result_column_full_type(result, i, &it->types[i], &error) != INLAY_OK) raise_error(&error);
  UNPROTECT(1);
  return keeper;
}

static reader *reader_of(SEXP keeper) {
  reader *it = R_ExternalPtrAddr(keeper);
  if (it == NULL) Rf_error("the result is cleared");
  return it;
}

static SEXP column_names(const reader *it) {
  SEXP names = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)it->column_count));
  for (size_t i = 0; i < it->column_count; i++)
    SET_STRING_ELT(names, (R_xlen_t)i, Rf_mkCharCE(inlay_result_column_name(it->result, i), CE_UTF8));
  UNPROTECT(1);
  return names;
}

/* The next rows, at most so many, as a data frame: those of one chunk; without rows behind the last. */
SEXP next_piece(SEXP connection, SEXP keeper, SEXP most, SEXP bigint, SEXP zone) {
  reader *it = reader_of(keeper);
  const wishes wishes = wishes_of(bigint, zone);
  if (it->chunk == NULL || it->from == inlay_chunk_row_count(it->chunk)) run(connection_of(connection), next_work, it);
  size_t count = 0;
  if (it->chunk != NULL) {
    const size_t left = inlay_chunk_row_count(it->chunk) - it->from;
    const double wanted = Rf_asReal(most);
    count = wanted < (double)left ? (size_t)wanted : left;
  }
  if (count == 0) return R_NilValue;
  SEXP frame = PROTECT(chunk_values(it->chunk, it->types, &wishes, it->from, count));
  it->from += count;
  Rf_setAttrib(frame, R_NamesSymbol, PROTECT(column_names(it)));
  make_frame(frame, (R_xlen_t)count);
  UNPROTECT(2);
  return frame;
}

/* Whether there are no rows any more. */
SEXP is_at_end(SEXP connection, SEXP keeper) {
  reader *it = reader_of(keeper);
  if (it->chunk == NULL || it->from == inlay_chunk_row_count(it->chunk)) run(connection_of(connection), next_work, it);
  return Rf_ScalarLogical(it->chunk == NULL);
}

SEXP end_pieces(SEXP keeper) {
  if (TYPEOF(keeper) == EXTPTRSXP) free_reader(keeper);
  return R_NilValue;
}
