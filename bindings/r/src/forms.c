/* What each type of SQL is in R. docs/r.md has the table. */
#include "inlay_r.h"
#include <string.h>

wishes wishes_of(SEXP bigint, SEXP zone) {
  wishes wishes = {Rf_asInteger(bigint), CHAR(STRING_ELT(zone, 0))};
  return wishes;
}

form form_of(inlay_type_id type, const wishes *wishes) {
  static const form bigints[] = {AS_INTEGER64, AS_INTEGER, AS_DOUBLE, AS_TEXT};
  switch (type) {
    /* A bare NULL is a logical NA in R. */
    case INLAY_TYPE_NULL:
    case INLAY_TYPE_BOOLEAN: return AS_LOGICAL;
    case INLAY_TYPE_TINYINT:
    case INLAY_TYPE_SMALLINT:
    case INLAY_TYPE_INTEGER:
    case INLAY_TYPE_UTINYINT:
    case INLAY_TYPE_USMALLINT: return AS_INTEGER;
    case INLAY_TYPE_BIGINT: return bigints[wishes->bigint];
    case INLAY_TYPE_UINTEGER:
    case INLAY_TYPE_UBIGINT:
    case INLAY_TYPE_HUGEINT:
    case INLAY_TYPE_UHUGEINT:
    case INLAY_TYPE_REAL:
    case INLAY_TYPE_DOUBLE:
    case INLAY_TYPE_DECIMAL: return AS_DOUBLE;
    case INLAY_TYPE_DATE: return AS_DATE;
    case INLAY_TYPE_TIMESTAMP:
    case INLAY_TYPE_TIMESTAMP_S:
    case INLAY_TYPE_TIMESTAMP_MS:
    case INLAY_TYPE_TIMESTAMP_NS:
    case INLAY_TYPE_TIMESTAMP_TZ: return AS_MOMENT;
    case INLAY_TYPE_TIME:
    case INLAY_TYPE_INTERVAL: return AS_SECONDS;
    case INLAY_TYPE_ENUM: return AS_FACTOR;
    case INLAY_TYPE_BLOB: return AS_BLOB;
    case INLAY_TYPE_LIST:
    case INLAY_TYPE_ARRAY:
    case INLAY_TYPE_STRUCT:
    case INLAY_TYPE_MAP:
    case INLAY_TYPE_UNION: return AS_NESTED;
    case INLAY_TYPE_VARCHAR:
    case INLAY_TYPE_JSON:
    case INLAY_TYPE_UUID:
    case INLAY_TYPE_BIT:
    case INLAY_TYPE_TIME_TZ: return AS_TEXT;
  }
  return AS_TEXT;
}

SEXPTYPE vector_of(form form) {
  switch (form) {
    case AS_LOGICAL: return LGLSXP;
    case AS_INTEGER:
    case AS_FACTOR: return INTSXP;
    case AS_DOUBLE:
    case AS_INTEGER64:
    case AS_DATE:
    case AS_MOMENT:
    case AS_SECONDS: return REALSXP;
    case AS_TEXT: return STRSXP;
    case AS_BLOB:
    case AS_NESTED: return VECSXP;
  }
  return VECSXP;
}

static void set_class(SEXP vector, const char *first, const char *second) {
  SEXP classes = PROTECT(Rf_allocVector(STRSXP, second == NULL ? 1 : 2));
  SET_STRING_ELT(classes, 0, Rf_mkChar(first));
  if (second != NULL) SET_STRING_ELT(classes, 1, Rf_mkChar(second));
  Rf_setAttrib(vector, R_ClassSymbol, classes);
  UNPROTECT(1);
}

static void set_text(SEXP vector, const char *name, const char *text) {
  SEXP value = PROTECT(Rf_mkString(text));
  Rf_setAttrib(vector, Rf_install(name), value);
  UNPROTECT(1);
}

static void set_levels(SEXP vector, const inlay_type *type) {
  const size_t count = inlay_type_size(type);
  SEXP levels = PROTECT(Rf_allocVector(STRSXP, (R_xlen_t)count));
  for (size_t i = 0; i < count; i++) SET_STRING_ELT(levels, (R_xlen_t)i, Rf_mkCharCE(inlay_type_part_name(type, i), CE_UTF8));
  Rf_setAttrib(vector, R_LevelsSymbol, levels);
  UNPROTECT(1);
}

void dress(SEXP vector, form form, const inlay_type *type, const wishes *wishes) {
  if (form == AS_FACTOR) set_levels(vector, type);
  dress_plain(vector, form, inlay_type_get_id(type), wishes);
}

void dress_plain(SEXP vector, form form, inlay_type_id type, const wishes *wishes) {
  switch (form) {
    case AS_FACTOR: set_class(vector, "factor", NULL); return;
    case AS_INTEGER64: set_class(vector, "integer64", NULL); return;
    case AS_DATE: set_class(vector, "Date", NULL); return;
    case AS_MOMENT:
      set_class(vector, "POSIXct", "POSIXt");
      /* What has no zone is shown as it is written. */
      set_text(vector, "tzone", type == INLAY_TYPE_TIMESTAMP_TZ ? wishes->zone : "UTC");
      return;
    case AS_SECONDS:
      set_text(vector, "units", "secs");
      if (type == INLAY_TYPE_TIME) set_class(vector, "hms", "difftime");
      else set_class(vector, "difftime", NULL);
      return;
    case AS_LOGICAL:
    case AS_INTEGER:
    case AS_DOUBLE:
    case AS_TEXT:
    case AS_BLOB:
    case AS_NESTED: return;
  }
}

void make_frame(SEXP list, R_xlen_t rows) {
  SEXP numbers = PROTECT(Rf_allocVector(INTSXP, 2));
  INTEGER(numbers)[0] = NA_INTEGER;
  INTEGER(numbers)[1] = -(int)rows;
  Rf_setAttrib(list, R_RowNamesSymbol, numbers);
  set_class(list, "data.frame", NULL);
  UNPROTECT(1);
}
