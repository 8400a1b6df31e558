/* What the files of this package share. R is entered on its main thread alone. */
#ifndef INLAY_R_H
#define INLAY_R_H

#define R_NO_REMAP
#include <R.h>
#include <Rinternals.h>
#include <inlay.h>

/* failure.c: signals the error as a condition of class inlay_error, and frees it. Does not return. */
void raise_error(inlay_error **error);

/* run.c: runs something of the engine on a thread of its own, while R looks for Ctrl-C on its main thread. */
typedef inlay_status (*engine_work)(void *data, inlay_error **error);
void run(inlay_connection *connection, engine_work work, void *data);
/* The same, for callers that have something to free before the error is raised. */
inlay_status run_quietly(inlay_connection *connection, engine_work work, void *data, inlay_error **error, int *is_interrupted);
/* Raises what run_quietly gave: R's interrupt, or the error. Does not return. */
void raise_run(inlay_error **error, int is_interrupted);

/* handles.c: pointers of the engine as R's external pointers. */
inlay_database *database_of(SEXP handle);
inlay_connection *connection_of(SEXP handle);
inlay_statement *statement_of(SEXP handle);
inlay_result *result_of(SEXP handle);
SEXP text_or_na(const char *text);

/* fill.c: values of an array of the engine as R has them. */
typedef enum {
  AS_LOGICAL,   /* logical */
  AS_INTEGER,   /* integer */
  AS_FACTOR,    /* integer codes from 1 */
  AS_DOUBLE,    /* double: the number, or a DECIMAL's */
  AS_INTEGER64, /* the bits of a BIGINT in a double */
  AS_DATE,      /* double: days since 1970 */
  AS_MOMENT,    /* double: seconds since 1970 */
  AS_SECONDS,   /* double: a time of day, or the length of an interval */
  AS_TEXT,      /* character */
  AS_BLOB,      /* list of raw */
  AS_NESTED     /* list or data frame */
} form;

int row_is_null(const inlay_array *array, size_t row);
void fill_int(const inlay_array *array, form form, size_t from, size_t count, int *out);
void fill_double(const inlay_array *array, form form, size_t from, size_t count, double *out);
SEXP text_at(const inlay_array *array, size_t row);
SEXP blob_at(const inlay_array *array, size_t row);
/* Whether each value of the array is a text that text_at makes. */
int has_texts(const inlay_array *array);

/* forms.c: which form a type has in R, and its attributes. */
typedef struct {
  int bigint;       /* 0 integer64, 1 integer, 2 numeric, 3 character */
  const char *zone; /* of POSIXct; "" is R's own */
} wishes;

wishes wishes_of(SEXP bigint, SEXP zone);
form form_of(inlay_type_id type, const wishes *wishes);
SEXPTYPE vector_of(form form);
/* Classes and other attributes of a vector. Nothing is allocated for those without. */
void dress(SEXP vector, form form, const inlay_type *type, const wishes *wishes);
/* Makes a list a data frame of so many rows. */
void make_frame(SEXP list, R_xlen_t rows);

/* vectors.c: columns as ALTREP vectors. */
void vectors_init(DllInfo *dll);
SEXP column_vector(SEXP connection, inlay_result *result, size_t column, form form, R_xlen_t from, R_xlen_t count);
/* Finds the columns of a result that R may read where they are; on any thread. */
inlay_status vectors_find(inlay_result *result, inlay_error **error);
/* Has vectors of a frame point to what was found, so that a pointer is there for who looks for one. */
void vectors_load(SEXP frame);
/* Collects garbage where the engine holds much: R does not know how large its vectors are. */
void vectors_collect(SEXP database);
/* Has all vectors of a connection let go of it, so that its file can be closed. */
void vectors_detach(uint64_t session);

/* nested.c: lists, structs, maps and unions. */
SEXP nested_column(inlay_result *result, size_t column, const inlay_type *type, const wishes *wishes, R_xlen_t from, R_xlen_t count);

/* Rows [from, from + count) of a chunk as vectors of R's own, in a list of the types' names; types is one for each column. */
SEXP chunk_values(inlay_chunk *chunk, inlay_type *const *types, const wishes *wishes, size_t from, size_t count);

/* A vector of a type without values. */
SEXP empty_of(const inlay_type *type, const wishes *wishes);

/* frames.c: data frames as streams of Arrow. */
void frame_stream(SEXP frame, struct ArrowArrayStream *stream);
/* Lets go of R's vectors that the engine has no use for any more. */
void frames_drain(void);

#endif
