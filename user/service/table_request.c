/* SPDX-License-Identifier: BSD-2-Clause */
/* table_request.c - see table_request.h. The request is a descriptor or none, the answer a sealed table_image.h. */
#include "service/table_request.h"

#include "base/fd.h"
#include "reader/sealed.h"
#include "service/table_image.h"

#include <errno.h>
#include <sys/auxv.h>
#include <unistd.h>

int table_begin(struct reader *parser, int fd)
{
	struct reader_message request;

	reader_message_begin(&request, SERVICE_TABLE);
	if (fd >= 0)
		request.fds[request.fd_count++] = fd;
	return reader_begin(parser, &request);
}

static int map_table(int fd, struct made_table *out)
{
	int err = sealed_map(fd, TABLE_IMAGE_MAX_BYTES, &out->image, &out->image_bytes);

	if (err)
		return err == -EFBIG ? -E2BIG : err;
	err = table_image_read(out->image, out->image_bytes, &out->table);
	if (err)
		sealed_unmap(out->image, out->image_bytes);
	return err;
}

int table_take(struct reader *parser, struct reader_message *answer, struct made_table *out)
{
	int fd = reader_message_take_fd(answer), err = answer->status;

	if (!err)
		err = map_table(fd, out);
	fd_close(&fd);
	/* There is memory here; there it was too little for this file. */
	if (answer->status == -ENOMEM)
		err = -E2BIG;
	if (err == -EBADMSG || err > 0)
		reader_distrust(parser);
	return err > 0 ? -EBADMSG : err;
}

void table_close(struct made_table *table)
{
	sealed_unmap(table->image, table->image_bytes);
}

/* ---- in the reader ------------------------------------------------------------------- */

/* The vDSO is the same in every process. */
static struct unwind_source source_of(const struct reader_message *request)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);

	if (request->fd_count)
		return (struct unwind_source){.fd = request->fds[0]};
	return (struct unwind_source){
		.fd = -1,
		.image = vdso,
		.image_bytes = vdso ? 2 * (size_t)sysconf(_SC_PAGESIZE) : 0,
	};
}

int32_t table_answer(const struct reader_message *request, struct reader_message *answer)
{
	const struct unwind_source source = source_of(request);
	struct unwind_table *table;
	int fd, err = unwind_table_compile(&table, &source);

	if (err)
		return err;
	fd = table_image_make(table);
	unwind_table_close(table);
	if (fd < 0)
		return fd;
	answer->fds[answer->fd_count++] = fd;
	return 0;
}
