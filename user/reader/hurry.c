/* SPDX-License-Identifier: BSD-2-Clause */
/* hurry.c - see hurry.h. One thread wants a process to be raised, and waits until the other has done it. */
#include "reader/hurry.h"

#include "base/helper_thread.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

/* How somebody is scheduled. */
struct place {
	int policy; /* without SCHED_RESET_ON_FORK */
	struct sched_param param;
	int nice;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	pid_t owner; /* 0: there is no thread */
	pid_t child; /* to be raised; 0: none */
	struct place place; /* where to */
	bool is_closing;
} hurry = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static bool is_real_time(const struct place *place)
{
	return place->policy == SCHED_RR || place->policy == SCHED_FIFO;
}

static void move(pid_t who, const struct place *place)
{
	(void)sched_setscheduler(who, place->policy, &place->param);
	if (!is_real_time(place))
		(void)setpriority(PRIO_PROCESS, (id_t)who, place->nice);
}

/* 0: that of the calling thread. */
static struct place place_of(pid_t who)
{
	struct place place = {.policy = sched_getscheduler(who) & ~SCHED_RESET_ON_FORK,
			      .nice = getpriority(PRIO_PROCESS, (id_t)who)};

	(void)sched_getparam(who, &place.param);
	return place;
}

/* What is behind it: who waits is not to be kept from going on. */
static struct place behind(struct place place)
{
	if (is_real_time(&place) &&
	    place.param.sched_priority > sched_get_priority_min(place.policy))
		place.param.sched_priority--;
	return place;
}

static void *run(void *context)
{
	move(0, context);
	helper_thread_keep_nice();
	(void)prctl(PR_SET_NAME, "geckobpf-hurry");
	pthread_mutex_lock(&hurry.lock);
	while (!hurry.is_closing) {
		if (hurry.child) {
			move(hurry.child, &hurry.place);
			hurry.child = 0;
			pthread_cond_broadcast(&hurry.changed);
		}
		pthread_cond_wait(&hurry.changed, &hurry.lock);
	}
	pthread_mutex_unlock(&hurry.lock);
	return NULL;
}

int hurry_open(void)
{
	static struct place place;
	sigset_t all, before;
	int err;

	place = place_of(0);
	if (hurry.owner || (!is_real_time(&place) && place.nice >= 0))
		return 0;
	hurry.is_closing = false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&hurry.thread, NULL, run, &place);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!err)
		hurry.owner = getpid();
	return -err;
}

/* In a child that was forked there is none. */
static bool has_thread(void)
{
	return hurry.owner && hurry.owner == getpid();
}

void hurry_close(void)
{
	if (!has_thread())
		return;
	pthread_mutex_lock(&hurry.lock);
	hurry.is_closing = true;
	pthread_cond_broadcast(&hurry.changed);
	pthread_mutex_unlock(&hurry.lock);
	pthread_join(hurry.thread, NULL);
	hurry.owner = 0;
}

void hurry_up(pid_t child)
{
	const struct place place = behind(place_of(0));

	if (!has_thread()) {
		move(child, &place);
		return;
	}
	pthread_mutex_lock(&hurry.lock);
	hurry.child = child;
	hurry.place = place;
	pthread_cond_broadcast(&hurry.changed);
	while (hurry.child)
		pthread_cond_wait(&hurry.changed, &hurry.lock);
	pthread_mutex_unlock(&hurry.lock);
}

void hurry_follow(pid_t child)
{
	const struct place ours = place_of(0), its = place_of(child);

	if (is_real_time(&its) && !is_real_time(&ours))
		hurry_up(child);
}

void hurry_no_more(pid_t child)
{
	const struct sched_param param = {0};

	(void)sched_setscheduler(child, SCHED_OTHER, &param);
	(void)setpriority(PRIO_PROCESS, (id_t)child, 0);
}
