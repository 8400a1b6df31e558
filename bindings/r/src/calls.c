/* Functions in R, which the engine calls with whole arrays: R works on its main thread (serve.c), and values go both ways by copies.
 *
 * A call is a request: R/functions.R is given a pointer to it, reads the arguments, and gives the values or says why not. All of that is
 * within R's own tryCatch, so that nothing jumps over the engine. */
#include "inlay_r.h"
#include <stdlib.h>
#include <string.h>

/* A function that is known to the engine. */
typedef struct {
  SEXP spoken; /* what R/functions.R knows of it, protected by `kept` */
  struct released *kept;
} function;

/* Rows of a table function that are written, part by part. */
typedef struct {
  plain_values *columns;
  size_t column_count;
  size_t row_count, next;
  struct released *kept;
} rows;

typedef struct {
  const function *function;
  inlay_call *call;
  const inlay_array *arguments;
  size_t argument_count, row_count;
  const uint32_t *ends;
  size_t group_count;
  inlay_output *output;
  rows *rows;
  inlay_definition *definition;
  function **made;
  const char *entry; /* what of R/functions.R is called */
  int is_given;
} request;

static request *request_of(SEXP handle) {
  request *it = R_ExternalPtrAddr(handle);
  if (it == NULL) Rf_error("the call has ended");
  return it;
}

static void fail(request *it, const char *message) {
  if (it->definition != NULL) inlay_definition_fail(it->definition, message);
  else inlay_call_fail(it->call, message);
  it->is_given = 1;
}

/* Calls serve(request, entry, function) in R. */
static void enter_r(void *data) {
  request *it = data;
  SEXP handle = PROTECT(R_MakeExternalPtr(it, R_NilValue, R_NilValue));
  SEXP package = PROTECT(Rf_mkString("inlay"));
  SEXP space = PROTECT(R_FindNamespace(package));
  SEXP entry = PROTECT(Rf_mkString(it->entry));
  SEXP call = PROTECT(Rf_lang4(Rf_install("serve"), handle, entry, it->function->spoken));
  Rf_eval(call, space);
  R_ClearExternalPtr(handle);
  UNPROTECT(5);
}

static void work(void *data) {
  request *it = data;
  frames_drain();
  if (!R_ToplevelExec(enter_r, it)) fail(it, "R ended the call");
  else if (!it->is_given) fail(it, "R gave nothing");
}

static void call_r(request *it) {
  if (!on_main(work, it, it->call)) fail(it, "interrupted");
}

/* ---- What R asks of a request ---- */

/* The arguments, each a vector. */
SEXP request_arguments(SEXP handle) {
  const request *it = request_of(handle);
  SEXP bigint = VECTOR_ELT(it->function->spoken, 1), zone = VECTOR_ELT(it->function->spoken, 2);
  const wishes wishes = wishes_of(bigint, zone);
  SEXP list = PROTECT(Rf_allocVector(VECSXP, (R_xlen_t)it->argument_count));
  for (size_t i = 0; i < it->argument_count; i++)
    SET_VECTOR_ELT(list, (R_xlen_t)i, array_values(&it->arguments[i], &wishes, it->row_count));
  UNPROTECT(1);
  return list;
}

SEXP request_rows(SEXP handle) { return Rf_ScalarReal((double)request_of(handle)->row_count); }

/* Where each group ends, counted from 1. */
SEXP request_ends(SEXP handle) {
  const request *it = request_of(handle);
  SEXP ends = PROTECT(Rf_allocVector(REALSXP, (R_xlen_t)it->group_count));
  for (size_t i = 0; i < it->group_count; i++) REAL(ends)[i] = it->ends[i];
  UNPROTECT(1);
  return ends;
}

/* The form of the values that are wanted. */
SEXP request_form(SEXP handle) { return Rf_mkString(form_name(inlay_output_type(request_of(handle)->output))); }

/* The values, in the form that is wanted. */
SEXP request_give(SEXP handle, SEXP values) {
  request *it = request_of(handle);
  char said[SAID];
  plain_values plain;
  if ((size_t)XLENGTH(values) != inlay_output_row_count(it->output)) Rf_error("the call has other rows");
  plain_begin(&plain, values);
  const int is_written = plain_write(&plain, 0, (size_t)XLENGTH(values), it->output, said);
  plain_end(&plain);
  if (!is_written) Rf_error("%s", said);
  it->is_given = 1;
  return R_NilValue;
}

/* The columns of a table function, in the forms that are wanted. */
SEXP request_give_rows(SEXP handle, SEXP columns, SEXP count) {
  request *it = request_of(handle);
  rows *made = it->rows;
  made->kept = keep(columns);
  made->row_count = (size_t)Rf_asReal(count);
  made->columns = calloc((size_t)XLENGTH(columns), sizeof *made->columns);
  if (made->columns == NULL) Rf_error("out of memory");
  for (R_xlen_t i = 0; i < XLENGTH(columns); i++) {
    plain_begin(&made->columns[i], VECTOR_ELT(columns, i));
    made->column_count++;
  }
  it->is_given = 1;
  return R_NilValue;
}

SEXP request_fail(SEXP handle, SEXP message, SEXP is_interrupt) {
  if (Rf_asLogical(is_interrupt)) interrupt_run();
  fail(request_of(handle), CHAR(STRING_ELT(message, 0)));
  return R_NilValue;
}

/* ---- What the engine calls ---- */

static void call_scalar(inlay_call *call, const inlay_array *arguments, size_t argument_count, size_t row_count, inlay_output *output) {
  request it = {.function = inlay_call_user_data(call), .call = call, .arguments = arguments, .argument_count = argument_count,
                .row_count = row_count, .output = output, .entry = "scalar"};
  call_r(&it);
}

static void call_aggregate(inlay_call *call, const inlay_array *arguments, size_t argument_count, const uint32_t *ends, size_t group_count,
                           inlay_output *output) {
  request it = {.function = inlay_call_user_data(call), .call = call, .arguments = arguments, .argument_count = argument_count,
                .row_count = group_count == 0 ? 0 : ends[group_count - 1], .ends = ends, .group_count = group_count, .output = output,
                .entry = "aggregate"};
  call_r(&it);
}

static void *begin_rows(inlay_call *call, const inlay_array *arguments, size_t argument_count) {
  rows *made = calloc(1, sizeof *made);
  if (made == NULL) {
    inlay_call_fail(call, "out of memory");
    return NULL;
  }
  request it = {.function = inlay_call_user_data(call), .call = call, .arguments = arguments, .argument_count = argument_count,
                .row_count = 1, .rows = made, .entry = "rows"};
  call_r(&it);
  return made;
}

static size_t next_rows(inlay_call *call, void *state, inlay_output *const *columns, size_t column_count, size_t capacity) {
  rows *it = state;
  if (it == NULL || it->next == it->row_count) return 0;
  const size_t left = it->row_count - it->next, count = left < capacity ? left : capacity;
  char said[SAID];
  for (size_t i = 0; i < column_count; i++) {
    if (plain_write(&it->columns[i], it->next, count, columns[i], said)) continue;
    inlay_call_fail(call, said);
    return 0;
  }
  it->next += count;
  return count;
}

static void end_rows(void *state) {
  rows *it = state;
  if (it == NULL) return;
  for (size_t i = 0; i < it->column_count; i++) plain_end(&it->columns[i]);
  free(it->columns);
  if (it->kept != NULL) let_go(it->kept);
  free(it);
}

static void forget_function(void *user_data) {
  function *it = user_data;
  if (it == NULL) return;
  let_go(it->kept);
  free(it);
}

static function *new_function(SEXP spoken) {
  function *it = calloc(1, sizeof *it);
  if (it == NULL) Rf_error("out of memory");
  it->spoken = spoken;
  it->kept = keep(spoken);
  return it;
}

/* ---- Functions that R makes ---- */

/* The texts of a character vector, until the end of the call from R. */
static const char **texts_of(SEXP values) {
  const char **texts = (const char **)R_alloc((size_t)XLENGTH(values) + 1, sizeof *texts);
  for (R_xlen_t i = 0; i < XLENGTH(values); i++) texts[i] = Rf_translateCharUTF8(STRING_ELT(values, i));
  return texts;
}

/* kind: "scalar", "aggregate" or "table"; returns has one type, or those of the columns, with their names. */
SEXP create_function(SEXP connection, SEXP name, SEXP kind, SEXP arguments, SEXP returns, SEXP flags, SEXP spoken) {
  inlay_error *error = NULL;
  inlay_connection *it = connection_of(connection);
  frames_drain();
  const char *called = Rf_translateCharUTF8(STRING_ELT(name, 0)), *what = CHAR(STRING_ELT(kind, 0));
  const char **types = texts_of(arguments), **given = texts_of(returns);
  const size_t count = (size_t)XLENGTH(arguments);
  const inlay_function_flags how = (inlay_function_flags)Rf_asInteger(flags);
  inlay_status status;
  if (strcmp(what, "table") == 0) {
    const char **names = texts_of(Rf_getAttrib(returns, R_NamesSymbol));
    status = inlay_create_table_function(it, called, types, count, names, given, (size_t)XLENGTH(returns), begin_rows, next_rows, end_rows,
                                         new_function(spoken), forget_function, &error);
  } else if (strcmp(what, "aggregate") == 0) {
    status = inlay_create_aggregate_function(it, called, types, count, given[0], how, call_aggregate, new_function(spoken), forget_function,
                                             &error);
  } else {
    status = inlay_create_scalar_function(it, called, types, count, given[0], how, call_scalar, new_function(spoken), forget_function, &error);
  }
  if (status != INLAY_OK) raise_error(&error);
  return R_NilValue;
}

SEXP remove_function(SEXP connection, SEXP name) {
  inlay_error *error = NULL;
  bool found = false;
  if (inlay_remove_function(connection_of(connection), Rf_translateCharUTF8(STRING_ELT(name, 0)), &found, &error) != INLAY_OK) raise_error(&error);
  frames_drain();
  return Rf_ScalarLogical(found);
}

/* ---- LANGUAGE R ---- */

static SEXP utf8_or_na(const char *text) { return text == NULL ? NA_STRING : Rf_mkCharCE(text, CE_UTF8); }

/* The form that R gives values of a type in; the type is a text of SQL. */
SEXP type_form(SEXP text) {
  inlay_error *error = NULL;
  inlay_type *type = NULL;
  if (inlay_type_parse(Rf_translateCharUTF8(STRING_ELT(text, 0)), &type, &error) != INLAY_OK) raise_error(&error);
  const char *name = form_name(inlay_type_get_id(type));
  inlay_type_free(&type);
  return Rf_mkString(name);
}

/* What is declared: name, body, names of parameters, columns (their types, named by them), and whether it is only looked at. */
SEXP request_definition(SEXP handle) {
  static const char *names[] = {"name", "body", "parameters", "columns", "is_check", ""};
  inlay_definition *it = request_of(handle)->definition;
  SEXP parts = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(parts, 0, Rf_ScalarString(utf8_or_na(inlay_definition_name(it))));
  SET_VECTOR_ELT(parts, 1, Rf_ScalarString(utf8_or_na(inlay_definition_body(it))));
  const size_t count = inlay_definition_parameter_count(it);
  const size_t columns = inlay_definition_column_count(it);
  SET_VECTOR_ELT(parts, 2, Rf_allocVector(STRSXP, (R_xlen_t)count));
  for (size_t i = 0; i < count; i++)
    SET_STRING_ELT(VECTOR_ELT(parts, 2), (R_xlen_t)i, utf8_or_na(inlay_definition_parameter_name(it, i)));
  SEXP types = Rf_allocVector(STRSXP, (R_xlen_t)columns);
  SET_VECTOR_ELT(parts, 3, types);
  SEXP called = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)columns));
  for (size_t i = 0; i < columns; i++) {
    SET_STRING_ELT(called, (R_xlen_t)i, utf8_or_na(inlay_definition_column_name(it, i)));
    SET_STRING_ELT(types, (R_xlen_t)i, utf8_or_na(inlay_definition_column_type(it, i)));
  }
  Rf_setAttrib(types, R_NamesSymbol, called);
  UNPROTECT(1);
  SET_VECTOR_ELT(parts, 4, Rf_ScalarLogical(inlay_definition_is_check(it)));
  UNPROTECT(1);
  return parts;
}

/* The function that the text is; spoken is NULL where that was only looked at. */
SEXP request_define(SEXP handle, SEXP spoken) {
  request *it = request_of(handle);
  inlay_error *error = NULL;
  it->is_given = 1;
  if (spoken == R_NilValue) return R_NilValue;
  inlay_status status;
  switch (inlay_definition_kind(it->definition)) {
    case INLAY_FUNCTION_TABLE:
      status = inlay_definition_table(it->definition, begin_rows, next_rows, end_rows, new_function(spoken), forget_function, &error);
      break;
    case INLAY_FUNCTION_AGGREGATE:
      status = inlay_definition_aggregate(it->definition, call_aggregate, new_function(spoken), forget_function, &error);
      break;
    default: status = inlay_definition_scalar(it->definition, call_scalar, new_function(spoken), forget_function, &error);
  }
  if (status != INLAY_OK) raise_error(&error);
  return R_NilValue;
}

static void define(void *user_data, inlay_definition *definition) {
  request it = {.function = user_data, .definition = definition, .entry = "define"};
  call_r(&it);
}

/* Lets SQL of the database have functions in R. */
SEXP set_language(SEXP connection, SEXP spoken) {
  inlay_error *error = NULL;
  if (inlay_set_language(connection_of(connection), "r", define, new_function(spoken), forget_function, &error) != INLAY_OK) raise_error(&error);
  return R_NilValue;
}
