/* SPDX-License-Identifier: BSD-2-Clause */
/* gather.c - see gather.h. All is decided before anything is read, by what the recording says of threads. */
#include "profile/gather.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer/profile_buffer.h"
#include "profile/model.h"
#include "profile/thread_rows.h"

/* Threads for the CPU time that is spread over the recording, at most: none uses more than there is. */
#define SPARE_THREADS 64
/* No thread of a machine has such a number. */
#define SPARE_TID (1U << 22)

enum unit_kind { UNIT_OWN, UNIT_KERNEL, UNIT_SHORT };

static const char *const kernel_name = "[kernel]";

/* Images that are shown as the last of them. */
struct unit {
	struct gather_image *images;
	size_t image_count;
	uint64_t born_ns, until_ns;
	uint64_t cpu_ns; /* that the profile counts even without samples */
	bool has_samples, is_light;
	enum unit_kind kind;
};

/* A process that is made up. */
struct made {
	struct process process;
	struct thread spare[SPARE_THREADS]; /* its own threads; the first is its main thread */
	struct thread *items[SPARE_THREADS];
	uint64_t spare_ns; /* CPU time to be spread */
	struct gather_lanes lanes;
	size_t unit_count;
};

struct gather_work {
	struct gather_input input;
	size_t count; /* of processes */
	uint64_t light_ns; /* who used less is light */
	const struct process **takers; /* by number of a process: what it is folded into */
	struct gather_image *images;
	uint32_t *lanes; /* of images */
	size_t lane_count;
	struct unit *units;
	size_t unit_count;
	const struct unit **unit_of; /* by number of a process */
	struct unit **order; /* of those that are gathered, as they began */
	/* Images of the processes that are made up: all, and from where on there is room. */
	struct gather_image *gathered_room, *gathered;
	struct made kernel, brief;
};

/* ---- what is known of an image ------------------------------------------------------------ */

static uint64_t sample_count(const struct process *process)
{
	struct profile_buffer_state state;

	if (!process->buffer)
		return 0;
	state = profile_buffer_get_state(process->buffer);
	return state.samples_pushed - state.samples_cleared;
}

/* CPU time; if that is not known, what its samples stand for. */
static uint64_t used_ns(const struct gather_work *work, const struct process *process)
{
	uint64_t ns = 0;
	size_t i;

	for (i = 0; i < process->threads.count; i++) {
		const struct thread *thread = process->threads.items[i];

		if (thread->cpu_first_ns < thread->cpu_last_ns)
			ns += thread->cpu_last_ns - thread->cpu_first_ns;
	}
	return ns ? ns : sample_count(process) * work->input.recording->facts->interval_ns;
}

static bool is_light(const struct gather_work *work, const struct process *process)
{
	return used_ns(work, process) < work->light_ns;
}

static uint64_t counted_ns(const struct gather_work *work, const struct process *process)
{
	uint64_t ns = 0;
	size_t i;

	for (i = 0; i < process->threads.count; i++)
		ns += thread_rows_cpu_ns(process->threads.items[i], work->input.recording->facts,
					 work->input.filter);
	return ns;
}

/* ---- units -------------------------------------------------------------------------------- */

/* Whoever asks for some processes or threads gets them as they were. */
static bool keeps_all(const struct gather_work *work)
{
	const struct profile_filter *filter = work->input.filter;

	return filter->each_process || filter->process || filter->thread;
}

/* A fork that became another program at once: it did nothing but that. */
static bool is_mere_fork(const struct process *process)
{
	const struct process *before = process->previous;

	return process->born_ns && process->died_ns < process->born_ns + GATHER_FORK_NS &&
	       (!before || before->key_ns != process->key_ns);
}

/* What the process was before exec is part of what it became. */
static bool folds(const struct gather_work *work, const struct process *process)
{
	const struct process *before = process->previous;

	if (keeps_all(work) || !before || before->key_ns != process->key_ns || !before->died_ns)
		return false;
	if (before->threads.count > 1 || work->takers[before->number])
		return false;
	if (!is_light(work, before) && !is_mere_fork(before))
		return false;
	return work->input.mixes || !sample_count(before);
}

static void find_takers(struct gather_work *work)
{
	size_t i;

	for (i = 0; i < work->count; i++) {
		const struct process *process = processes_at(work->input.recording->processes, i);

		if (folds(work, process))
			work->takers[process->previous->number] = process;
	}
}

static size_t chain_length(const struct gather_work *work, const struct process *process)
{
	size_t length = 1;

	for (; process->previous && work->takers[process->previous->number] == process; length++)
		process = process->previous;
	return length;
}

/* `last` becomes a unit, with what it was before; `images` is room for all. */
static void make_unit(struct gather_work *work, struct process *last, struct gather_image *images)
{
	const struct recording_facts *facts = work->input.recording->facts;
	struct unit *unit = &work->units[work->unit_count++];
	struct process *process = last;
	size_t i = chain_length(work, last);

	unit->images = images;
	unit->image_count = i;
	unit->until_ns = last->died_ns ? last->died_ns : facts->end_ns;
	unit->is_light = true;
	while (i--) {
		images[i].process = process;
		work->unit_of[process->number] = unit;
		unit->cpu_ns += counted_ns(work, process);
		unit->has_samples = unit->has_samples || sample_count(process);
		unit->is_light = unit->is_light && is_light(work, process);
		unit->born_ns = process->born_ns;
		process = process->previous;
	}
}

static void make_units(struct gather_work *work)
{
	struct gather_image *images = work->images;
	size_t i;

	for (i = 0; i < work->count; i++) {
		struct process *process = processes_at(work->input.recording->processes, i);

		if (work->takers[process->number])
			continue;
		make_unit(work, process, images);
		images += work->units[work->unit_count - 1].image_count;
	}
}

static const struct process *last_of(const struct unit *unit)
{
	return unit->images[unit->image_count - 1].process;
}

static enum unit_kind kind_of(const struct gather_work *work, const struct unit *unit)
{
	const struct process *process = last_of(unit);

	if (process->is_root || keeps_all(work) || (!unit->has_samples && !unit->cpu_ns))
		return UNIT_OWN;
	if (process->is_kernel)
		return UNIT_KERNEL;
	if (!unit->has_samples)
		return UNIT_SHORT;
	if (!unit->is_light || !work->input.mixes || !process->died_ns)
		return UNIT_OWN;
	return unit->born_ns >= work->input.recording->facts->start_ns ? UNIT_SHORT : UNIT_OWN;
}

static void choose_kinds(struct gather_work *work)
{
	size_t counts[UNIT_SHORT + 1] = {0}, i;

	for (i = 0; i < work->unit_count; i++) {
		work->units[i].kind = kind_of(work, &work->units[i]);
		counts[work->units[i].kind]++;
	}
	/* One alone is what it is. */
	for (i = 0; i < work->unit_count; i++)
		if (counts[work->units[i].kind] < 2)
			work->units[i].kind = UNIT_OWN;
}

/* ---- places ------------------------------------------------------------------------------- */

static bool take_lanes(struct gather_work *work, const struct unit *unit)
{
	const struct gather_image *last = &unit->images[unit->image_count - 1];
	const struct process *process = last->process;
	char name[THREAD_NAME_BYTES + 1] = {0};
	const struct gather_stay stay = {*process->name ? name : "?", unit->born_ns,
					 unit->until_ns};

	memcpy(name, process->name, strnlen(process->name, sizeof(process->name)));
	return gather_lanes_take(&work->brief.lanes, &stay, last->lanes, process->threads.count);
}

/* What it was before had one thread: it has the lane of what became of that. */
static void take_lanes_before(const struct unit *unit)
{
	const struct gather_image *last = &unit->images[unit->image_count - 1];
	uint32_t lane = last->lanes[0];
	size_t i;

	for (i = 0; i < last->process->threads.count; i++)
		if (last->process->threads.items[i]->tid == last->process->tgid)
			lane = last->lanes[i];
	for (i = 0; i + 1 < unit->image_count; i++)
		if (unit->images[i].process->threads.count)
			unit->images[i].lanes[0] = lane;
}

static void place_short(struct gather_work *work, struct unit *unit)
{
	/* What was there all the time would take a lane for itself. */
	bool is_short = unit->born_ns && last_of(unit)->died_ns;

	if (is_short && take_lanes(work, unit)) {
		take_lanes_before(unit);
		work->brief.lanes.items[unit->images[unit->image_count - 1].lanes[0]].unit_count++;
	} else if (unit->has_samples) {
		unit->kind = UNIT_OWN;
		return;
	} else {
		work->brief.spare_ns += unit->cpu_ns;
	}
	work->brief.unit_count++;
}

static void place_kernel(struct gather_work *work, const struct unit *unit)
{
	const struct process *process = unit->images->process;
	size_t i;

	work->kernel.unit_count++;
	if (!unit->has_samples) {
		work->kernel.spare_ns += unit->cpu_ns;
		return;
	}
	for (i = 0; i < process->threads.count; i++)
		unit->images->lanes[i] =
			gather_lanes_add(&work->kernel.lanes, process->threads.items[i]->name,
					 process->threads.items[i]->tid);
}

static int by_birth(const void *a, const void *b)
{
	const struct unit *const *left = a, *const *right = b;

	if ((*left)->born_ns != (*right)->born_ns)
		return (*left)->born_ns < (*right)->born_ns ? -1 : 1;
	return *left < *right ? -1 : 1;
}

static void place_units(struct gather_work *work)
{
	size_t count = 0, i;

	for (i = 0; i < work->unit_count; i++)
		if (work->units[i].kind != UNIT_OWN)
			work->order[count++] = &work->units[i];
	if (count)
		qsort(work->order, count, sizeof(*work->order), by_birth);
	for (i = 0; i < count; i++) {
		if (work->order[i]->kind == UNIT_KERNEL)
			place_kernel(work, work->order[i]);
		else
			place_short(work, work->order[i]);
	}
	gather_lanes_name(&work->brief.lanes);
}

/* ---- tracks ------------------------------------------------------------------------------- */

/* The threads of the process that is made up have the CPU time that is in no lane. */
static void make_process(struct gather_work *work, struct made *made, enum unit_kind kind)
{
	const char *name = kind == UNIT_KERNEL ? kernel_name : "short processes";
	const struct recording_facts *facts = work->input.recording->facts;
	uint64_t wall_ns = facts->end_ns > facts->start_ns ? facts->end_ns - facts->start_ns : 1;
	size_t i;

	gather_lanes_own(&made->lanes, &made->process);
	made->process = (struct process){
		.number = UINT32_MAX,
		.life = 2 * work->input.number + kind,
		.is_kernel = kind == UNIT_KERNEL,
		.threads.items = made->items,
	};
	snprintf(made->process.name, sizeof(made->process.name), "%s", name);
	for (i = 0; i < SPARE_THREADS && (!i || made->spare_ns); i++) {
		uint64_t cpu_ns = made->spare_ns < wall_ns ? made->spare_ns : wall_ns;

		made->spare_ns -= cpu_ns;
		made->spare[i] = (struct thread){
			.number = (uint32_t)i,
			.tid = i ? SPARE_TID + (uint32_t)i : 0,
			.born_ns = facts->start_ns,
			.cpu_last_ns = cpu_ns,
			.process = &made->process,
		};
		memcpy(made->spare[i].name, made->process.name, sizeof(made->process.name));
		made->items[i] = &made->spare[i];
	}
	made->process.threads.count = i;
	made->process.threads.numbers.top = (uint32_t)i;
}

static void add_made_track(struct gathering *gathering, struct made *made, enum unit_kind kind,
			   const char *name)
{
	struct gather_work *work = gathering->work;
	struct gather_track *track = &gathering->tracks[gathering->track_count];
	size_t i, k;

	if (!made->unit_count)
		return;
	make_process(work, made, kind);
	*track = (struct gather_track){.process = &made->process,
				       .images = work->gathered,
				       .is_gathered = true,
				       .lanes = &made->lanes,
				       .has_cpu = true};
	snprintf(track->name, sizeof(track->name), "%s", name);
	track->images[track->image_count++] = (struct gather_image){.process = &made->process};
	for (i = 0; i < work->unit_count && work->order[i]; i++)
		for (k = 0; work->order[i]->kind == kind && k < work->order[i]->image_count; k++)
			track->images[track->image_count++] = work->order[i]->images[k];
	work->gathered += track->image_count;
	gathering->track_count++;
}

static void add_tracks(struct gathering *gathering)
{
	struct gather_work *work = gathering->work;
	char name[GATHER_NAME_BYTES];
	size_t i;

	for (i = 0; i < work->unit_count; i++) {
		struct unit *unit = &work->units[i];

		if (unit->kind == UNIT_SHORT)
			gathering->counts.cpu_ns += unit->cpu_ns;
		gathering->counts.folded += unit->image_count - 1;
		if (unit->kind == UNIT_OWN)
			gathering->tracks[gathering->track_count++] = (struct gather_track){
				.process = unit->images[unit->image_count - 1].process,
				.images = unit->images,
				.image_count = unit->image_count,
				.has_cpu = unit->cpu_ns};
	}
	gathering->counts.processes = work->brief.unit_count;
	add_made_track(gathering, &work->kernel, UNIT_KERNEL, kernel_name);
	snprintf(name, sizeof(name), "%zu short processes", work->brief.unit_count);
	add_made_track(gathering, &work->brief, UNIT_SHORT, name);
}

/* ---- all of it ------------------------------------------------------------------------------ */

static void *zeroed(size_t count, size_t bytes)
{
	return calloc(count ? count : 1, bytes);
}

static bool is_brief(const struct gather_work *work, const struct process *process)
{
	return process->died_ns && process->born_ns >= work->input.recording->facts->start_ns &&
	       !process->is_root && !process->is_kernel;
}

static int most_first(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left > right ? -1 : left < right;
}

/* A share of all, or more if so many that came and went used as much. */
static int weigh(struct gather_work *work)
{
	uint64_t *used = zeroed(work->count, sizeof(*used)), all_ns = 0;
	size_t count = 0, i;

	if (!used)
		return -ENOMEM;
	for (i = 0; i < work->count; i++) {
		const struct process *process = processes_at(work->input.recording->processes, i);

		used[count] = used_ns(work, process);
		all_ns += used[count];
		count += is_brief(work, process);
	}
	if (count)
		qsort(used, count, sizeof(*used), most_first);
	work->light_ns = all_ns / GATHER_SHARE;
	if (count > GATHER_SHOWN && used[GATHER_SHOWN] >= work->light_ns)
		work->light_ns = used[GATHER_SHOWN] + 1;
	free(used);
	return 0;
}

/* What the images and their threads need, by number. */
static void measure(struct gather_work *work, size_t *numbers, size_t *kernel_threads)
{
	size_t i;

	*numbers = *kernel_threads = 0;
	for (i = 0; i < work->count; i++) {
		const struct process *process = processes_at(work->input.recording->processes, i);

		if (process->number >= *numbers)
			*numbers = (size_t)process->number + 1;
		work->lane_count += process->threads.count;
		*kernel_threads += process->is_kernel ? process->threads.count : 0;
	}
}

static int make_room(struct gather_work *work)
{
	size_t numbers, kernel_threads;

	measure(work, &numbers, &kernel_threads);
	work->takers = zeroed(numbers, sizeof(*work->takers));
	work->unit_of = zeroed(numbers, sizeof(struct unit *));
	work->images = zeroed(work->count, sizeof(*work->images));
	work->lanes = zeroed(work->lane_count, sizeof(*work->lanes));
	work->units = zeroed(work->count, sizeof(*work->units));
	work->order = zeroed(work->count + 1, sizeof(struct unit *));
	/* Those that are made up have an image of their own. */
	work->gathered_room = zeroed(work->count + 2, sizeof(*work->gathered));
	work->gathered = work->gathered_room;
	if (!work->takers || !work->unit_of || !work->images || !work->lanes || !work->units ||
	    !work->order || !work->gathered)
		return -ENOMEM;
	if (gather_lanes_open(&work->kernel.lanes, kernel_threads))
		return -ENOMEM;
	return gather_lanes_open(&work->brief.lanes, GATHER_LANES);
}

/* None has a lane at first. */
static void give_lanes(struct gather_work *work)
{
	uint32_t *lanes = work->lanes;
	size_t i;

	for (i = 0; i < work->lane_count; i++)
		lanes[i] = GATHER_NO_LANE;
	for (i = 0; i < work->count; i++) {
		work->images[i].lanes = lanes;
		lanes += work->images[i].process->threads.count;
	}
}

int gathering_open(struct gathering *out, const struct gather_input *input)
{
	struct gathering made = {.work = calloc(1, sizeof(*made.work))};
	int err = made.work ? 0 : -ENOMEM;

	if (!err) {
		made.work->input = *input;
		made.work->count = processes_count(input->recording->processes);
		made.tracks = zeroed(made.work->count + 2, sizeof(*made.tracks));
		err = made.tracks ? make_room(made.work) : -ENOMEM;
	}
	if (!err)
		err = weigh(made.work);
	if (err) {
		gathering_close(&made);
		return err;
	}
	find_takers(made.work);
	make_units(made.work);
	give_lanes(made.work);
	choose_kinds(made.work);
	place_units(made.work);
	add_tracks(&made);
	*out = made;
	return 0;
}

void gathering_close(struct gathering *gathering)
{
	struct gather_work *work = gathering->work;

	free(gathering->tracks);
	if (!work)
		return;
	free(work->takers);
	free(work->unit_of);
	free(work->images);
	free(work->lanes);
	free(work->units);
	free(work->order);
	free(work->gathered_room);
	gather_lanes_close(&work->kernel.lanes);
	gather_lanes_close(&work->brief.lanes);
	free(work);
}

const struct process *gathering_process(const struct gathering *gathering,
					const struct process *image)
{
	const struct unit *unit = gathering->work->unit_of[image->number];

	return unit->kind == UNIT_OWN ? last_of(unit) : NULL;
}

bool gathering_has_cpu(const struct gathering *gathering, const struct process *process)
{
	return gathering->work->unit_of[process->number]->cpu_ns;
}
