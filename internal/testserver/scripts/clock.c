// Preloaded into a server, this shifts its wall clock by the microseconds that the file ROWLOCK_CLOCK holds, as a number
// in the machine's own order, whenever they are written there. Timers run on the monotonic clock and are not concerned;
// a wait until a time of the wall clock (a condition variable) is given the time that the kernel means.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t none, *shift = &none;

typedef int wait_until(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
typedef int wait_until_on(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);

static wait_until *cond_timedwait;
static wait_until_on *cond_clockwait;

__attribute__((constructor)) static void map(void) {
	// The newest of the versions: dlsym might give one for programs of before 2003.
	cond_timedwait = (wait_until *)dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
	if (cond_timedwait == NULL)
		cond_timedwait = (wait_until *)dlsym(RTLD_NEXT, "pthread_cond_timedwait");
	cond_clockwait = (wait_until_on *)dlsym(RTLD_NEXT, "pthread_cond_clockwait");
	const char *path = getenv("ROWLOCK_CLOCK");
	int fd = path == NULL ? -1 : open(path, O_RDONLY);
	if (fd < 0)
		_exit(90);
	void *at = mmap(NULL, sizeof *shift, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		_exit(91);
	shift = at;
}

static void move(time_t *sec, int64_t ns, int64_t us, long *nsec) {
	ns += (us % 1000000) * 1000;
	*sec += us / 1000000 + ns / 1000000000;
	ns %= 1000000000;
	if (ns < 0) {
		ns += 1000000000;
		*sec -= 1;
	}
	*nsec = ns;
}

int gettimeofday(struct timeval *tv, void *zone) {
	if (syscall(SYS_gettimeofday, tv, zone) != 0)
		return -1;
	long ns;
	move(&tv->tv_sec, tv->tv_usec * 1000, *shift, &ns);
	tv->tv_usec = ns / 1000;
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *ts) {
	if (syscall(SYS_clock_gettime, clock, ts) != 0)
		return -1;
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		move(&ts->tv_sec, ts->tv_nsec, *shift, &ts->tv_nsec);
	return 0;
}

time_t time(time_t *at) {
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	if (at != NULL)
		*at = ts.tv_sec;
	return ts.tv_sec;
}

// A condition variable knows its clock: glibc keeps that in the second bit of its waiters' word.
int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until) {
	struct timespec ts = *until;
	if ((cond->__data.__wrefs & 2) == 0)
		move(&ts.tv_sec, ts.tv_nsec, -*shift, &ts.tv_nsec);
	return cond_timedwait(cond, mutex, &ts);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until) {
	struct timespec ts = *until;
	if (clock == CLOCK_REALTIME)
		move(&ts.tv_sec, ts.tv_nsec, -*shift, &ts.tv_nsec);
	return cond_clockwait(cond, mutex, clock, &ts);
}
