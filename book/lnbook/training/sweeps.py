"""Many runs: seeds times settings, in several local processes."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from joblib import Parallel, cpu_count, delayed

# In its processes glibc would give the memory of gradients back at every update, and the system clear its
# pages anew: a sixth of the time of a step of 784-1000-1000-10.
_KEEP = {"MALLOC_MMAP_THRESHOLD_": str(2**30), "MALLOC_TRIM_THRESHOLD_": str(2**32)}


@contextlib.contextmanager
def torch_threads(threads: int) -> Iterator[None]:
    """Let torch use so many threads inside the `with`, and as many as before after it."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def sweep(
    function: Callable[..., Any],
    jobs: Sequence[Mapping[str, Any]],
    *,
    common: tuple[Any, ...] = (),
    processes: int | None = None,
) -> list[Any]:
    """`[function(*common, **job) for job in jobs]`, computed by joblib in several local processes.

    Results do not depend on the number of processes: each job runs with one torch thread, also if `processes`
    is 1 and all run in this one. By default there are as many as `LNLIB_CORES`, by which a build that runs
    several pages at a time gives each its share, else one for each core. `function` is importable by name;
    what it raises ends the others under way, and so does a process that is killed, perhaps for want of memory
    (BrokenProcessPool). `common` has NumPy arrays rather than tensors, which processes would copy.
    """
    processes = processes or int(os.environ.get("LNLIB_CORES") or cpu_count())
    for name, value in _KEEP.items():
        os.environ.setdefault(name, value)
    work = (delayed(_one)(function, common, job) for job in jobs)
    return list(Parallel(max(1, min(processes, len(jobs))), batch_size=1, mmap_mode="c")(work))


def _one(function: Callable[..., Any], common: tuple[Any, ...], job: Mapping[str, Any]) -> Any:
    with torch_threads(1):
        return function(*common, **job)
