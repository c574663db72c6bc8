# SPDX-License-Identifier: BSD-2-Clause
"""hanging.py DIRECTORY PROGRAM FLAGS: a file system of one file, `f`, with the content of PROGRAM, for everybody.

When the file FLAGS/open, FLAGS/read or FLAGS/flush (close) is there, processes of geckobpf get no answer to that any more, and
FLAGS/asked is made. With FLAGS/rest it is so with all reads but those of the first and the last page: the file can be told from
others, and not be parsed.
"""

import ctypes
import errno
import os
import struct
import sys

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE = 1, 2, 3, 14, 15, 18
FLUSH, INIT, OPENDIR, RELEASEDIR, INTERRUPT = 25, 26, 27, 29, 36
HANGS = {OPEN: "open", READ: "read", FLUSH: "flush"}
PAGE_BYTES = 4096
DIRECT_IO = 1  # what others have read is asked for again


def attributes(node, size):
    directory = node == 1
    return struct.pack("<6Q9I", node, 0 if directory else size, 8, 0, 0, 0, 0, 0, 0,
                       0o40755 if directory else 0o100755, 1, 0, 0, 0, 4096) + bytes(4)


def is_of_geckobpf(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().startswith("geckobpf")
    except OSError:
        return False


class Server:
    def __init__(self, device, content, flags):
        self.device, self.content, self.flags = device, content, flags

    def flag(self, name):
        return os.path.join(self.flags, name)

    def answer(self, unique, error=0, data=b""):
        try:
            os.write(self.device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)
        except OSError:
            pass  # it is not waited for any more

    def is_wanted(self, operation, body):
        name = HANGS.get(operation)
        if name and os.path.exists(self.flag(name)):
            return True
        if operation != READ or not os.path.exists(self.flag("rest")):
            return False
        return PAGE_BYTES <= struct.unpack("<Q", body[8:16])[0] < len(self.content) - PAGE_BYTES

    def hangs(self, operation, pid, body):
        if not self.is_wanted(operation, body) or not is_of_geckobpf(pid):
            return False
        with open(self.flag("asked"), "a", encoding="utf-8"):
            return True

    def serve(self, request):
        _, operation, unique, node, _, _, pid, _ = struct.unpack("<IIQQIIII", request[:40])
        body = request[40:]
        size = len(self.content)
        if self.hangs(operation, pid, body) or operation in (FORGET, INTERRUPT):
            return
        if operation == INIT:
            self.answer(unique, data=struct.pack("<IIIIHHIIHHI", 7, 31, 65536, 0, 12, 10, 65536, 1, 0, 0, 0) + bytes(28))
        elif operation == LOOKUP and body.rstrip(b"\0") == b"f":
            self.answer(unique, data=struct.pack("<4QII", 2, 0, 3600, 3600, 0, 0) + attributes(2, size))
        elif operation == LOOKUP:
            self.answer(unique, errno.ENOENT)
        elif operation == GETATTR:
            self.answer(unique, data=struct.pack("<QII", 3600, 0, 0) + attributes(node, size))
        elif operation in (OPEN, OPENDIR):
            self.answer(unique, data=struct.pack("<QII", 1, DIRECT_IO if is_of_geckobpf(pid) else 0, 0))
        elif operation == READ:
            _, offset, count = struct.unpack("<QQI", body[:20])
            self.answer(unique, data=self.content[offset:offset + count])
        elif operation in (RELEASE, RELEASEDIR, FLUSH):
            self.answer(unique)
        else:
            self.answer(unique, errno.ENOSYS)


def main(directory, program, flags):
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"hanging", directory.encode(), b"fuse", 6, options.encode()):
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    print("mounted", flush=True)
    with open(program, "rb") as file:
        server = Server(device, file.read(), flags)
    while True:
        try:
            server.serve(os.read(device, 1 << 18))
        except OSError as error:
            if error.errno != errno.EINTR and error.errno != errno.ENOENT:
                return


if __name__ == "__main__":
    main(*sys.argv[1:])
