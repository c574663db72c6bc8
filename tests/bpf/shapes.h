/* SPDX-License-Identifier: BSD-2-Clause */
/* shapes.h - stacks of many shapes, each of which calls self_check() (self.h) where it is most interesting. */
#ifndef GECKOBPF_TESTS_SHAPES_H
#define GECKOBPF_TESTS_SHAPES_H

#include "self.h"

#ifdef __cplusplus
extern "C" {
#endif

/* shapes.c: calls of functions without frame pointers, `depth` deep; then `leaf`. */
int shape_calls(int depth, void (*leaf)(void));
void shape_qsort(void);
void shape_alloca(void);
void shape_large_frame(void);
void shape_realigned(void);
void shape_noreturn(void);
void shape_longjmp(void);
void shape_coroutine(void);
void shape_thread(void);
void shape_vfork_child(void);
void shape_in_vfork(void);
void shape_in_vdso(void);
void shape_frame_pointers(void);

/* signals.c */
void shape_signal(void);
void shape_signal_stack(void);
void shape_nested_signals(void);

/* steps.c: a check at every instruction. */
void shape_step_calls(void);
void shape_step_realigned(void);
void shape_step_first_plt_call(void);
void shape_step_plt_call(void);
void shape_step_vdso(void);
void shape_step_frame_pointers(void);

/* exceptions.cc */
void shape_exception_cleanup(void);
void shape_exception_catch(void);
void shape_exception_rethrow(void);
void shape_exception_terminate(void);
void shape_exception_through_c(void);

/* frame_pointer.c: no unwind information at all. Adds the frames it makes to `trail`, outermost first. */
int frame_pointer_calls(int depth, struct self_stack *trail, void (*leaf)(void));

/* Calls `callback` with exceptions let through; in C. */
int shape_call_back(void (*callback)(void));

#ifdef __cplusplus
}
#endif

#endif
