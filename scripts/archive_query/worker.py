"""A process that reads files for the index. It gets a line of JSON for each batch and answers with one.

No multiprocessing: that would run the main program again, which may be a user's own, and its processes may outlive a
parent that is killed. These end when their standard input does.
"""

from __future__ import annotations

import errno
import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType

from archive_query.rows.record import Stamp
from archive_query.rows.segment import Read, Source, read_files


class Worker:
    def __init__(self, archive: Path) -> None:
        self.archive = archive.resolve()
        self.process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    def read(self, files: list[str], folder: Path) -> Read | None:
        """None: the process died of it. Raises OSError where the index cannot be written."""
        process = self.started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps([str(folder), files]) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline() or "null")
        except BrokenPipeError:
            answer = None
        if answer is None:
            self.stop()
            return None
        if "error" in answer:
            raise OSError(*answer["error"])
        sources = [Source(key, file, Stamp(*stamp), *rest) for key, file, stamp, *rest in answer["sources"]]
        return Read(sources, answer["unreadable"])

    def started(self) -> subprocess.Popen[str]:
        if self.process is None:
            # -P and PYTHONPATH: nothing in the working directory takes the place of a module. A session of its own:
            # Ctrl-C reaches the parent alone, which lets the batch be finished.
            folders = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "archive_query.worker", self.archive],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))},
                start_new_session=True,
                text=True,
            )
        return self.process

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def main() -> None:
    gc.disable()  # what json makes has no cycles, and looking for them takes as long as parsing
    archive = Path(sys.argv[1])
    for line in sys.stdin:
        folder, files = json.loads(line)
        try:
            read = read_files(archive, files, Path(folder))
            answer = {"sources": read.sources, "unreadable": read.unreadable}
        except OSError as error:
            answer = {"error": [error.errno or errno.EIO, error.strerror or str(error)]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
