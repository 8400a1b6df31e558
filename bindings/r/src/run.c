/* Runs the engine so that Ctrl-C ends it: the work is on a thread of its own, which never enters R, and the main
 * thread asks R every few milliseconds whether the user has interrupted. */
#include "inlay_r.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#define POLL_MS 20

typedef struct {
  engine_work work;
  void *data;
  inlay_error *error;
  inlay_status status;
  int is_done;
  pthread_mutex_t lock;
  pthread_cond_t done;
} job;

static void *work_on(void *pointer) {
  job *job = pointer;
  inlay_error *error = NULL;
  inlay_status status = job->work(job->data, &error);
  pthread_mutex_lock(&job->lock);
  job->status = status;
  job->error = error;
  job->is_done = 1;
  pthread_cond_signal(&job->done);
  pthread_mutex_unlock(&job->lock);
  return NULL;
}

/* Whether the work is done, after waiting for some milliseconds at most. */
static int wait_for(job *job) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += POLL_MS * 1000000L;
  if (until.tv_nsec >= 1000000000L) {
    until.tv_sec += 1;
    until.tv_nsec -= 1000000000L;
  }
  pthread_mutex_lock(&job->lock);
  while (!job->is_done) {
    if (pthread_cond_timedwait(&job->done, &job->lock, &until) == ETIMEDOUT) break;
  }
  int is_done = job->is_done;
  pthread_mutex_unlock(&job->lock);
  return is_done;
}

#define PROGRESS_AFTER_MS 2000
#define PROGRESS_EVERY_MS 200
#define BAR 40

/* A line on R's console, for queries that take long; option inlay.progress, which is on where R is interactive. */
static void show_progress(inlay_connection *connection) {
  inlay_progress progress;
  if (!inlay_get_progress(connection, &progress)) return;
  const double fraction = progress.fraction < 0 ? 0 : progress.fraction > 1 ? 1 : progress.fraction;
  char bar[BAR + 1];
  for (int i = 0; i < BAR; i++) bar[i] = i < fraction * BAR ? '=' : ' ';
  bar[BAR] = 0;
  REprintf("\r[%s] %3.0f %%", bar, fraction * 100);
}

static void clear_progress(void) { REprintf("\r%*s\r", BAR + 10, ""); }

static int wants_progress(void) {
  SEXP option = Rf_GetOption1(Rf_install("inlay.progress"));
  return Rf_isLogical(option) && Rf_asLogical(option) == 1;
}

static void check(void *nothing) {
  (void)nothing;
  R_CheckUserInterrupt();
}

inlay_status run_quietly(inlay_connection *connection, engine_work work, void *data, inlay_error **error, int *is_interrupted) {
  job job = {.work = work, .data = data};
  pthread_t thread;
  sigset_t all, before;
  *is_interrupted = 0;
  pthread_mutex_init(&job.lock, NULL);
  pthread_cond_init(&job.done, NULL);
  /* Signals are R's: its main thread gets them. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&thread, NULL, work_on, &job);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed) {
    work_on(&job);
  } else {
    int waited_ms = 0, is_shown = 0;
    while (!wait_for(&job)) {
      waited_ms += POLL_MS;
      if (waited_ms >= PROGRESS_AFTER_MS && waited_ms % PROGRESS_EVERY_MS == 0 && wants_progress()) {
        show_progress(connection);
        is_shown = 1;
      }
      if (!*is_interrupted && !R_ToplevelExec(check, NULL)) *is_interrupted = 1;
      /* More than once: the call may not have begun when it was told to end. */
      if (*is_interrupted) inlay_interrupt(connection);
    }
    pthread_join(thread, NULL);
    if (is_shown) clear_progress();
  }
  pthread_cond_destroy(&job.done);
  pthread_mutex_destroy(&job.lock);
  *error = job.error;
  return job.status;
}

void raise_run(inlay_error **error, int is_interrupted) {
  if (is_interrupted && inlay_error_status(*error) == INLAY_ERROR_INTERRUPTED) {
    inlay_error_free(error);
    /* R's own handler marks the interrupt, and the check raises it, as if it came now. */
    raise(SIGINT);
    R_CheckUserInterrupt();
  }
  raise_error(error);
}

void run(inlay_connection *connection, engine_work work, void *data) {
  inlay_error *error = NULL;
  int is_interrupted = 0;
  if (run_quietly(connection, work, data, &error, &is_interrupted) != INLAY_OK) raise_run(&error, is_interrupted);
}
