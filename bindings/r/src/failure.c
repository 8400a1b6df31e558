/* Errors of the engine as conditions of R. */
#include "inlay_r.h"

SEXP text_or_na(const char *text) {
  return Rf_ScalarString(text == NULL ? NA_STRING : Rf_mkCharCE(text, CE_UTF8));
}

static SEXP number_or_na(uint32_t number) { return Rf_ScalarInteger(number == 0 ? NA_INTEGER : (int)number); }

void raise_error(inlay_error **error) {
  static const char *names[] = {"message", "text", "sqlstate", "hint", "detail", "line", "column", "offset", "kind", ""};
  SEXP parts = PROTECT(Rf_mkNamed(VECSXP, names));
  SET_VECTOR_ELT(parts, 0, text_or_na(inlay_error_message(*error)));
  SET_VECTOR_ELT(parts, 1, text_or_na(inlay_error_text(*error)));
  SET_VECTOR_ELT(parts, 2, text_or_na(inlay_error_sqlstate(*error)));
  SET_VECTOR_ELT(parts, 3, text_or_na(inlay_error_hint(*error)));
  SET_VECTOR_ELT(parts, 4, text_or_na(inlay_error_detail(*error)));
  SET_VECTOR_ELT(parts, 5, number_or_na(inlay_error_line(*error)));
  SET_VECTOR_ELT(parts, 6, number_or_na(inlay_error_column(*error)));
  SET_VECTOR_ELT(parts, 7, number_or_na(inlay_error_offset(*error)));
  SET_VECTOR_ELT(parts, 8, text_or_na(inlay_status_name(inlay_error_status(*error))));
  inlay_error_free(error);
  SEXP package = PROTECT(Rf_mkString("inlay"));
  SEXP space = PROTECT(R_FindNamespace(package));
  SEXP call = PROTECT(Rf_lang2(Rf_install("raise"), parts));
  Rf_eval(call, space);
  Rf_error("the error could not be raised");
}
