"""Runs meno and its peers in turns on the same machine and prints the ratios as a Markdown table.

Called by `scripts/bench_peers.sh`, which prepares the Python environment and builds meno. The table goes to
stdout, progress to stderr, the raw measurements to `--json FILE`.

Every round runs meno, a peer, meno, a peer, ... once, each in its own process; a figure is the best of the
rounds. So a busy moment of the machine hits both sides alike, and neither profits from the other's warm cache.
`meno` is driven through its own bench, `cargo bench -p meno --bench speed -- train|infer|peak`, which prints
the same JSON lines as `slot_gated.py`.
"""

import argparse
import json
import os
import platform
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PEER = [sys.executable, str(ROOT / "scripts/peers/slot_gated.py")]
BATCH_SIZE = 16

TRAINING_TARGET = {"atis": 4.5, "snips": 5.5}
THREADS_TARGET = 1.7
FROZEN_TARGET, ONNX_TARGET = 8, 3
RSS_TARGET_MB, FIRST_ANSWER_TARGET_MS, PER_MINUTE_TARGET = 40, 30, 500_000

EQUAL_LENGTH, PACKED = "pytorch equal-length", "pytorch packed"
EAGER, FROZEN, OPTIMIZED = "pytorch eager", "pytorch frozen", "pytorch frozen, optimized for inference"
ONNX = "onnxruntime"

MISSING = "–"
BUSY = 1.05  # wall over CPU time of a one-threaded run above which something else held the core


# --- measuring -------------------------------------------------------------------------------------------


def main():
    args = parse_args()
    measurements = []
    for name in args.datasets:
        folder = (args.data / name).resolve()
        for round_number in range(1, args.rounds + 1):
            print(f"{name}: round {round_number} of {args.rounds}", file=sys.stderr)
            measurements += measure_round(args, name, folder)
        if not args.peers_only:
            measurements += measure_command(args, name, folder)
    if args.json:
        document = {"machine": machine(), "rounds": args.rounds, "epochs": args.epochs, "measurements": measurements}
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    print(report(args, measurements))


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "../shared/data", help="holds one folder a dataset")
    parser.add_argument("--datasets", nargs="+", default=["atis", "snips"])
    parser.add_argument("--quick", action="store_true", help="one round of two epochs: a smoke test, not a claim")
    parser.add_argument("--rounds", type=int, help="default 3")
    parser.add_argument("--epochs", type=int, help="in every training run, the first is warm-up; default 3")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement")
    parser.add_argument("--peers-only", action="store_true", help="leave meno out")
    parser.add_argument(
        "--meno-bench",
        type=shlex.split,
        default=shlex.split("cargo bench -q -p meno --bench speed --"),
        help="command in front of train, infer, peak",
    )
    parser.add_argument("--meno", type=Path, default=target_folder() / "release/meno", help="the command itself")
    args = parser.parse_args()
    args.meno = args.meno.resolve()
    args.rounds = args.rounds or (1 if args.quick else 3)
    args.epochs = args.epochs or (2 if args.quick else 3)
    return args


def target_folder() -> Path:
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def measure_round(args, name: str, folder: Path) -> list[dict]:
    """Each system once, in turns."""

    def meno(*arguments):
        return [] if args.peers_only else json_lines([*args.meno_bench, *arguments], name)

    def meno_train(threads: int):
        return meno("train", str(folder), "--threads", str(threads), "--epochs", str(args.epochs))

    def peer_train(mode: str):
        options = ["--mode", mode, "--epochs", str(args.epochs), "--batch-size", str(BATCH_SIZE)]
        return json_lines([*PEER, "train", str(folder), *options], name)

    passes = "1" if args.quick else "3"
    return [
        *meno_train(1),
        *peer_train("equal-length"),
        *meno_train(2),
        *peer_train("packed"),
        *meno("infer", str(folder)),
        *json_lines([*PEER, "infer", str(folder), "--passes", passes], name),
        *meno("peak"),
    ]


def json_lines(command: list[str], data: str) -> list[dict]:
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    result = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    if result.returncode != 0:
        raise SystemExit(f"error: exit code {result.returncode} from: {shlex.join(command)}")
    measurements = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    if not measurements:
        raise SystemExit(f"error: no measurement from: {shlex.join(command)}")
    for measurement in measurements:
        print(f"  {json.dumps(measurement)}", file=sys.stderr)
    return [measurement | {"data": data} for measurement in measurements]


def measure_command(args, name: str, folder: Path) -> list[dict]:
    """What a user of `meno tag` meets: memory, time to the first answer, throughput on one core."""
    if not args.meno.is_file():
        raise SystemExit(f"error: no meno at {args.meno}")
    with tempfile.TemporaryDirectory() as scratch:
        model = Path(scratch) / "model.meno"
        train = [str(args.meno), "train", str(folder), "-o", str(model), "--epochs", "1", "--seed", "1"]
        subprocess.run(train, check=True, stdout=subprocess.DEVNULL)
        tag = [str(args.meno), "tag", str(model)]

        utterances = (folder / "test/seq.in").read_text(encoding="utf-8").split("\n")
        utterances = [utterance.strip() for utterance in utterances if utterance.strip()]
        one, many = Path(scratch) / "one.txt", Path(scratch) / "many.txt"
        one.write_text(utterances[0] + "\n", encoding="utf-8")
        n_many = 5_000 if args.quick else 50_000
        many.write_text("".join(utterances[i % len(utterances)] + "\n" for i in range(n_many)), encoding="utf-8")

        measurement = {
            "what": "tag",
            "peer": "meno",
            "data": name,
            "peak_rss_mb": peak_rss_mb(tag, many),
            "first_answer_ms": first_answer_ms(tag, one, runs=5 if args.quick else 30),
            "utterances_per_minute": max(utterances_per_minute(tag, many, n_many) for _ in range(args.rounds)),
        }
    print(f"  {json.dumps(measurement)}", file=sys.stderr)
    return [measurement]


def peak_rss_mb(command: list[str], stdin: Path) -> float | None:
    """By GNU time: it is small, while a child of Python is charged with Python's own memory up to `exec`."""
    time_command = Path("/usr/bin/time")
    if not time_command.is_file():
        print("  no /usr/bin/time: peak memory is not measured", file=sys.stderr)
        return None
    with stdin.open("rb") as lines, tempfile.NamedTemporaryFile("r") as kilobytes:
        wrapped = [str(time_command), "-f", "%M", "-o", kilobytes.name, *command]
        subprocess.run(wrapped, check=True, stdin=lines, stdout=subprocess.DEVNULL)
        return int(kilobytes.read().split()[-1]) / 1024


def first_answer_ms(command: list[str], stdin: Path, runs: int) -> float:
    """From the start of the process to its first line of output; the median of the runs."""
    milliseconds = []
    for _ in range(runs):
        with stdin.open("rb") as lines:
            start = time.perf_counter()
            with subprocess.Popen(command, stdin=lines, stdout=subprocess.PIPE) as process:
                answer = process.stdout.readline()
                milliseconds.append((time.perf_counter() - start) * 1e3)
        if process.returncode != 0 or not answer.startswith(b"{"):
            raise SystemExit(f"error: no JSON answer from: {shlex.join(command)}")
    return statistics.median(milliseconds)


def utterances_per_minute(command: list[str], stdin: Path, n_utterances: int) -> float:
    """Text in, JSON out, start of the process included, bound to one core where the system can."""

    def bind_to_one_core():
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

    with stdin.open("rb") as lines, tempfile.TemporaryFile() as answers:
        start = time.perf_counter()
        subprocess.run(command, check=True, stdin=lines, stdout=answers, preexec_fn=bind_to_one_core)
        seconds = time.perf_counter() - start
        answers.seek(0)
        n_answers = sum(1 for _ in answers)
    if n_answers != n_utterances:
        raise SystemExit(f"error: {n_answers} answers to {n_utterances} utterances")
    return n_utterances / seconds * 60


def machine() -> dict:
    return {"system": platform.platform(), "processor": processor(), "cores": os.cpu_count()}


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


# --- reporting -------------------------------------------------------------------------------------------


class Best:
    """Looks a figure up: the best over the rounds, or None when nothing measured it."""

    def __init__(self, measurements: list[dict]):
        self.measurements = measurements

    def least(self, figure: str, **wanted):
        return min(self.values(figure, wanted), default=None)

    def most(self, figure: str, **wanted):
        return max(self.values(figure, wanted), default=None)

    def values(self, figure: str, wanted: dict) -> list[float]:
        return [
            measurement[figure]
            for measurement in self.measurements
            if measurement.get(figure) is not None
            and all(measurement.get(key) == value for key, value in wanted.items())
        ]


@dataclass
class Figure:
    """A row of the table, for one dataset."""

    title: str
    text: str
    target: str = ""


def plain(title: str, value, form: str) -> Figure:
    return Figure(title, MISSING if value is None else form.format(value))


def at_least(title: str, value, form: str, bound: float | None) -> Figure:
    if bound is None:
        return plain(title, value, form)
    return with_target(plain(title, value, form), value is not None and value >= bound, f"≥ {bound:,}")


def at_most(title: str, value, form: str, bound: float) -> Figure:
    return with_target(plain(title, value, form), value is not None and value <= bound, f"≤ {bound:,}")


def with_target(figure: Figure, reached: bool, target: str) -> Figure:
    mark = "" if figure.text == MISSING else " ✓" if reached else " ✗"
    return Figure(figure.title, figure.text + mark, target)


def ratio(numerator, denominator):
    return numerator / denominator if numerator and denominator else None


def least_of(*values):
    return min((value for value in values if value is not None), default=None)


def report(args, measurements: list[dict]) -> str:
    best = Best(measurements)
    columns = [
        training_figures(best, name) + inference_figures(best, name) + tag_figures(best, name)
        for name in args.datasets
    ]
    lines = [
        f"{processor()}, {os.cpu_count()} cores. Rounds: {args.rounds}, the best counts; epochs a round: "
        f"{args.epochs}; batch {BATCH_SIZE}; one thread unless stated.",
        "",
        f"| figure | {' | '.join(args.datasets)} | target |",
        "|---|" + "---:|" * len(args.datasets) + "---|",
    ]
    for figures in zip(*columns, strict=True):
        texts = " | ".join(figure.text for figure in figures)
        targets = " / ".join(dict.fromkeys(figure.target for figure in figures if figure.target))
        lines.append(f"| {figures[0].title} | {texts} | {targets} |")
    busy = busiest(measurements)
    if busy > BUSY:
        lines += ["", f"The machine was busy: a one-threaded run took up to {busy:.2f} times its CPU time."]
    return "\n".join(lines)


def busiest(measurements: list[dict]) -> float:
    """The largest wall over CPU time among the peers' training runs, which have one thread."""
    runs = [run for run in measurements if run.get("cpu_seconds_per_epoch")]
    return max((run["seconds_per_epoch"] / run["cpu_seconds_per_epoch"] for run in runs), default=1.0)


def training_figures(best: Best, name: str) -> list[Figure]:
    def seconds(peer: str, threads: int = 1):
        return best.least("seconds_per_epoch", what="train", peer=peer, data=name, threads=threads)

    one, two = seconds("meno"), seconds("meno", threads=2)
    equal_length, packed = seconds(EQUAL_LENGTH), seconds(PACKED)
    over_pytorch = ratio(least_of(equal_length, packed), one)
    rate = best.most("gflops", what="train", peer="meno", data=name, threads=1)
    share_of_peak = ratio(rate, best.most("gflops", what="peak"))
    return [
        plain("training, meno, 1 thread, s/epoch", one, "{:.2f}"),
        plain("training, meno, 2 threads, s/epoch", two, "{:.2f}"),
        plain("training, PyTorch equal-length, s/epoch", equal_length, "{:.2f}"),
        plain("training, PyTorch packed, s/epoch", packed, "{:.2f}"),
        at_least("training, meno over PyTorch's better form", over_pytorch, "{:.2f} x", TRAINING_TARGET.get(name)),
        at_least("training, 2 threads over 1", ratio(one, two), "{:.2f} x", THREADS_TARGET),
        plain("training, share of the core's peak FMA rate", share_of_peak, "{:.0%}"),
    ]


def inference_figures(best: Best, name: str) -> list[Figure]:
    def latency(*peers: str):
        """(p50, p99) of the form with the lowest p50."""
        pairs = []
        for peer in peers:
            wanted = {"what": "infer", "peer": peer, "data": name}
            pairs.append((best.least("p50_us", **wanted), best.least("p99_us", **wanted)))
        return min((pair for pair in pairs if None not in pair), default=(None, None))

    systems = {
        "meno": latency("meno"),
        "PyTorch eager": latency(EAGER),
        "PyTorch frozen": latency(FROZEN, OPTIMIZED),
        "ONNX Runtime": latency(ONNX),
    }
    targets = {"PyTorch eager": None, "PyTorch frozen": FROZEN_TARGET, "ONNX Runtime": ONNX_TARGET}
    figures = []
    for system, (p50, p99) in systems.items():
        text = MISSING if p50 is None else f"{p50:.0f} / {p99:.0f}"
        figures.append(Figure(f"one utterance, {system}, p50 / p99 µs", text))
    for system, target in targets.items():
        over = ratio(systems[system][0], systems["meno"][0])
        figures.append(at_least(f"one utterance, meno over {system}, p50", over, "{:.1f} x", target))
    return figures


def tag_figures(best: Best, name: str) -> list[Figure]:
    memory = best.least("peak_rss_mb", what="tag", data=name)
    first_answer = best.least("first_answer_ms", what="tag", data=name)
    per_minute = best.most("utterances_per_minute", what="tag", data=name)
    return [
        at_most("`meno tag`, peak memory, MB", memory, "{:.1f}", RSS_TARGET_MB),
        at_most("`meno tag`, start to first answer, ms", first_answer, "{:.1f}", FIRST_ANSWER_TARGET_MS),
        at_least("`meno tag`, utterances a minute on one core", per_minute, "{:,.0f}", PER_MINUTE_TARGET),
    ]


if __name__ == "__main__":
    main()
