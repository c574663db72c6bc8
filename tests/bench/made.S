/* SPDX-License-Identifier: BSD-2-Clause */
/* made.S - the functions of made.h: a library with MADE_FUNCTIONS names, MADE_FUNCTION_BYTES each, from MADE_OFFSET of the file on. */
	.altmacro
	.macro function number
	.type made_\number, @function
	.size made_\number, 256
made_\number:
	.fill 256, 1, 0x90
	.endm

	.text
	.set i, 0
	.rept 4096
	function %i
	.set i, i + 1
	.endr
