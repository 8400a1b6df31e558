/* Rows as a stream of Arrow's C interface, in the form in which the packages nanoarrow and arrow hand it on: an external pointer
 * of class nanoarrow_array_stream. */
#include "inlay_r.h"
#include <stdlib.h>

static void free_stream(SEXP handle) {
  struct ArrowArrayStream *it = R_ExternalPtrAddr(handle);
  if (it == NULL) return;
  R_ClearExternalPtr(handle);
  if (it->release != NULL) it->release(it);
  free(it);
}

/* The rows of a result, which has none afterwards. */
SEXP arrow_stream(SEXP handle) {
  inlay_error *error = NULL;
  inlay_result *result = result_of(handle);
  SEXP keeper = PROTECT(R_MakeExternalPtr(NULL, R_NilValue, R_NilValue));
  struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
  if (stream == NULL) Rf_error("out of memory");
  R_SetExternalPtrAddr(keeper, stream);
  R_RegisterCFinalizerEx(keeper, free_stream, FALSE);
  if (inlay_result_arrow_stream(result, stream, &error) != INLAY_OK) raise_error(&error);
  Rf_setAttrib(keeper, R_ClassSymbol, PROTECT(Rf_mkString("nanoarrow_array_stream")));
  UNPROTECT(2);
  return keeper;
}

/* Makes the rows of a stream a table; the stream is read. It may be one that enters R, so it is read on R's main thread. */
SEXP register_stream(SEXP connection, SEXP name, SEXP handle) {
  inlay_error *error = NULL;
  struct ArrowArrayStream *stream = TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL;
  if (stream == NULL || stream->release == NULL) Rf_error("the stream was read already");
  if (inlay_register_arrow(connection_of(connection), CHAR(STRING_ELT(name, 0)), stream, &error) != INLAY_OK) raise_error(&error);
  return R_NilValue;
}
