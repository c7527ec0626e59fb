"""`python -m lnbook <command>`: the book's command line.

Exit status 0: done; 1: it could not be done, and stderr says why; 2: the command line makes no sense;
130: Ctrl-C or SIGTERM ended it.
"""

import argparse
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence

from lnbook.cli import claims, data, explore, run
from lnbook.cli.run import INTERRUPTED
from lnbook.data import resolve_environment

# One function per command: it parses its own arguments and returns the exit status.
COMMANDS: dict[str, tuple[Callable[[Sequence[str]], int], str]] = {
    "claims": (claims.main, "show the paper's claims with what was measured and the verdicts"),
    "data": (data.main, "show where the data sets are, or download them"),
    "explore": (explore.main, "write the interactive figures as files that a browser opens"),
    "run": (run.main, "run one of the paper's experiments, or go on with it"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command with its arguments (default: the process's) and return the exit status."""
    resolve_environment()  # folders are relative to where they were typed
    parser = argparse.ArgumentParser(
        prog="python -m lnbook",
        description="Layer Normalization, executed",
        epilog="  ".join(f"{name}: {summary}." for name, (_, summary) in COMMANDS.items()),
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="what the command takes; try --help")
    options = parser.parse_args(argv)
    command, _ = COMMANDS[options.command]
    try:
        return command(options.arguments)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted. No part of a file is kept.", file=sys.stderr)
        return INTERRUPTED


if __name__ == "__main__":
    if "WORLD_SIZE" not in os.environ:  # torchrun ends its processes at once: they may wait for each other
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what a terminal's encoding lacks is shown as an escape
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())
