/* The library by dlopen, again and again: no threads, files or memory are left behind. */
#define _GNU_SOURCE
#include "check.h"

#include <dirent.h>
#include <dlfcn.h>
#include <unistd.h>

static int entries(const char *folder) {
  DIR *found = opendir(folder);
  int count = 0;
  CHECK(found != NULL);
  while (readdir(found) != NULL) count++;
  closedir(found);
  return count;
}

#define SYMBOL(name) \
  __typeof__(&name) load_##name; \
  *(void **)&load_##name = dlsym(library, #name); \
  CHECK(load_##name != NULL)

int main(int count, char **given) {
  int files = 0, threads = 0;
  CHECK(count == 3);
  for (int round = 0; round < 20; round++) {
    void *library = dlopen(given[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    SYMBOL(inlay_open);
    SYMBOL(inlay_connect);
    SYMBOL(inlay_execute);
    SYMBOL(inlay_disconnect);
    SYMBOL(inlay_close);
    inlay_database *database = NULL;
    inlay_connection *connection = NULL;
    CHECK(load_inlay_open(given[2], NULL, &database, NULL) == INLAY_OK);
    CHECK(load_inlay_connect(database, &connection, NULL) == INLAY_OK);
    CHECK(load_inlay_execute(connection, "CREATE OR REPLACE TABLE t AS SELECT range FROM range(1000000)", NULL, NULL) == INLAY_OK);
    CHECK(load_inlay_execute(connection, "SELECT sum(range) FROM t", NULL, NULL) == INLAY_OK);
    load_inlay_disconnect(&connection);
    load_inlay_close(&database);
    CHECK(dlclose(library) == 0);
    if (round == 2) {
      files = entries("/proc/self/fd");
      usleep(200000);
      threads = entries("/proc/self/task");
    }
  }
  usleep(200000);
  CHECK(entries("/proc/self/fd") == files);
  CHECK(entries("/proc/self/task") <= threads);
  return 0;
}
