"""limit.py BYTES COMMAND...: runs the command in place of itself, with that limit on the size of files that it writes: what a full
disk is to it."""

import os
import resource
import sys

limit = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
os.execvp(sys.argv[2], sys.argv[2:])
