/* Work that has to be done on R's main thread, which the engine's workers ask for while that thread waits for a statement.
 *
 *   worker     on_main(work)  ... waits ...................  goes on
 *   main       run(): waits for the statement  -> serve_one(): work -> waits for the statement
 *
 * A worker that waits gives up when its statement is interrupted, unless the main thread has begun with it: so a main thread that does
 * something else, as closing the statement, waits for nobody for ever. */
#include "inlay_r.h"
#include <errno.h>
#include <pthread.h>
#include <time.h>

typedef struct request {
  main_work work;
  void *data;
  enum { WAITING, TAKEN, DONE } state;
  struct request *next;
} request;

static request *first = NULL;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER; /* something for the main thread */
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;    /* something for workers */
static pthread_t main_thread;
static int calls = 0; /* of work that the main thread is in */

void serve_init(void) { main_thread = pthread_self(); }

int is_main_thread(void) { return pthread_equal(pthread_self(), main_thread); }

int is_serving(void) { return calls > 0; }

static void until(struct timespec *it, int milliseconds) {
  clock_gettime(CLOCK_REALTIME, it);
  it->tv_nsec += milliseconds * 1000000L;
  if (it->tv_nsec >= 1000000000L) {
    it->tv_sec += 1;
    it->tv_nsec -= 1000000000L;
  }
}

static void work_here(main_work work, void *data) {
  calls++;
  work(data);
  calls--;
}

static void take_out(request *it) {
  request **place = &first;
  while (*place != it) place = &(*place)->next;
  *place = it->next;
}

int on_main(main_work work, void *data, inlay_call *call) {
  if (is_main_thread()) {
    work_here(work, data);
    return 1;
  }
  request it = {.work = work, .data = data};
  pthread_mutex_lock(&lock);
  request **end = &first;
  while (*end != NULL) end = &(*end)->next;
  *end = &it;
  pthread_cond_signal(&arrived);
  while (it.state != DONE) {
    struct timespec at;
    until(&at, 20);
    pthread_cond_timedwait(&done, &lock, &at);
    if (it.state != WAITING || call == NULL) continue;
    pthread_mutex_unlock(&lock);
    const int is_interrupted = inlay_call_is_interrupted(call);
    pthread_mutex_lock(&lock);
    if (is_interrupted && it.state == WAITING) {
      take_out(&it);
      break;
    }
  }
  const int is_done = it.state == DONE;
  pthread_mutex_unlock(&lock);
  return is_done;
}

void serve_wake(int *flag) {
  pthread_mutex_lock(&lock);
  *flag = 1;
  pthread_cond_signal(&arrived);
  pthread_mutex_unlock(&lock);
}

int serve_until(const int *flag, int milliseconds) {
  struct timespec at;
  until(&at, milliseconds);
  pthread_mutex_lock(&lock);
  while (!*flag) {
    request *it = first;
    if (it == NULL) {
      if (pthread_cond_timedwait(&arrived, &lock, &at) == ETIMEDOUT) break;
      continue;
    }
    first = it->next;
    it->state = TAKEN;
    pthread_mutex_unlock(&lock);
    work_here(it->work, it->data);
    pthread_mutex_lock(&lock);
    it->state = DONE;
    pthread_cond_broadcast(&done);
    /* Ctrl-C is looked at after each. */
    break;
  }
  const int is_set = *flag;
  pthread_mutex_unlock(&lock);
  return is_set;
}
