/* Small rules of SQLite's interface that programs rely on. */
#include <locale.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: %s; %s\n", __FILE__, __LINE__, #condition, sqlite3_errmsg(db)); \
            exit(1);                                                                              \
        }                                                                                         \
    } while (0)

static int rows(void *data, int count, char **values, char **names) {
    char *out = data;
    for (int i = 0; i < count; i++) {
        strcat(out, names[i]), strcat(out, "="), strcat(out, values[i] ? values[i] : "NULL"), strcat(out, ";");
    }
    return 0;
}

static int freed;
static void frees(void *data) {
    freed += 1 + (data == NULL);
}

/* What a function of the program asks of the statement that calls it does not wait for that statement. */
static sqlite3_stmt *asked;
static void asks(sqlite3_context *context, int count, sqlite3_value **values) {
    char *text = sqlite3_expanded_sql(asked);
    int fine = sqlite3_stmt_busy(asked) && sqlite3_column_count(asked) == 1 && sqlite3_stmt_readonly(asked) &&
               sqlite3_bind_int(asked, 1, 2) == SQLITE_MISUSE && sqlite3_step(asked) == SQLITE_MISUSE;
    (void)count, (void)values;
    sqlite3_free(text);
    sqlite3_result_int(context, fine);
}

/* Data of a function may be freed by one that asks for the connection's functions. */
static void remakes(void *db) {
    if (db != NULL) sqlite3_create_function(db, "other", 0, SQLITE_UTF8, NULL, asks, NULL, NULL);
}

static void gives_bad_text(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count, (void)values;
    sqlite3_result_text(context, NULL, 0, frees);
    sqlite3_result_text(context, "a\xff", 2, SQLITE_STATIC);
}

static char told[256];
static void tells(void *data, int action, const char *schema, const char *table, sqlite3_int64 row) {
    size_t used = strlen(told);
    const char *wrong = strcmp(schema, "main") == 0 && data == told ? "" : "wrong ";
    snprintf(told + used, sizeof told - used, "%s%d %s %d;", wrong, action, table, (int)row);
}

int main(void) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement;
    const char *tail;
    char *message, *text, out[200] = "", small[8];
    char **table;
    int row_count, column_count;

    CHECK(sqlite3_libversion_number() == SQLITE_VERSION_NUMBER || sqlite3_libversion_number() > 3000000);
    CHECK(sqlite3_threadsafe() == 1);
    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "CREATE TABLE t(a INTEGER, b TEXT); INSERT INTO t VALUES(1,'x'),(2,NULL)", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_changes(db) == 2 && sqlite3_total_changes(db) == 2 && sqlite3_get_autocommit(db) == 1);
    CHECK(sqlite3_exec(db, "SELECT a, b FROM t", rows, out, NULL) == SQLITE_OK);
    CHECK(strcmp(out, "a=1;b=x;a=2;b=NULL;") == 0);

    /* The length and the tail are honoured to the byte. */
    const char *sql = "SELECT 1; SELECT 2 -- end";
    CHECK(sqlite3_prepare_v2(db, sql, 8, &statement, &tail) == SQLITE_OK && tail == sql + 8);
    CHECK(sqlite3_column_type(statement, 0) == SQLITE_NULL && sqlite3_data_count(statement) == 0);
    CHECK(sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_int(statement, 0) == 1);
    CHECK(sqlite3_column_type(statement, 5) == SQLITE_NULL && sqlite3_column_text(statement, 5) == NULL);
    CHECK(sqlite3_step(statement) == SQLITE_DONE && sqlite3_finalize(statement) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, sql, -1, &statement, &tail) == SQLITE_OK && tail == sql + 9);
    CHECK(sqlite3_finalize(statement) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, "  -- nothing", -1, &statement, &tail) == SQLITE_OK && statement == NULL);

    /* Bytes of a text, a text of bytes, and parameters by number and name. */
    CHECK(sqlite3_prepare_v2(db, "SELECT ?2, :n, ?1, @m", -1, &statement, NULL) == SQLITE_OK);
    CHECK(sqlite3_bind_parameter_count(statement) == 4 && sqlite3_bind_parameter_index(statement, ":n") == 3);
    CHECK(strcmp(sqlite3_bind_parameter_name(statement, 4), "@m") == 0);
    CHECK(sqlite3_bind_text(statement, 1, "abc", -1, SQLITE_STATIC) == SQLITE_OK);
    CHECK(sqlite3_bind_blob(statement, 2, "x\0y", 3, SQLITE_TRANSIENT) == SQLITE_OK);
    CHECK(sqlite3_bind_double(statement, 3, 2.5) == SQLITE_OK && sqlite3_bind_int64(statement, 9, 1) == SQLITE_RANGE);
    CHECK(sqlite3_step(statement) == SQLITE_ROW);
    CHECK(sqlite3_column_bytes(statement, 0) == 3 && memcmp(sqlite3_column_blob(statement, 0), "x\0y", 3) == 0);
    CHECK(sqlite3_column_type(statement, 1) == SQLITE_FLOAT && strcmp((const char *)sqlite3_column_text(statement, 1), "2.5") == 0);
    CHECK(memcmp(sqlite3_column_blob(statement, 2), "abc", 3) == 0 && sqlite3_column_type(statement, 3) == SQLITE_NULL);
    text = sqlite3_expanded_sql(statement);
    CHECK(strcmp(text, "SELECT x'780079', 2.5, 'abc', NULL") == 0);
    sqlite3_free(text);
    CHECK(sqlite3_close(db) == SQLITE_BUSY);
    CHECK(sqlite3_next_stmt(db, NULL) == statement && sqlite3_db_handle(statement) == db);
    CHECK(sqlite3_finalize(statement) == SQLITE_OK);

    /* Errors are codes with a text; NULL is misuse, never a crash. */
    CHECK(sqlite3_exec(db, "SELECT * FROM nosuch", NULL, NULL, &message) == SQLITE_ERROR);
    CHECK(strcmp(message, "no such table: nosuch") == 0 && sqlite3_errcode(db) == SQLITE_ERROR);
    sqlite3_free(message);
    CHECK(sqlite3_step(NULL) == SQLITE_MISUSE && sqlite3_prepare_v2(NULL, "SELECT 1", -1, &statement, NULL) == SQLITE_MISUSE);
    CHECK(sqlite3_finalize(NULL) == SQLITE_OK && sqlite3_close(NULL) == SQLITE_OK && sqlite3_errmsg(NULL) != NULL);
    CHECK(sqlite3_load_extension(db, "x", NULL, &message) == SQLITE_ERROR && message != NULL);
    sqlite3_free(message);

    /* Tables of texts, and the printf family. */
    CHECK(sqlite3_get_table(db, "SELECT a, b FROM t", &table, &row_count, &column_count, NULL) == SQLITE_OK);
    CHECK(row_count == 2 && column_count == 2 && strcmp(table[0], "a") == 0 && strcmp(table[4], "2") == 0 && table[5] == NULL);
    sqlite3_free_table(table);
    text = sqlite3_mprintf("%d %s %q %Q %w %.2f %lld %c", 7, "x", "it's", NULL, "a\"b", 1.5, 1LL << 40, 'z');
    CHECK(strcmp(text, "7 x it''s NULL a\"\"b 1.50 1099511627776 z") == 0);
    sqlite3_free(text);
    CHECK(strcmp(sqlite3_snprintf(sizeof small, small, "%s", "0123456789"), "0123456") == 0);
    CHECK(sqlite3_complete("SELECT 1;") && !sqlite3_complete("SELECT 1") && !sqlite3_complete("SELECT ';"));
    CHECK(sqlite3_strglob("a*[b-d]?", "axxcz") == 0 && sqlite3_strlike("A_%", "abc", 0) == 0 && sqlite3_stricmp("A", "a") == 0);
    CHECK(sqlite3_table_column_metadata(db, NULL, "t", "a", &tail, NULL, NULL, NULL, NULL) == SQLITE_OK && strcmp(tail, "INTEGER") == 0);

    /* Formats: the flag !, what fills, and lengths that only C has. */
    text = sqlite3_mprintf("%!.15g|%.15g|%!.15g|%-*d|%*d|%.*f|%!.3f", 1.0, 1.0, 1e20, 3, 7, -3, 7, -2, 1.5, 1.5);
    CHECK(strcmp(text, "1.0|1|1.0e+20|7  |7  |1.50|1.5") == 0);
    sqlite3_free(text);
    text = sqlite3_mprintf("%zx|%*d", sqlite3_mprintf("%s", "own"), -2147483647 - 1, 5);
    CHECK(strcmp(text, "ownx|5") == 0);
    sqlite3_free(text);
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL) {
        text = sqlite3_mprintf("%.2f", 1.5);
        CHECK(strcmp(text, "1.50") == 0);
        sqlite3_free(text);
        setlocale(LC_NUMERIC, "C");
    }
    CHECK(sqlite3_config(SQLITE_CONFIG_GETMALLOC, out) == SQLITE_ERROR);
    CHECK(sqlite3_strglob("*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa") != 0);
    CHECK(sqlite3_strglob("*[^a-c]x", "bbdx") == 0 && sqlite3_strlike("10!%%", "10% of", '!') == 0);

    /* Texts that are not UTF-8 are no values, and NULL is not freed. */
    CHECK(sqlite3_prepare_v2(db, "SELECT ?", -1, &statement, NULL) == SQLITE_OK);
    CHECK(sqlite3_bind_text(statement, 1, "a\xff", 2, SQLITE_STATIC) == SQLITE_MISMATCH);
    CHECK(strcmp(sqlite3_errmsg(db), "a text that is not UTF-8 cannot be stored") == 0);
    CHECK(sqlite3_bind_text(statement, 1, NULL, 0, frees) == SQLITE_OK && freed == 0);
    CHECK(sqlite3_bind_blob(statement, 1, NULL, 0, frees) == SQLITE_OK && freed == 0);
    CHECK(sqlite3_bind_text16(statement, 1, NULL, 0, frees) == SQLITE_OK && freed == 0);
    CHECK(sqlite3_finalize(statement) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, "SELECT '\xff'", -1, &statement, NULL) == SQLITE_MISMATCH && statement == NULL);
    CHECK(sqlite3_exec(db, "SELECT '\xff'", NULL, NULL, NULL) == SQLITE_MISMATCH);
    CHECK(sqlite3_create_function(db, "bad", 0, SQLITE_UTF8, NULL, gives_bad_text, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "SELECT bad()", NULL, NULL, NULL) == SQLITE_MISMATCH && freed == 0);

    /* A statement that steps, and functions that are freed. */
    CHECK(sqlite3_create_function(db, "asks", 0, SQLITE_UTF8, NULL, asks, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, "SELECT asks() WHERE ? IS NULL", -1, &asked, NULL) == SQLITE_OK);
    CHECK(sqlite3_step(asked) == SQLITE_ROW && sqlite3_column_int(asked, 0) == 1);
    CHECK(sqlite3_finalize(asked) == SQLITE_OK);
    CHECK(sqlite3_create_function_v2(db, "remade", 0, SQLITE_UTF8, db, asks, NULL, NULL, remakes) == SQLITE_OK);
    CHECK(sqlite3_create_function_v2(db, "remade", 0, SQLITE_UTF8, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK);

    /* A first semicolon is no statement, and a length may count the NUL. */
    CHECK(sqlite3_prepare_v2(db, ";SELECT 1", -1, &statement, &tail) == SQLITE_OK && statement != NULL && *tail == '\0');
    CHECK(sqlite3_finalize(statement) == SQLITE_OK);
    static const unsigned short wide[] = {'S', 'E', 'L', 'E', 'C', 'T', ' ', '1', 0};
    CHECK(sqlite3_prepare16_v2(db, wide, sizeof wide, &statement, NULL) == SQLITE_OK && statement != NULL);
    CHECK(sqlite3_finalize(statement) == SQLITE_OK);

    /* Rows that are changed are told, of statements that were ready before, too; but for those of a statement that gives rows itself. */
    CHECK(sqlite3_exec(db, "CREATE TABLE hooked (id INTEGER PRIMARY KEY, a TEXT)", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, "INSERT INTO hooked (a) VALUES (?)", -1, &statement, NULL) == SQLITE_OK);
    CHECK(sqlite3_step(statement) == SQLITE_DONE && sqlite3_reset(statement) == SQLITE_OK);
    CHECK(sqlite3_update_hook(db, tells, told) == NULL);
    CHECK(sqlite3_step(statement) == SQLITE_DONE && sqlite3_finalize(statement) == SQLITE_OK);
    CHECK(sqlite3_changes(db) == 1 && sqlite3_last_insert_rowid(db) == 2);
    CHECK(sqlite3_exec(db, "INSERT INTO hooked VALUES (7, 'x'), (9, 'y')", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_changes(db) == 2 && sqlite3_last_insert_rowid(db) == 9);
    CHECK(sqlite3_exec(db, "UPDATE hooked SET a = 'z' WHERE id = 7", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "DELETE FROM hooked WHERE id = 9", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(strcmp(told, "18 hooked 2;18 hooked 7;18 hooked 9;23 hooked 7;9 hooked 9;") == 0);
    CHECK(sqlite3_update_hook(db, NULL, NULL) == told);
    CHECK(sqlite3_exec(db, "DELETE FROM hooked", NULL, NULL, NULL) == SQLITE_OK && strlen(told) == 59);
    CHECK(sqlite3_close(db) == SQLITE_OK);
    puts("ok");
    return 0;
}
