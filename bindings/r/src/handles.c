/* Databases, connections, statements and results behind external pointers. */
#include "inlay_r.h"
#include <stdlib.h>
#include <string.h>

static void *open_pointer(SEXP handle, const char *closed) {
  void *pointer = R_ExternalPtrAddr(handle);
  if (pointer == NULL) Rf_error("%s", closed);
  return pointer;
}

inlay_database *database_of(SEXP handle) { return open_pointer(handle, "the database is closed"); }

inlay_connection *connection_of(SEXP handle) {
  inlay_connection *it = open_pointer(handle, "the connection is closed");
  if (is_busy(it)) Rf_error("the connection runs the statement that called this function; open another connection for queries inside of it");
  return it;
}

inlay_statement *statement_of(SEXP handle) { return open_pointer(handle, "the result is cleared"); }

inlay_result *result_of(SEXP handle) { return open_pointer(handle, "the result is cleared"); }

static void *taken(SEXP handle) {
  void *pointer = R_ExternalPtrAddr(handle);
  R_ClearExternalPtr(handle);
  return pointer;
}

static void free_database(SEXP handle) {
  inlay_database *it = taken(handle);
  inlay_close(&it);
}

static void free_connection(SEXP handle) {
  inlay_connection *it = taken(handle);
  inlay_disconnect(&it);
}

static void free_statement(SEXP handle) {
  inlay_statement *it = taken(handle);
  inlay_statement_free(&it);
}

static void free_owned(SEXP handle);

static void free_result(SEXP handle) {
  SEXP owned = R_ExternalPtrProtected(handle);
  if (TYPEOF(owned) == EXTPTRSXP) free_owned(owned);
  inlay_result *it = taken(handle);
  inlay_result_release(&it);
}

static SEXP handle_of(void *pointer, R_CFinalizer_t free) {
  SEXP handle = PROTECT(R_MakeExternalPtr(pointer, R_NilValue, R_NilValue));
  R_RegisterCFinalizerEx(handle, free, FALSE);
  UNPROTECT(1);
  return handle;
}

SEXP is_open(SEXP handle) { return Rf_ScalarLogical(TYPEOF(handle) == EXTPTRSXP && R_ExternalPtrAddr(handle) != NULL); }

/* settings: a character vector with names. */
SEXP open_database(SEXP path, SEXP settings) {
  inlay_error *error = NULL;
  inlay_config *config = NULL;
  inlay_database *database = NULL;
  SEXP names = Rf_getAttrib(settings, R_NamesSymbol);
  SEXP handle = PROTECT(handle_of(NULL, free_database));
  inlay_status status = inlay_config_new(&config, &error);
  for (R_xlen_t i = 0; i < XLENGTH(settings) && status == INLAY_OK; i++)
    status = inlay_config_set(config, CHAR(STRING_ELT(names, i)), CHAR(STRING_ELT(settings, i)), &error);
  if (status == INLAY_OK) status = inlay_open(CHAR(STRING_ELT(path, 0)), config, &database, &error);
  inlay_config_free(&config);
  if (status != INLAY_OK) raise_error(&error);
  R_SetExternalPtrAddr(handle, database);
  UNPROTECT(1);
  return handle;
}

SEXP connect_database(SEXP database) {
  inlay_error *error = NULL;
  inlay_connection *connection = NULL;
  SEXP handle = PROTECT(handle_of(NULL, free_connection));
  R_SetExternalPtrProtected(handle, database);
  if (inlay_connect(database_of(database), &connection, &error) != INLAY_OK) raise_error(&error);
  R_SetExternalPtrAddr(handle, connection);
  UNPROTECT(1);
  return handle;
}

/* is_file: whether vectors have to let go of the connection, so that its file is closed. */
SEXP disconnect(SEXP connection, SEXP database, SEXP is_file) {
  frames_drain();
  if (R_ExternalPtrAddr(connection) != NULL) {
    inlay_connection *it = connection_of(connection);
    if (Rf_asLogical(is_file)) vectors_detach(inlay_connection_id(it));
  }
  free_connection(connection);
  free_database(database);
  return R_NilValue;
}

SEXP free_handle(SEXP handle, SEXP kind) {
  if (TYPEOF(handle) != EXTPTRSXP) return R_NilValue;
  if (strcmp(CHAR(STRING_ELT(kind, 0)), "statement") == 0) free_statement(handle);
  else free_result(handle);
  return R_NilValue;
}

SEXP interrupt_connection(SEXP connection) {
  inlay_interrupt(open_pointer(connection, "the connection is closed"));
  return R_NilValue;
}

SEXP in_transaction(SEXP connection) { return Rf_ScalarLogical(inlay_in_transaction(connection_of(connection))); }

SEXP set_setting(SEXP connection, SEXP name, SEXP value) {
  inlay_error *error = NULL;
  if (inlay_set(connection_of(connection), CHAR(STRING_ELT(name, 0)), CHAR(STRING_ELT(value, 0)), &error) != INLAY_OK) raise_error(&error);
  return R_NilValue;
}

SEXP memory_used(SEXP database) { return Rf_ScalarReal((double)inlay_database_memory_used(database_of(database))); }

SEXP library_version(void) { return Rf_mkString(inlay_version()); }

/* ---- Statements ---- */

SEXP prepare(SEXP connection, SEXP sql) {
  inlay_error *error = NULL;
  inlay_statement *statement = NULL;
  SEXP handle = PROTECT(handle_of(NULL, free_statement));
  if (inlay_prepare(connection_of(connection), CHAR(STRING_ELT(sql, 0)), &statement, &error) != INLAY_OK) raise_error(&error);
  R_SetExternalPtrAddr(handle, statement);
  UNPROTECT(1);
  return handle;
}

/* The names of the parameters: "" for those by position. */
SEXP parameter_names(SEXP handle) {
  inlay_statement *statement = statement_of(handle);
  const size_t count = inlay_parameter_count(statement);
  SEXP names = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
  for (size_t i = 0; i < count; i++) {
    const char *name = inlay_parameter_name(statement, i + 1);
    SET_STRING_ELT(names, (R_xlen_t)i, Rf_mkCharCE(name == NULL ? "" : name, CE_UTF8));
  }
  UNPROTECT(1);
  return names;
}

typedef struct {
  inlay_connection *connection;
  inlay_statement *statement;
  const char *sql;
  int is_whole; /* whether all rows are computed */
  inlay_result *result;
  size_t rows;
  owned_columns *owned;
} execution;

/* Columns of a result that are R's alone, until they are vectors: behind what the result's handle protects. */
static void free_owned(SEXP handle) {
  owned_columns *it = taken(handle);
  if (it == NULL) return;
  vectors_give_back(it);
  free(it);
}

static SEXP new_owned(void) {
  owned_columns *it = calloc(1, sizeof *it);
  if (it == NULL) Rf_error("out of memory");
  return handle_of(it, free_owned);
}

static owned_columns *owned_of(SEXP result) {
  SEXP handle = R_ExternalPtrProtected(result);
  return TYPEOF(handle) == EXTPTRSXP ? R_ExternalPtrAddr(handle) : NULL;
}

static inlay_status count_work(void *data, inlay_error **error) {
  execution *it = data;
  inlay_status status = inlay_result_row_count(it->result, &it->rows, error);
  return status == INLAY_OK ? vectors_take(it->result, it->owned, error) : status;
}

static inlay_status execute_work(void *data, inlay_error **error) {
  execution *it = data;
  inlay_status status = it->statement != NULL ? inlay_statement_query(it->statement, &it->result, error)
                                              : inlay_query(it->connection, it->sql, &it->result, error);
  if (status != INLAY_OK || !it->is_whole || inlay_result_get_kind(it->result) != INLAY_RESULT_ROWS) return status;
  status = count_work(it, error);
  if (status != INLAY_OK) inlay_result_release(&it->result);
  return status;
}

/* Runs a statement that was prepared, or the statements of a text. Gives the handle of the result, its kind, how many rows were
 * changed, and how many there are: NA where they are not computed yet. */
SEXP execute(SEXP connection, SEXP statement, SEXP sql, SEXP is_whole) {
  static const char *names[] = {"handle", "kind", "changed", "rows", "from", ""};
  frames_drain();
  vectors_collect(R_ExternalPtrProtected(connection));
  execution it = {.connection = connection_of(connection), .is_whole = Rf_asLogical(is_whole)};
  if (statement != R_NilValue) it.statement = statement_of(statement);
  else it.sql = CHAR(STRING_ELT(sql, 0));
  SEXP answer = PROTECT(Rf_mkNamed(VECSXP, names));
  SEXP handle = handle_of(NULL, free_result);
  SET_VECTOR_ELT(answer, 0, handle);
  R_SetExternalPtrProtected(handle, new_owned());
  it.owned = owned_of(handle);
  inlay_error *error = NULL;
  int is_interrupted = 0;
  inlay_status status = run_quietly(it.connection, execute_work, &it, &error, &is_interrupted);
  if (status == INLAY_ERROR_OUT_OF_MEMORY && it.statement != NULL && !inlay_in_transaction(it.connection)) {
    /* One statement by itself did nothing: once more, without what only waits to be collected. */
    inlay_error_free(&error);
    vectors_give_back(it.owned);
    R_gc();
    status = run_quietly(it.connection, execute_work, &it, &error, &is_interrupted);
  }
  if (status != INLAY_OK) raise_run(&error, is_interrupted);
  R_SetExternalPtrAddr(handle, it.result);
  const inlay_result_kind kind = inlay_result_get_kind(it.result);
  const int is_counted = it.is_whole && kind == INLAY_RESULT_ROWS;
  SET_VECTOR_ELT(answer, 1, Rf_ScalarInteger((int)kind));
  SET_VECTOR_ELT(answer, 2, Rf_ScalarReal((double)inlay_result_changed_rows(it.result)));
  SET_VECTOR_ELT(answer, 3, Rf_ScalarReal(is_counted ? (double)it.rows : NA_REAL));
  SET_VECTOR_ELT(answer, 4, Rf_ScalarReal(0));
  UNPROTECT(1);
  return answer;
}

/* Computes all rows; gives how many there are. */
SEXP result_rows(SEXP connection, SEXP handle) {
  execution it = {.result = result_of(handle), .owned = owned_of(handle)};
  vectors_give_back(it.owned);
  run(connection_of(connection), count_work, &it);
  return Rf_ScalarReal((double)it.rows);
}

/* ---- Columns ---- */

static void type_finalizer(SEXP handle) {
  inlay_type *type = taken(handle);
  inlay_type_free(&type);
}

/* The full type of a column, kept by a handle that is protected by the caller. */
static inlay_type *type_of(inlay_result *result, size_t column, SEXP *handle) {
  inlay_error *error = NULL;
  inlay_type *type = NULL;
  *handle = PROTECT(handle_of(NULL, type_finalizer));
  if (inlay_result_column_full_type(result, column, &type, &error) != INLAY_OK) raise_error(&error);
  R_SetExternalPtrAddr(*handle, type);
  UNPROTECT(1);
  return type;
}

static SEXP column_names(inlay_result *result) {
  const size_t count = inlay_result_column_count(result);
  SEXP names = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
  for (size_t i = 0; i < count; i++) SET_STRING_ELT(names, (R_xlen_t)i, Rf_mkCharCE(inlay_result_column_name(result, i), CE_UTF8));
  UNPROTECT(1);
  return names;
}

/* SQL's types of the columns, with their names. */
SEXP column_types(SEXP handle) {
  inlay_result *result = result_of(handle);
  const size_t count = inlay_result_column_count(result);
  SEXP types = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
  for (size_t i = 0; i < count; i++) {
    SEXP keeper;
    const inlay_type *type = type_of(result, i, &keeper);
    PROTECT(keeper);
    SET_STRING_ELT(types, (R_xlen_t)i, Rf_mkCharCE(inlay_type_text(type), CE_UTF8));
    UNPROTECT(1);
  }
  Rf_setAttrib(types, R_NamesSymbol, PROTECT(column_names(result)));
  UNPROTECT(2);
  return types;
}

static inlay_status find_work(void *data, inlay_error **error) { return vectors_find(data, error); }

/* The columns of all rows that are R's alone. NULL for some of the rows, which are windows of what the result keeps. */
static owned_columns *whole_of(SEXP connection, SEXP handle, R_xlen_t from, R_xlen_t count) {
  owned_columns *owned = owned_of(handle);
  if (owned == NULL || !owned->is_any) return NULL;
  for (size_t i = 0; i < owned->count; i++)
    if (owned->columns[i].buffer != NULL && from == 0 && inlay_buffer_count(owned->columns[i].buffer) == (size_t)count) return owned;
  vectors_give_back(owned);
  if (count > 0) run(connection_of(connection), find_work, result_of(handle));
  return NULL;
}

/* Rows [from, from + count) as a data frame. */
SEXP fetch(SEXP connection, SEXP handle, SEXP from, SEXP count, SEXP bigint, SEXP zone) {
  inlay_result *result = result_of(handle);
  const wishes wishes = wishes_of(bigint, zone);
  const size_t columns = inlay_result_column_count(result);
  const R_xlen_t first = (R_xlen_t)Rf_asReal(from), rows = (R_xlen_t)Rf_asReal(count);
  if (rows > INT_MAX) Rf_error("%.0f rows are more than a data frame can have; fetch them in parts, or aggregate in SQL", (double)rows);
  owned_columns *owned = whole_of(connection, handle, first, rows);
  SEXP frame = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)columns));
  for (size_t i = 0; i < columns; i++) {
    SEXP keeper;
    const inlay_type *type = type_of(result, i, &keeper);
    PROTECT(keeper);
    const form form = form_of(inlay_type_get_id(type), &wishes);
    SEXP vector = vector_of(form) == VECSXP
                      ? nested_column(result, i, type, &wishes, first, rows)
                      : column_vector(connection, result, i, form, first, rows, vectors_owned(owned, result, i, form));
    SET_VECTOR_ELT(frame, (R_xlen_t)i, vector);
    if (vector_of(form) != VECSXP) dress(vector, form, type, &wishes);
    UNPROTECT(1);
  }
  vectors_load(frame);
  Rf_setAttrib(frame, R_NamesSymbol, PROTECT(column_names(result)));
  make_frame(frame, rows);
  UNPROTECT(2);
  return frame;
}

/* The columns without rows, and without computing any. */
SEXP empty_frame(SEXP handle, SEXP bigint, SEXP zone) {
  inlay_result *result = result_of(handle);
  const wishes wishes = wishes_of(bigint, zone);
  const size_t columns = inlay_result_column_count(result);
  SEXP frame = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)columns));
  for (size_t i = 0; i < columns; i++) {
    SEXP keeper;
    const inlay_type *type = type_of(result, i, &keeper);
    PROTECT(keeper);
    SET_VECTOR_ELT(frame, (R_xlen_t)i, empty_of(type, &wishes));
    UNPROTECT(1);
  }
  Rf_setAttrib(frame, R_NamesSymbol, PROTECT(column_names(result)));
  make_frame(frame, 0);
  UNPROTECT(2);
  return frame;
}
