/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * task_work.c - see task_work.h.
 *
 * libbpf compares kinds of types: where 6.18 declares a pointer to anything, later kernels (7.x) have one to a structure,
 * and a declaration fits one of them only. With ours changed the other programs load there; those that call it do not.
 */
#include "capture/task_work.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stddef.h>

#define FUNCTION "bpf_task_work_schedule_resume_impl"
#define PARAMETERS 5
#define OF_VERIFIER 4 /* the parameter that the verifier fills in */

/* NULL: there is none with so many parameters. */
static struct btf_param *find_parameters(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, FUNCTION, BTF_KIND_FUNC);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	type = type ? btf__type_by_id(btf, type->type) : NULL;
	return type && btf_vlen(type) == PARAMETERS ? btf_params(type) : NULL;
}

static bool is_to_structure(const struct btf *btf, const struct btf_param *parameter)
{
	const struct btf_type *type = btf__type_by_id(btf, parameter->type);

	type = type && btf_is_ptr(type) && type->type ? btf__type_by_id(btf, type->type) : NULL;
	return type && btf_is_struct(type);
}

static bool declare_as(const struct btf *kernel, struct btf *ours)
{
	const struct btf_param *theirs = find_parameters(kernel);
	struct btf_param *own = find_parameters(ours);

	if (!theirs || !own)
		return false;
	if (!is_to_structure(kernel, &theirs[OF_VERIFIER]))
		return true;
	own[OF_VERIFIER].type = own[0].type; /* whatever structure that is */
	return false;
}

bool task_work_declare(struct bpf_object *object)
{
	struct btf *kernel = btf__load_vmlinux_btf(), *ours = bpf_object__btf(object);
	bool is_there = kernel && ours && declare_as(kernel, ours);

	btf__free(kernel);
	return is_there;
}
