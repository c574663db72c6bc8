/* SPDX-License-Identifier: BSD-2-Clause */
/* task_work.h - the kernel's function that lets a BPF program run later in another thread: whether there is one. */
#ifndef GECKOBPF_CAPTURE_TASK_WORK_H
#define GECKOBPF_CAPTURE_TASK_WORK_H

#include <stdbool.h>

struct bpf_object;

/*
 * Called for every object before it is loaded: our declaration becomes the kernel's, or libbpf would load no program of
 * it. Returns whether programs may call it.
 */
bool task_work_declare(struct bpf_object *object);

#endif
