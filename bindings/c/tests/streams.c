/* Arrow streams, in and out, good ones and such that fail: each is released once, by its own callback, whatever is closed:
 * gizmodata/gizmosql#150, duckdb/duckdb-rs#853. A leak is for the sanitizer to see, which this program is compiled with. */
#include "check.h"

/* What a stream of the program's is to do. */
typedef struct {
  int fails_at; /* 0: at its schema; 1, 2: at this array; more: never. */
  int given, released;
} plan;

static int live; /* Arrays and schemas of the program's that were not released. */

static void release_schema(struct ArrowSchema *schema) {
  for (int64_t child = 0; child < schema->n_children; child++) {
    if (schema->children[child]->release != NULL) schema->children[child]->release(schema->children[child]);
    free(schema->children[child]);
  }
  free(schema->children);
  schema->release = NULL;
  live--;
}

static void release_array(struct ArrowArray *array) {
  for (int64_t child = 0; child < array->n_children; child++) {
    if (array->children[child]->release != NULL) array->children[child]->release(array->children[child]);
    free(array->children[child]);
  }
  if (array->n_buffers == 2) free((void *)array->buffers[1]);
  free(array->buffers);
  free(array->children);
  array->release = NULL;
  live--;
}

static void schema_of(struct ArrowSchema *out, const char *format, const char *name, int children) {
  memset(out, 0, sizeof *out);
  out->format = format;
  out->name = name;
  out->flags = ARROW_FLAG_NULLABLE;
  out->n_children = children;
  if (children > 0) out->children = calloc((size_t)children, sizeof *out->children);
  out->release = release_schema;
  live++;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  if (((plan *)stream->private_data)->fails_at == 0) return 5;
  schema_of(out, "+s", "", 1);
  out->children[0] = malloc(sizeof *out->children[0]);
  schema_of(out->children[0], "i", "a", 0);
  return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  enum { ROWS = 100 };
  plan *own = stream->private_data;
  memset(out, 0, sizeof *out);
  own->given++;
  if (own->given == own->fails_at) return 5;
  if (own->given > 3) return 0;
  struct ArrowArray *child = calloc(1, sizeof *child);
  int32_t *values = malloc(ROWS * sizeof *values);
  for (int row = 0; row < ROWS; row++) values[row] = row;
  child->length = out->length = ROWS;
  child->n_buffers = 2;
  child->buffers = calloc(2, sizeof *child->buffers);
  child->buffers[1] = values;
  child->release = out->release = release_array;
  out->n_buffers = 1;
  out->buffers = calloc(1, sizeof *out->buffers);
  out->n_children = 1;
  out->children = malloc(sizeof *out->children);
  out->children[0] = child;
  live += 2;
  return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return "the program's stream broke";
}

static void release_stream(struct ArrowArrayStream *stream) {
  ((plan *)stream->private_data)->released++;
  stream->release = NULL;
}

static struct ArrowArrayStream stream_of(plan *own) {
  struct ArrowArrayStream stream = {get_schema, get_next, get_last_error, release_stream, own};
  return stream;
}

static void in(long rounds) {
  OPEN();
  OK(inlay_execute(connection, "CREATE TABLE t (a INTEGER); CREATE TABLE two (a INTEGER, b INTEGER)", NULL, &error));
  for (long round = 0; round < rounds; round++) {
    int is_good = round % 4 == 3;
    plan own = {is_good ? 99 : (int)(round % 4), 0, 0};
    struct ArrowArrayStream stream = stream_of(&own);
    inlay_status status;
    if (round % 3 == 0) {
      status = inlay_append_arrow(connection, NULL, "t", &stream, true, NULL, &error);
    } else if (round % 3 == 1) {
      status = inlay_register_arrow(connection, "given", &stream, &error);
    } else {
      /* A column is missing, or the table: nothing of the stream is left all the same. */
      status = inlay_append_arrow(connection, NULL, round % 2 ? "two" : "nope", &stream, true, NULL, &error);
      if (is_good) is_good = status == INLAY_OK;
    }
    CHECK((status == INLAY_OK) == is_good && (status == INLAY_OK) == (error == NULL));
    CHECK(stream.release == NULL && own.released == 1);
    if (round % 1000 == 0) OK(inlay_execute(connection, "TRUNCATE TABLE t; TRUNCATE TABLE two", NULL, &error));
  }
  if (rounds > 7) CHECK(number(connection, "SELECT count(*) FROM given") == 300);
  inlay_unregister(connection, "given", NULL, &error);
  CLOSE();
  CHECK(live == 0);
}

/* One answer as a stream, of a connection that may be closed before it is read. */
static void read_one(long round, int closes) {
  inlay_result *result = NULL;
  struct ArrowArrayStream stream;
  struct ArrowSchema schema;
  struct ArrowArray array;
  int64_t rows = 0;
  static inlay_error *error = NULL;
  static inlay_database *database = NULL;
  static inlay_connection *connection = NULL;
  if (database == NULL) OK(inlay_open(NULL, NULL, &database, &error));
  if (connection == NULL) OK(inlay_connect(database, &connection, &error));
  FAILS(inlay_query(connection, "SELECT nope", &result, &error), INLAY_ERROR_UNDEFINED_COLUMN);
  FAILS(inlay_result_arrow_stream(result, &stream, &error), INLAY_ERROR_INVALID_ARGUMENT);
  CHECK(stream.release == NULL);
  OK(inlay_query(connection, "SELECT range AS a, 'some text ' || range AS b, [range, 1] AS c FROM range(300)", &result, &error));
  OK(inlay_result_arrow_stream(result, &stream, &error));
  if (round % 2 == 0) inlay_result_release(&result);
  if (closes) {
    inlay_disconnect(&connection);
    inlay_close(&database);
  }
  if (round % 5 != 0) {
    CHECK(stream.get_schema(&stream, &schema) == 0 && schema.n_children == 3);
    schema.release(&schema);
    while (stream.get_next(&stream, &array) == 0 && array.release != NULL) {
      rows += array.length;
      /* One that is kept outlives the stream. */
      if (round % 7 == 0) stream.release(&stream);
      array.release(&array);
      if (round % 7 == 0) break;
    }
    CHECK(rows == 300);
  }
  if (stream.release != NULL) stream.release(&stream);
  inlay_result_release(&result);
}

static void out(long rounds) {
  for (long round = 0; round < rounds; round++) read_one(round, round % 50 == 0 || round + 1 == rounds);
}

int main(int count, char **given) {
  long rounds = count > 1 ? atol(given[1]) : 100;
  in(rounds);
  out(rounds);
  return 0;
}
