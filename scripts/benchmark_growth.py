"""How much longer a verdict takes when the output is a hundred times as large. Started by scripts/benchmark."""

import argparse
import json
import statistics
import subprocess

# The length of every sum stays as it is.
SHAPES = {
    "matmul": ("256x256x256", "2560x2560x256"),
    "linear": ("256x256x256", "2560x256x2560"),
    "softmax": ("64x512", "6400x512"),
    "layer_norm": ("64x512", "6400x512"),
    "gelu_erf": ("65536", "6553600"),
    "exp": ("65536", "6553600"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(f"validation in FP32 and BF16, output x 100; median (range) of {arguments.rounds} rounds")
    with subprocess.Popen([arguments.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for name, (small, large) in SHAPES.items():
            growth, calls = [], []
            for round_number in range(arguments.rounds + 1):
                program.stdin.write(f"{name} {small} {large}\n")
                program.stdin.flush()
                line = json.loads(program.stdout.readline())
                if round_number == 0:
                    continue  # pages and caches
                growth.append(line["large"]["validation_s"] / line["small"]["validation_s"])
                calls.append(line["large"]["call_s"] / line["small"]["call_s"])
            spread = f"{statistics.median(growth):.1f} ({min(growth):.1f} to {max(growth):.1f})"
            seconds = f"{line['small']['validation_s']:.3f} s to {line['large']['validation_s']:.3f} s"
            print(
                f"{name:12} {spread} times, {seconds}; the operator itself {statistics.median(calls):.0f} times",
                flush=True,
            )
        program.stdin.close()


if __name__ == "__main__":
    main()
