/* The ADBC driver without a driver manager, for memory checkers: errors are read as they were made, and released once:
 * duckdb/duckdb#18584. The structs are those of adbc.h 1.1.0, as far as they are used here. */
#include "check.h"

typedef uint8_t status;

struct AdbcError {
  char *message;
  int32_t vendor_code;
  char sqlstate[5];
  void (*release)(struct AdbcError *);
  void *private_data;
  void *private_driver;
};

typedef struct {
  void *private_data;
  void *private_driver;
} handle;

typedef status plain(handle *, struct AdbcError *);
typedef status paired(handle *, handle *, struct AdbcError *);
typedef status streaming(handle *, struct ArrowArrayStream *, struct AdbcError *);
typedef void (*unused)(void);

typedef struct driver {
  void *private_data, *private_manager;
  status (*release)(struct driver *, struct AdbcError *);
  plain *database_init, *database_new;
  status (*database_set_option)(handle *, const char *, const char *, struct AdbcError *);
  plain *database_release, *connection_commit;
  unused connection_get_info, connection_get_objects;
  status (*get_table_schema)(handle *, const char *, const char *, const char *, struct ArrowSchema *, struct AdbcError *);
  streaming *connection_get_table_types;
  paired *connection_init;
  plain *connection_new;
  unused connection_set_option, connection_read_partition;
  plain *connection_release, *connection_rollback;
  unused statement_bind;
  streaming *statement_bind_stream;
  status (*execute)(handle *, struct ArrowArrayStream *, int64_t *, struct AdbcError *);
  unused statement_execute_partitions, statement_get_parameter_schema;
  paired *statement_new;
  plain *statement_prepare, *statement_release;
  status (*statement_set_option)(handle *, const char *, const char *, struct AdbcError *);
  status (*set_query)(handle *, const char *, struct AdbcError *);
  unused rest[40];
} driver;

enum { OK_STATUS = 0, NOT_FOUND = 3, INVALID_ARGUMENT = 5, VERSION = 1001000 };

static struct AdbcError error;
static driver inlay;

static void ok(status got, int line) {
  if (got == OK_STATUS && error.release == NULL) return;
  fprintf(stderr, "%d: status %d: %s\n", line, got, error.message ? error.message : "?");
  exit(1);
}

/* The call failed like this, and says so. */
static void failed(status got, status expected, const char *part, int line) {
  if (got != expected || error.message == NULL || strstr(error.message, part) == NULL) {
    fprintf(stderr, "%d: status %d: %s\n", line, got, error.message ? error.message : "?");
    exit(1);
  }
  error.release(&error);
  CHECK(error.release == NULL && error.message == NULL);
}

#define GOOD(call) ok((call), __LINE__)
#define BAD(call, expected, part) failed((call), (expected), (part), __LINE__)

int main(int count, char **given) {
  long rounds = count > 1 ? atol(given[1]) : 100;
  handle database = {NULL, NULL}, connection = {NULL, NULL};
  struct ArrowSchema schema;
  memset(&error, 0, sizeof error);
  GOOD(AdbcDriverInit(VERSION, &inlay, &error));
  BAD(AdbcDriverInit(7, &inlay, &error), 2, "version 7");
  GOOD(inlay.database_new(&database, &error));
  GOOD(inlay.database_init(&database, &error));
  GOOD(inlay.connection_new(&connection, &error));
  GOOD(inlay.connection_init(&connection, &database, &error));
  for (long round = 0; round < rounds; round++) {
    handle statement = {NULL, NULL};
    struct ArrowArrayStream stream;
    struct ArrowArray array;
    int64_t changed = 0, rows = 0;
    GOOD(inlay.statement_new(&connection, &statement, &error));
    GOOD(inlay.set_query(&statement, "something invalid", &error));
    BAD(inlay.statement_prepare(&statement, &error), INVALID_ARGUMENT, "line 1");
    BAD(inlay.execute(&statement, &stream, &changed, &error), INVALID_ARGUMENT, "^");
    GOOD(inlay.set_query(&statement, "SELECT range AS a, 'x' || range AS b FROM range(5000)", &error));
    GOOD(inlay.execute(&statement, &stream, &changed, &error));
    if (round % 2 == 0) GOOD(inlay.statement_release(&statement, &error));
    CHECK(stream.get_schema(&stream, &schema) == 0 && schema.n_children == 2);
    schema.release(&schema);
    while (stream.get_next(&stream, &array) == 0 && array.release != NULL) {
      rows += array.length;
      array.release(&array);
    }
    stream.release(&stream);
    CHECK(rows == 5000);
    if (round % 2 == 1) GOOD(inlay.statement_release(&statement, &error));
    BAD(inlay.get_table_schema(&connection, NULL, NULL, "(SELECT CURRENT_TIME)", &schema, &error), NOT_FOUND, "CURRENT_TIME");
  }
  GOOD(inlay.connection_release(&connection, &error));
  GOOD(inlay.database_release(&database, &error));
  if (inlay.release != NULL) GOOD(inlay.release(&inlay, &error));
  return 0;
}
