/* Runs the engine so that Ctrl-C ends it: the work is on a thread of its own, which never enters R, and the main
 * thread asks R every few milliseconds whether the user has interrupted, and does what workers ask it for (serve.c). */
#include "inlay_r.h"
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
} job;

static void *work_on(void *pointer) {
  job *job = pointer;
  job->status = job->work(job->data, &job->error);
  serve_wake(&job->is_done);
  return NULL;
}

/* Connections whose statements run, the innermost first: a function in R may use others. */
typedef struct running {
  inlay_connection *connection;
  struct running *outer;
} running;

static running *innermost = NULL;
static int was_interrupted = 0;

int is_busy(const inlay_connection *connection) {
  if (!is_serving()) return 0;
  for (const running *it = innermost; it != NULL; it = it->outer)
    if (it->connection == connection) return 1;
  return 0;
}

void interrupt_run(void) { was_interrupted = 1; }

#define PROGRESS_AFTER_SECONDS 2.0
#define PROGRESS_EVERY_SECONDS 0.2
#define BAR 40

/* A line on R's console, for queries that take long. */
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

/* After how many seconds: the option inlay.progress is TRUE, as where R is interactive, FALSE, or a number of them. */
static double progress_after(void) {
  SEXP option = Rf_GetOption1(Rf_install("inlay.progress"));
  if (Rf_isLogical(option)) return Rf_asLogical(option) == 1 ? PROGRESS_AFTER_SECONDS : R_PosInf;
  return Rf_isNumeric(option) && XLENGTH(option) == 1 ? Rf_asReal(option) : R_PosInf;
}

static double now(void) {
  struct timespec it;
  clock_gettime(CLOCK_MONOTONIC, &it);
  return (double)it.tv_sec + (double)it.tv_nsec / 1e9;
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
  running frame = {connection, innermost};
  innermost = &frame;
  was_interrupted = 0;
  /* Signals are R's: its main thread gets them. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&thread, NULL, work_on, &job);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed) {
    work_on(&job);
  } else {
    int is_shown = 0;
    double next = now() + progress_after();
    while (!serve_until(&job.is_done, POLL_MS)) {
      const double at = now();
      if (at >= next) {
        show_progress(connection);
        is_shown = 1;
        next = at + PROGRESS_EVERY_SECONDS;
      }
      if (!*is_interrupted && (was_interrupted || !R_ToplevelExec(check, NULL))) *is_interrupted = 1;
      /* More than once: the call may not have begun when it was told to end. */
      if (*is_interrupted) inlay_interrupt(connection);
    }
    pthread_join(thread, NULL);
    if (is_shown) clear_progress();
  }
  if (was_interrupted) *is_interrupted = 1;
  was_interrupted = 0;
  innermost = frame.outer;
  *error = job.error;
  return job.status;
}

void raise_run(inlay_error **error, int is_interrupted) {
  const inlay_status status = inlay_error_status(*error);
  /* A function in R that was interrupted is an error of the function for the engine. */
  if (is_interrupted && (status == INLAY_ERROR_INTERRUPTED || status == INLAY_ERROR_EXTERNAL)) {
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
