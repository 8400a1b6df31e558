/* Data frames as streams of Arrow: what lies in R as Arrow has it, is not copied.
 *
 * integer, double and integer64 are R's own memory, and so are a factor's codes, whose dictionary has an entry in
 * front that no row has, as codes begin with 1. A vector that is used is protected until the engine releases it, which
 * may be on any thread: what is to be let go of is put on a list that the main thread empties.
 *
 * R/register.R has made the columns plain: POSIXct, difftime in seconds, lists of raw, or a list's values and lengths. */
#include "inlay_r.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- What R is to let go of ---- */

struct released {
  SEXP vector;
  released *next;
};

static released *to_release = NULL;
static pthread_mutex_t release_lock = PTHREAD_MUTEX_INITIALIZER;

void let_go(released *it) {
  pthread_mutex_lock(&release_lock);
  it->next = to_release;
  to_release = it;
  pthread_mutex_unlock(&release_lock);
}

void frames_drain(void) {
  pthread_mutex_lock(&release_lock);
  released *it = to_release;
  to_release = NULL;
  pthread_mutex_unlock(&release_lock);
  while (it != NULL) {
    released *next = it->next;
    R_ReleaseObject(it->vector);
    free(it);
    it = next;
  }
}

/* ---- Parts of a frame ---- */

/* What an array keeps. */
typedef struct {
  const void *buffers[3];
  void *owned[3];
  released *vector; /* R's, which is protected */
} holding;

/* What a column is, from which schemas are made. */
typedef struct shape {
  char *name;
  const char *format;
  int64_t child_count;
  struct shape *children;
  struct shape *dictionary;
} shape;

static void free_shape(shape *it) {
  for (int64_t i = 0; i < it->child_count; i++) free_shape(&it->children[i]);
  if (it->dictionary != NULL) free_shape(it->dictionary);
  free(it->children);
  free(it->dictionary);
  free(it->name);
}

static void release_array(struct ArrowArray *array) {
  holding *it = array->private_data;
  for (int64_t i = 0; i < array->n_children; i++) {
    struct ArrowArray *child = array->children[i];
    if (child != NULL && child->release != NULL) child->release(child);
    free(child);
  }
  if (array->dictionary != NULL && array->dictionary->release != NULL) array->dictionary->release(array->dictionary);
  free(array->dictionary);
  free(array->children);
  for (int i = 0; i < 3; i++) free(it->owned[i]);
  if (it->vector != NULL) let_go(it->vector);
  free(it);
  array->release = NULL;
}

static void *memory(size_t count, size_t size) {
  void *it = calloc(count == 0 ? 1 : count, size);
  if (it == NULL) Rf_error("out of memory for a column of %.0f rows", (double)count);
  return it;
}

/* An array that is released whatever happens next. */
static holding *begin(struct ArrowArray *array, int64_t length, int64_t buffers) {
  holding *it = memory(1, sizeof *it);
  memset(array, 0, sizeof *array);
  array->length = length;
  array->n_buffers = buffers;
  array->buffers = it->buffers;
  array->private_data = it;
  array->release = release_array;
  return it;
}

static void *own(holding *it, int buffer, size_t count, size_t size) {
  it->owned[buffer] = memory(count, size);
  it->buffers[buffer] = it->owned[buffer];
  return it->owned[buffer];
}

released *keep(SEXP value) {
  released *it = memory(1, sizeof *it);
  it->vector = value;
  R_PreserveObject(value);
  return it;
}

static void protect(holding *it, SEXP vector) {
  it->vector = keep(vector);
  MARK_NOT_MUTABLE(vector);
}

/* Marks rows as NULL; the bits are made when the first one is met. */
static void set_null(struct ArrowArray *array, R_xlen_t row) {
  holding *it = array->private_data;
  uint8_t *bits = it->owned[0];
  if (bits == NULL) {
    const size_t bytes = (size_t)(array->length + 7) / 8;
    bits = own(it, 0, bytes, 1);
    memset(bits, 0xff, bytes);
  }
  bits[row / 8] &= (uint8_t)~(1u << (row % 8));
  array->null_count++;
}

/* ---- Columns ---- */

typedef struct {
  shape *shape;
  struct ArrowArray *array;
  SEXP values;
  const char *name;
  R_xlen_t count;
} target;

static void logicals(target *to) {
  to->shape->format = "b";
  holding *it = begin(to->array, to->count, 2);
  uint8_t *bits = own(it, 1, (size_t)(to->count + 7) / 8, 1);
  const int *values = LOGICAL_RO(to->values);
  for (R_xlen_t i = 0; i < to->count; i++) {
    if (values[i] == NA_LOGICAL) set_null(to->array, i);
    else if (values[i]) bits[i / 8] |= (uint8_t)(1u << (i % 8));
  }
}

static void integers(target *to, const char *format) {
  to->shape->format = format;
  holding *it = begin(to->array, to->count, 2);
  const int *values = INTEGER_RO(to->values);
  protect(it, to->values);
  it->buffers[1] = values;
  for (R_xlen_t i = 0; i < to->count; i++)
    if (values[i] == NA_INTEGER) set_null(to->array, i);
}

static void doubles(target *to) {
  to->shape->format = "g";
  holding *it = begin(to->array, to->count, 2);
  const double *values = REAL_RO(to->values);
  protect(it, to->values);
  it->buffers[1] = values;
  /* NaN is a number; only R's NA is none. */
  for (R_xlen_t i = 0; i < to->count; i++)
    if (ISNAN(values[i]) && R_IsNA(values[i])) set_null(to->array, i);
}

static void integers64(target *to) {
  to->shape->format = "l";
  holding *it = begin(to->array, to->count, 2);
  const int64_t *values = (const int64_t *)REAL_RO(to->values);
  protect(it, to->values);
  it->buffers[1] = values;
  for (R_xlen_t i = 0; i < to->count; i++)
    if (values[i] == INT64_MIN) set_null(to->array, i);
}

static double double_of(SEXP values, R_xlen_t row) {
  if (TYPEOF(values) == REALSXP) return REAL_ELT(values, row);
  const int value = INTEGER_ELT(values, row);
  return value == NA_INTEGER ? NA_REAL : value;
}

static void days(target *to) {
  if (TYPEOF(to->values) == INTSXP) {
    integers(to, "tdD");
    return;
  }
  to->shape->format = "tdD";
  int32_t *out = own(begin(to->array, to->count, 2), 1, (size_t)to->count, sizeof *out);
  for (R_xlen_t i = 0; i < to->count; i++) {
    const double value = double_of(to->values, i);
    if (ISNAN(value)) set_null(to->array, i);
    else if (fabs(value) >= INT32_MAX) out[i] = value > 0 ? INT32_MAX : -INT32_MAX;
    else out[i] = (int32_t)floor(value);
  }
}

static void micros(target *to, const char *format) {
  to->shape->format = format;
  int64_t *out = own(begin(to->array, to->count, 2), 1, (size_t)to->count, sizeof *out);
  for (R_xlen_t i = 0; i < to->count; i++) {
    const double value = double_of(to->values, i);
    if (ISNAN(value)) set_null(to->array, i);
    else if (!R_FINITE(value)) out[i] = value > 0 ? INT64_MAX : -INT64_MAX;
    else out[i] = (int64_t)llround(value * 1e6);
  }
}

static int is_utf8(const unsigned char *text, size_t size) {
  for (size_t i = 0; i < size;) {
    const unsigned char first = text[i];
    size_t more = first < 0x80 ? 0 : first >= 0xc2 && first < 0xe0 ? 1 : (first & 0xf0) == 0xe0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 9;
    if (more == 9 || i + more >= size) return 0;
    for (size_t k = 1; k <= more; k++)
      if ((text[i + k] & 0xc0) != 0x80) return 0;
    if ((first == 0xe0 && text[i + 1] < 0xa0) || (first == 0xed && text[i + 1] > 0x9f) || (first == 0xf0 && text[i + 1] < 0x90) ||
        (first == 0xf4 && text[i + 1] > 0x8f))
      return 0;
    i += more + 1;
  }
  return 1;
}

static int is_ascii(const char *text, size_t size) {
  uint64_t all = 0, word;
  size_t i = 0;
  for (; i + 8 <= size; i += 8) {
    memcpy(&word, text + i, 8);
    all |= word;
  }
  for (; i < size; i++) all |= (unsigned char)text[i];
  return (all & UINT64_C(0x8080808080808080)) == 0;
}

/* The text in UTF-8; an error names the column and the row. */
static const char *utf8(const target *to, SEXP text, R_xlen_t row, size_t *size) {
  const char *it = CHAR(text);
  *size = (size_t)LENGTH(text);
  if (is_ascii(it, *size)) return it;
  if (Rf_getCharCE(text) == CE_LATIN1) {
    it = Rf_translateCharUTF8(text);
    *size = strlen(it);
  }
  if (!is_utf8((const unsigned char *)it, *size))
    Rf_error("column \"%s\", row %.0f: the text is not valid UTF-8; mark its encoding (Encoding(x) <- \"latin1\") or convert it by iconv()",
             to->name, (double)row + 1);
  return it;
}

static void append_bytes(holding *it, size_t *room, size_t used, const void *bytes, size_t size) {
  if (used + size > *room) {
    const size_t wanted = (used + size) * 2;
    void *more = realloc(it->owned[2], wanted);
    if (more == NULL) Rf_error("out of memory for texts of %.0f bytes", (double)wanted);
    it->owned[2] = more;
    it->buffers[2] = more;
    *room = wanted;
  }
  if (size > 0) memcpy((char *)it->owned[2] + used, bytes, size);
}

/* first: how many entries come before those of the vector, which are empty. */
static void texts(target *to, R_xlen_t first) {
  to->shape->format = "U";
  holding *it = begin(to->array, to->count + first, 3);
  int64_t *ends = own(it, 1, (size_t)(to->count + first) + 1, sizeof *ends);
  size_t room = 64, used = 0;
  own(it, 2, room, 1);
  const SEXP *elements = DATAPTR_OR_NULL(to->values);
  for (R_xlen_t i = 0; i < to->count; i++) {
    const void *top = vmaxget();
    SEXP text = elements != NULL ? elements[i] : STRING_ELT(to->values, i);
    if (text == NA_STRING) {
      set_null(to->array, i + first);
    } else {
      size_t size;
      const char *bytes = utf8(to, text, i, &size);
      append_bytes(it, &room, used, bytes, size);
      used += size;
    }
    ends[i + first + 1] = (int64_t)used;
    vmaxset(top);
  }
}

static void blobs(target *to) {
  to->shape->format = "Z";
  holding *it = begin(to->array, to->count, 3);
  int64_t *ends = own(it, 1, (size_t)to->count + 1, sizeof *ends);
  size_t room = 64, used = 0;
  own(it, 2, room, 1);
  for (R_xlen_t i = 0; i < to->count; i++) {
    SEXP value = VECTOR_ELT(to->values, i);
    if (value == R_NilValue) {
      set_null(to->array, i);
    } else {
      append_bytes(it, &room, used, RAW_RO(value), (size_t)XLENGTH(value));
      used += (size_t)XLENGTH(value);
    }
    ends[i + 1] = (int64_t)used;
  }
}

static void factors(target *to) {
  integers(to, "i");
  target levels = *to;
  levels.values = Rf_getAttrib(to->values, R_LevelsSymbol);
  levels.count = XLENGTH(levels.values);
  levels.shape = to->shape->dictionary = memory(1, sizeof *levels.shape);
  levels.array = to->array->dictionary = memory(1, sizeof *levels.array);
  texts(&levels, 1);
}

static void column(target *to);

static void children_of(target *to, int64_t count) {
  to->array->children = memory((size_t)count, sizeof *to->array->children);
  to->array->n_children = count;
  to->shape->children = memory((size_t)count, sizeof *to->shape->children);
  to->shape->child_count = count;
}

static void child(target *to, int64_t index, SEXP values, const char *name, R_xlen_t count) {
  to->array->children[index] = memory(1, sizeof **to->array->children);
  target part = {&to->shape->children[index], to->array->children[index], values, name, count};
  column(&part);
}

static void structs(target *to) {
  const R_xlen_t count = XLENGTH(to->values);
  SEXP names = Rf_getAttrib(to->values, R_NamesSymbol);
  to->shape->format = "+s";
  begin(to->array, to->count, 1);
  children_of(to, count);
  for (R_xlen_t i = 0; i < count; i++) {
    const void *top = vmaxget();
    child(to, i, VECTOR_ELT(to->values, i), Rf_translateCharUTF8(STRING_ELT(names, i)), to->count);
    vmaxset(top);
  }
}

/* A list as its values, one behind the other, and the length of each element, NA for NULL. */
static void lists(target *to) {
  SEXP values = VECTOR_ELT(to->values, 0), lengths = VECTOR_ELT(to->values, 1);
  to->shape->format = "+L";
  int64_t *ends = own(begin(to->array, to->count, 2), 1, (size_t)to->count + 1, sizeof *ends);
  for (R_xlen_t i = 0; i < to->count; i++) {
    const int length = INTEGER_ELT(lengths, i);
    if (length == NA_INTEGER) set_null(to->array, i);
    ends[i + 1] = ends[i] + (length == NA_INTEGER ? 0 : length);
  }
  children_of(to, 1);
  child(to, 0, values, "item", (R_xlen_t)ends[to->count]);
}

static void column(target *to) {
  SEXP values = to->values;
  to->shape->name = memory(strlen(to->name) + 1, 1);
  strcpy(to->shape->name, to->name);
  if (Rf_inherits(values, "Date")) days(to);
  else if (Rf_inherits(values, "POSIXct")) micros(to, Rf_inherits(values, "inlay_utc") ? "tsu:" : "tsu:UTC");
  else if (Rf_inherits(values, "hms")) micros(to, "ttu");
  else if (Rf_inherits(values, "difftime")) micros(to, "tDu");
  else if (Rf_inherits(values, "factor")) factors(to);
  else if (Rf_inherits(values, "integer64")) integers64(to);
  else if (Rf_inherits(values, "inlay_list")) lists(to);
  else if (Rf_inherits(values, "data.frame")) structs(to);
  else switch (TYPEOF(values)) {
    case LGLSXP: logicals(to); break;
    case INTSXP: integers(to, "i"); break;
    case REALSXP: doubles(to); break;
    case STRSXP: texts(to, 0); break;
    case VECSXP: blobs(to); break;
    default: Rf_error("column \"%s\": R's type \"%s\" is none of a table", to->name, Rf_type2char(TYPEOF(values)));
  }
}

/* ---- The stream ---- */

typedef struct {
  shape shape;
  struct ArrowArray array;
} frame;

static void release_schema(struct ArrowSchema *schema) {
  for (int64_t i = 0; i < schema->n_children; i++) {
    if (schema->children[i]->release != NULL) schema->children[i]->release(schema->children[i]);
    free(schema->children[i]);
  }
  if (schema->dictionary != NULL && schema->dictionary->release != NULL) schema->dictionary->release(schema->dictionary);
  free(schema->dictionary);
  free(schema->children);
  free((void *)schema->name);
  schema->release = NULL;
}

/* Runs on any thread, so that R is not entered. 0 if there is no memory. */
static int make_schema(const shape *it, struct ArrowSchema *schema) {
  memset(schema, 0, sizeof *schema);
  schema->format = it->format;
  schema->flags = ARROW_FLAG_NULLABLE;
  schema->release = release_schema;
  schema->name = it->name == NULL ? NULL : strdup(it->name);
  if (it->child_count > 0) schema->children = calloc((size_t)it->child_count, sizeof *schema->children);
  if (it->child_count > 0 && schema->children == NULL) return 0;
  for (int64_t i = 0; i < it->child_count; i++) {
    schema->children[i] = malloc(sizeof **schema->children);
    if (schema->children[i] == NULL) return 0;
    schema->n_children = i + 1;
    if (!make_schema(&it->children[i], schema->children[i])) return 0;
  }
  if (it->dictionary == NULL) return 1;
  schema->dictionary = malloc(sizeof *schema->dictionary);
  return schema->dictionary != NULL && make_schema(it->dictionary, schema->dictionary);
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema) {
  const frame *it = stream->private_data;
  if (make_schema(&it->shape, schema)) return 0;
  release_schema(schema);
  return 12;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *array) {
  frame *it = stream->private_data;
  *array = it->array;
  memset(&it->array, 0, sizeof it->array);
  return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return "out of memory";
}

static void free_frame(frame *it) {
  if (it->array.release != NULL) it->array.release(&it->array);
  free_shape(&it->shape);
  free(it);
}

static void release_stream(struct ArrowArrayStream *stream) {
  free_frame(stream->private_data);
  stream->release = NULL;
}

typedef struct {
  SEXP values;
  frame *frame;
  int is_done;
} building;

static SEXP build(void *data) {
  building *it = data;
  const R_xlen_t count = XLENGTH(it->values) == 0 ? 0 : Rf_asInteger(Rf_getAttrib(it->values, Rf_install("inlay_rows")));
  target to = {&it->frame->shape, &it->frame->array, it->values, "", count};
  structs(&to);
  it->is_done = 1;
  return R_NilValue;
}

static void end_building(void *data) {
  building *it = data;
  if (!it->is_done) free_frame(it->frame);
}

void frame_stream(SEXP values, struct ArrowArrayStream *stream) {
  building it = {.values = values, .frame = memory(1, sizeof(frame))};
  R_ExecWithCleanup(build, &it, end_building, &it);
  stream->get_schema = get_schema;
  stream->get_next = get_next;
  stream->get_last_error = get_last_error;
  stream->release = release_stream;
  stream->private_data = it.frame;
}

/* ---- Registered tables, and rows into tables ---- */

SEXP register_frame(SEXP connection, SEXP name, SEXP values) {
  inlay_error *error = NULL;
  struct ArrowArrayStream stream;
  frames_drain();
  inlay_connection *it = connection_of(connection);
  frame_stream(values, &stream);
  if (inlay_register_arrow(it, CHAR(STRING_ELT(name, 0)), &stream, &error) != INLAY_OK) raise_error(&error);
  return R_NilValue;
}

SEXP unregister_frame(SEXP connection, SEXP name) {
  inlay_error *error = NULL;
  bool found = false;
  if (inlay_unregister(connection_of(connection), CHAR(STRING_ELT(name, 0)), &found, &error) != INLAY_OK) raise_error(&error);
  frames_drain();
  return Rf_ScalarLogical(found);
}

typedef struct {
  inlay_connection *connection;
  const char *schema, *table;
  struct ArrowArrayStream stream;
  uint64_t count;
} appending;

static inlay_status append_work(void *data, inlay_error **error) {
  appending *it = data;
  return inlay_append_arrow(it->connection, it->schema, it->table, &it->stream, true, &it->count, error);
}

/* Rows of a data frame into a table, whose columns are found by name; schema is NULL or a text. */
SEXP append_frame(SEXP connection, SEXP schema, SEXP table, SEXP values) {
  frames_drain();
  appending it = {.connection = connection_of(connection),
                  .schema = schema == R_NilValue ? NULL : CHAR(STRING_ELT(schema, 0)),
                  .table = CHAR(STRING_ELT(table, 0))};
  frame_stream(values, &it.stream);
  run(it.connection, append_work, &it);
  frames_drain();
  return Rf_ScalarReal((double)it.count);
}
