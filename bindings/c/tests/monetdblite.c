/* A program as those of MonetDBLite: only its names. */
#include "monetdb.h"

#include <stdio.h>

#define error(message) { fprintf(stderr, "Failure: %s\n", message); return 1; }

int main(void) {
  char *err;
  monetdb_connection conn = NULL;
  monetdb_result *result = NULL;
  monetdb_cnt affected = 0;

  if ((err = monetdb_startup(NULL, 0)) != NULL) error(err)
  if (!monetdb_is_initialized()) error("not open")
  if ((err = monetdb_startup(NULL, 0)) == NULL) error("opened twice")
  free(err);
  if ((err = monetdb_connect(&conn)) != NULL) error(err)
  if ((err = monetdb_query(conn, "CREATE TABLE test (x integer, y string)", NULL, NULL, NULL)) != NULL) error(err)
  if ((err = monetdb_query(conn, "INSERT INTO test VALUES (42, 'Hello'), (NULL, 'World')", NULL, &affected, NULL)) != NULL) error(err)
  if (affected != 2) error("not two rows")
  if ((err = monetdb_query(conn, "SELECT x, y FROM test; ", &result, NULL, NULL)) != NULL) error(err)

  fprintf(stdout, "Query result with %d cols and %d rows\n", (int)result->ncols, (int)result->nrows);
  for (size_t r = 0; r < result->nrows; r++) {
    for (size_t c = 0; c < result->ncols; c++) {
      monetdb_column *rcol;
      if ((err = monetdb_result_fetch(conn, result, &rcol, c)) != NULL) error(err)
      switch (rcol->type) {
        case monetdb_int32_t: {
          monetdb_column_int32_t *col = (monetdb_column_int32_t *)rcol;
          if (col->data[r] == col->null_value) {
            printf("NULL");
          } else {
            printf("%d", col->data[r]);
          }
          break;
        }
        case monetdb_str: {
          monetdb_column_str *col = (monetdb_column_str *)rcol;
          if (col->is_null(col->data[r])) {
            printf("NULL");
          } else {
            printf("%s", (char *)col->data[r]);
          }
          break;
        }
        default: printf("UNKNOWN");
      }
      if (c + 1 < result->ncols) printf(", ");
    }
    printf("\n");
  }
  if ((err = monetdb_cleanup_result(conn, result)) != NULL) error(err)

  if ((err = monetdb_query(conn, "SELECT nope", &result, NULL, NULL)) == NULL || result != NULL) error("no error")
  free(err);

  int32_t xs[] = {1, INT32_MIN, 3};
  char *ys[] = {(char *)"a", NULL, (char *)"c"};
  monetdb_column_int32_t x = {monetdb_int32_t, xs, 3, INT32_MIN, 1, NULL};
  monetdb_column_str y = {monetdb_str, ys, 3, NULL, 1, NULL};
  monetdb_column *columns[] = {(monetdb_column *)&x, (monetdb_column *)&y};
  if ((err = monetdb_append(conn, "main", "test", columns, 2)) != NULL) error(err)
  if ((err = monetdb_query(conn, "SELECT count(*), count(x), sum(x)::DOUBLE, DATE '2024-02-29', TIME '12:34:56', TIMESTAMP '2024-02-29 01:02:03' FROM test", &result, NULL, NULL)) != NULL) error(err)
  monetdb_column *column;
  if ((err = monetdb_result_fetch(conn, result, &column, 0)) != NULL) error(err)
  printf("%d ", (int)((monetdb_column_int64_t *)column)->data[0]);
  if ((err = monetdb_result_fetch(conn, result, &column, 2)) != NULL) error(err)
  printf("%.1f ", ((monetdb_column_double *)column)->data[0]);
  if ((err = monetdb_result_fetch(conn, result, &column, 3)) != NULL) error(err)
  monetdb_data_date date = ((monetdb_column_date *)column)->data[0];
  printf("%d-%d-%d ", date.year, date.month, date.day);
  if ((err = monetdb_result_fetch(conn, result, &column, 4)) != NULL) error(err)
  printf("%d ", ((monetdb_column_time *)column)->data[0].minutes);
  if ((err = monetdb_result_fetch(conn, result, &column, 5)) != NULL) error(err)
  printf("%d\n", ((monetdb_column_timestamp *)column)->data[0].time.seconds);
  if ((err = monetdb_result_fetch(conn, result, &column, 6)) == NULL) error("a seventh column")
  free(err);
  monetdb_cleanup_result(conn, result);

  size_t count;
  char **names;
  int *types;
  if ((err = monetdb_get_columns(conn, "main", "test", &count, &names, &types)) != NULL) error(err)
  printf("%d %s %s %d\n", (int)count, names[0], names[1], types[1] == monetdb_str);
  for (size_t index = 0; index < count; index++) free(names[index]);
  free(names);
  free(types);

  monetdb_set_autocommit(conn, 0);
  monetdb_query(conn, "DELETE FROM test", NULL, NULL, NULL);
  if (!monetdb_in_transaction(conn)) error("no transaction")
  monetdb_disconnect(conn);
  monetdb_shutdown();
  return monetdb_is_initialized() ? 1 : 0;
}
