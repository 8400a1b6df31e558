/* Rows as a stream of Arrow's C interface, in the form in which the packages nanoarrow and arrow hand it on: an external pointer
 * of class nanoarrow_array_stream.
 *
 * Who reads a stream in R does so on R's main thread: there the engine's work goes through run(), as of a query, so that Ctrl-C ends it and
 * functions in R are served. */
#include "inlay_r.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_stream(SEXP handle) {
  struct ArrowArrayStream *it = R_ExternalPtrAddr(handle);
  if (it == NULL) return;
  R_ClearExternalPtr(handle);
  if (it->release != NULL) it->release(it);
  free(it);
}

/* The engine's stream, and the connection that it is interrupted by. */
typedef struct {
  struct ArrowArrayStream inner;
  SEXP connection; /* the handle, protected by `kept` */
  released *kept;
  struct ArrowArray *out;
  int code;
  char said[SAID];
} served;

static int served_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema) {
  served *it = stream->private_data;
  it->said[0] = 0;
  return it->inner.get_schema(&it->inner, schema);
}

static inlay_status next_work(void *data, inlay_error **error) {
  served *it = data;
  (void)error;
  it->code = it->inner.get_next(&it->inner, it->out);
  return INLAY_OK;
}

static int served_next(struct ArrowArrayStream *stream, struct ArrowArray *array) {
  served *it = stream->private_data;
  inlay_error *error = NULL;
  int is_interrupted = 0;
  it->out = array;
  it->said[0] = 0;
  if (!is_main_thread()) {
    next_work(it, &error);
    return it->code;
  }
  inlay_connection *connection = R_ExternalPtrAddr(it->connection);
  if (connection != NULL && is_busy(connection)) {
    snprintf(it->said, SAID, "the connection of the stream runs the statement that called this function");
    return EINVAL;
  }
  run_quietly(connection, next_work, it, &error, &is_interrupted);
  inlay_error_free(&error);
  if (is_interrupted && it->code != 0) snprintf(it->said, SAID, "the query was interrupted");
  return it->code;
}

static const char *served_error(struct ArrowArrayStream *stream) {
  served *it = stream->private_data;
  return it->said[0] != 0 ? it->said : it->inner.get_last_error(&it->inner);
}

static void served_release(struct ArrowArrayStream *stream) {
  served *it = stream->private_data;
  if (it->inner.release != NULL) it->inner.release(&it->inner);
  if (it->kept != NULL) let_go(it->kept);
  free(it);
  stream->release = NULL;
}

/* The rows of a result, which has none afterwards. */
SEXP arrow_stream(SEXP connection, SEXP handle) {
  inlay_error *error = NULL;
  inlay_result *result = result_of(handle);
  SEXP keeper = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
  served *it = calloc(1, sizeof *it);
  if (stream == NULL || it == NULL) {
    free(stream);
    free(it);
    Rf_error("out of memory");
  }
  stream->private_data = it;
  stream->get_schema = served_schema;
  stream->get_next = served_next;
  stream->get_last_error = served_error;
  stream->release = served_release;
  it->connection = connection;
  R_SetExternalPtrAddr(keeper, stream);
  R_RegisterCFinalizerEx(keeper, free_stream, FALSE);
  it->kept = keep(connection);
  if (inlay_result_arrow_stream(result, &it->inner, &error) != INLAY_OK) raise_error(&error);
  Rf_setAttrib(keeper, R_ClassSymbol, PROTECT(Rf_mkString("nanoarrow_array_stream")));
  UNPROTECT(2);
  return keeper;
}

static struct ArrowArrayStream *stream_of(SEXP handle) {
  struct ArrowArrayStream *stream = TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL;
  if (stream == NULL || stream->release == NULL) Rf_error("the stream was read already");
  return stream;
}

/* Makes the rows of a stream a table; the stream is read. It may be one that enters R, so it is read on R's main thread. */
SEXP register_stream(SEXP connection, SEXP name, SEXP handle) {
  inlay_error *error = NULL;
  struct ArrowArrayStream *stream = stream_of(handle);
  if (inlay_register_arrow(connection_of(connection), CHAR(STRING_ELT(name, 0)), stream, &error) != INLAY_OK) raise_error(&error);
  return R_NilValue;
}

/* A data frame as a stream; plain as R/register.R makes it. */
SEXP frame_arrow(SEXP values) {
  SEXP keeper = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
  if (stream == NULL) Rf_error("out of memory");
  R_SetExternalPtrAddr(keeper, stream);
  R_RegisterCFinalizerEx(keeper, free_stream, FALSE);
  frame_stream(values, stream);
  Rf_setAttrib(keeper, R_ClassSymbol, PROTECT(Rf_mkString("nanoarrow_array_stream")));
  UNPROTECT(2);
  return keeper;
}
