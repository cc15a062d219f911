"""status.py N COMMAND...: runs the command, passes its output on, and fails unless its exit status is N."""

import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
status = subprocess.run(command).returncode
if status != expected:
    sys.exit(f"exit status {status}, expected {expected}: {' '.join(command)}")
