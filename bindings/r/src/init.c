/* What R calls. */
#include "inlay_r.h"
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>

SEXP is_open(SEXP);
SEXP open_database(SEXP, SEXP);
SEXP connect_database(SEXP);
SEXP disconnect(SEXP, SEXP, SEXP);
SEXP free_handle(SEXP, SEXP);
SEXP interrupt_connection(SEXP);
SEXP in_transaction(SEXP);
SEXP set_setting(SEXP, SEXP, SEXP);
SEXP memory_used(SEXP);
SEXP library_version(void);
SEXP prepare(SEXP, SEXP);
SEXP parameter_names(SEXP);
SEXP bind_row(SEXP, SEXP, SEXP);
SEXP execute_rows(SEXP, SEXP, SEXP);
SEXP gives_rows(SEXP);
SEXP execute(SEXP, SEXP, SEXP, SEXP);
SEXP result_rows(SEXP, SEXP);
SEXP column_types(SEXP);
SEXP empty_frame(SEXP, SEXP, SEXP);
SEXP fetch(SEXP, SEXP, SEXP, SEXP, SEXP, SEXP);
SEXP begin_pieces(SEXP);
SEXP next_piece(SEXP, SEXP, SEXP, SEXP, SEXP);
SEXP is_at_end(SEXP, SEXP);
SEXP end_pieces(SEXP);
SEXP arrow_stream(SEXP, SEXP);
SEXP frame_arrow(SEXP);
SEXP register_stream(SEXP, SEXP, SEXP);
SEXP register_frame(SEXP, SEXP, SEXP);
SEXP unregister_frame(SEXP, SEXP);
SEXP append_frame(SEXP, SEXP, SEXP, SEXP);
SEXP create_function(SEXP, SEXP, SEXP, SEXP, SEXP, SEXP, SEXP);
SEXP remove_function(SEXP, SEXP);
SEXP set_language(SEXP, SEXP);
SEXP request_arguments(SEXP);
SEXP request_rows(SEXP);
SEXP request_ends(SEXP);
SEXP request_form(SEXP);
SEXP type_form(SEXP);
SEXP request_give(SEXP, SEXP);
SEXP request_give_rows(SEXP, SEXP, SEXP);
SEXP request_fail(SEXP, SEXP, SEXP);
SEXP request_definition(SEXP);
SEXP request_define(SEXP, SEXP);

#define ENTRY(name, count) {#name, (DL_FUNC)&name, count}

static const R_CallMethodDef entries[] = {
    ENTRY(is_open, 1),          ENTRY(open_database, 2),   ENTRY(connect_database, 1), ENTRY(disconnect, 3),
    ENTRY(free_handle, 2),      ENTRY(interrupt_connection, 1), ENTRY(in_transaction, 1), ENTRY(set_setting, 3),
    ENTRY(memory_used, 1),      ENTRY(library_version, 0), ENTRY(prepare, 2),          ENTRY(parameter_names, 1),
    ENTRY(bind_row, 3),         ENTRY(execute, 4),         ENTRY(result_rows, 2),
    ENTRY(column_types, 1),     ENTRY(fetch, 6), ENTRY(empty_frame, 3),           ENTRY(register_frame, 3),   ENTRY(unregister_frame, 2),
    ENTRY(begin_pieces, 1),     ENTRY(next_piece, 5),      ENTRY(is_at_end, 2),        ENTRY(end_pieces, 1),
    ENTRY(arrow_stream, 2),     ENTRY(frame_arrow, 1),     ENTRY(register_stream, 3),
    ENTRY(create_function, 7),  ENTRY(remove_function, 2), ENTRY(set_language, 2),     ENTRY(request_arguments, 1),
    ENTRY(request_rows, 1),     ENTRY(request_ends, 1),    ENTRY(request_form, 1), ENTRY(type_form, 1),     ENTRY(request_give, 2),
    ENTRY(request_give_rows, 3), ENTRY(request_fail, 3),   ENTRY(request_definition, 1), ENTRY(request_define, 2),
    ENTRY(append_frame, 4),     ENTRY(execute_rows, 3),    ENTRY(gives_rows, 1),     {NULL, NULL, 0},
};

void attribute_visible R_init_inlay(DllInfo *dll) {
  R_registerRoutines(dll, NULL, entries, NULL, NULL);
  R_useDynamicSymbols(dll, FALSE);
  R_forceSymbols(dll, TRUE);
  vectors_init(dll);
  serve_init();
}
