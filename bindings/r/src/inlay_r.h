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

/* Whether the statement of the connection waits for the function in R that runs now. */
int is_busy(const inlay_connection *connection);
/* The user has interrupted a function in R: the statement that called it ends as if interrupted itself. */
void interrupt_run(void);

/* serve.c: work of other threads on R's main thread. */
typedef void (*main_work)(void *data);
void serve_init(void);
int is_main_thread(void);
/* Whether the main thread is in such work. */
int is_serving(void);
/* Has the main thread do something, which must not jump out. 0 if it was not done, as the statement of the call was interrupted. */
int on_main(main_work work, void *data, inlay_call *call);
/* Sets a flag that serve_until waits for. */
void serve_wake(int *flag);
/* Does what other threads ask for until the flag is set, but no longer than so many milliseconds, or one piece of work. The flag. */
int serve_until(const int *flag, int milliseconds);

/* calls.c: functions in R that the engine calls. */

/* plain.c: R's plain vectors into what functions of the engine write to. */
typedef struct {
  const void *data;   /* of R's memory */
  inlay_bytes *texts; /* of texts and bytes; NULL for NULL */
} plain_values;

#define SAID 256
void plain_begin(plain_values *it, SEXP values);
void plain_end(plain_values *it);
/* Writes some of them; on any thread. If it returns 0, `said` has SAID bytes that say why. */
int plain_write(const plain_values *it, size_t from, size_t count, inlay_output *output, char *said);
/* The form that R has to give values of a type in. */
const char *form_name(inlay_type_id type);

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
/* The same for what has no levels. */
void dress_plain(SEXP vector, form form, inlay_type_id type, const wishes *wishes);
/* Makes a list a data frame of so many rows. */
void make_frame(SEXP list, R_xlen_t rows);

/* vectors.c: columns as ALTREP vectors. */
void vectors_init(DllInfo *dll);
/* A column that is R's alone. */
typedef struct {
  inlay_buffer *buffer; /* NULL if it is none, or was made a vector */
  int may_have_null;
} owned_column;
typedef struct {
  owned_column *columns;
  size_t count;
  int is_any; /* whether there were some */
} owned_columns;
/* Takes those that R may read as they lie, for vectors of all rows; on any thread. */
inlay_status vectors_take(inlay_result *result, owned_columns *to, inlay_error **error);
void vectors_give_back(owned_columns *it);
/* The one of a column, if there is one in the form. */
owned_column *vectors_owned(owned_columns *it, inlay_result *result, size_t index, form form);
/* owned may be NULL. */
SEXP column_vector(SEXP connection, inlay_result *result, size_t column, form form, R_xlen_t from, R_xlen_t count, owned_column *owned);
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

/* The first values of an array as a vector of R's own. */
SEXP array_values(const inlay_array *array, const wishes *wishes, size_t count);

/* A vector of a type without values. */
SEXP empty_of(const inlay_type *type, const wishes *wishes);

/* frames.c: data frames as streams of Arrow. */
void frame_stream(SEXP frame, struct ArrowArrayStream *stream);
/* Protects a value until it is let go of, which any thread may do. */
typedef struct released released;
released *keep(SEXP value);
void let_go(released *it);
/* Lets go of R's vectors that the engine has no use for any more. */
void frames_drain(void);

#endif
