"""What a case file adds to the call of an operator, beside the direct call. Started by scripts/benchmark."""

import argparse
import json
import statistics
import subprocess


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    rounds = []
    with subprocess.Popen([arguments.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for _ in range(arguments.rounds + 1):
            program.stdin.write("round\n")
            program.stdin.flush()
            rounds.append(json.loads(program.stdout.readline()))
        program.stdin.close()
    print(f"by name in a case file / called directly, one thread; median (range) of {arguments.rounds} rounds")
    for rows in zip(*rounds[1:], strict=True):  # the first round warms up
        ratios = [row["ratio"] for row in rows]
        direct = statistics.median(row["direct_ns"] for row in rows)
        more = statistics.median(row["file_ns"] - row["direct_ns"] for row in rows)
        spread = f"{statistics.median(ratios):.4f} ({min(ratios):.4f} to {max(ratios):.4f})"
        print(f"{rows[0]['operator']:24} {spread}, {direct / 1e3:.1f} us a call, {more:+.0f} ns")


if __name__ == "__main__":
    main()
