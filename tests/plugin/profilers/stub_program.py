"""What a stand-in for ncu, nsys, perf or nvidia-smi does. `stubs` puts it on a private PATH under the tool's name.

It runs with the standard library alone, and reads what to do from the JSON file beside it: ``tool``, ``version``,
``behaviours`` (one a call, the last for all that follow) and what the tool answers. Every call but ``--version`` is
added to ``calls.jsonl`` beside it.
"""

import argparse
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).absolute()
CONFIG = json.loads(HERE.with_name(f"{HERE.name}.json").read_text(encoding="utf-8"))
CALLS = HERE.with_name(f"{HERE.name}.calls.jsonl")

# Options of ncu that take the next word; the others have no value.
WITH_VALUE = {
    *("--log-file", "--metrics", "--clock-control", "--cache-control", "--target-processes", "--print-units", "--page"),
    *("--profile-from-start", "--replay-mode"),
}

COMMON = ("ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size")
COMMON += ("Grid Size", "Device", "CC")


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("--version", "-v", "-V"):
        return version()
    return TOOLS[CONFIG["tool"]](arguments)


def version():
    if CONFIG["version"] is None:
        print(f"{CONFIG['tool']}: error while loading shared libraries: libstub.so.1", file=sys.stderr)
        return 127
    print(CONFIG["version"])
    return CONFIG.get("version_code", 0)


def behaviour_of(arguments, wrapped):
    """The behaviour whose turn it is; the call is noted."""
    earlier = len(CALLS.read_text(encoding="utf-8").splitlines()) if CALLS.exists() else 0
    note = {"arguments": arguments, "wrapped": wrapped, "environment": dict(os.environ), "cwd": str(Path.cwd())}
    note["pid"] = os.getpid()
    with CALLS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(note) + "\n")
    behaviours = CONFIG["behaviours"]
    return behaviours[min(earlier, len(behaviours) - 1)]


def parted(arguments):
    """Options by name, and the program that is to run under the tool with its arguments."""
    options, index = {}, 0
    while index < len(arguments) and arguments[index].startswith("-"):
        name, equals, value = arguments[index].partition("=")
        index += 1
        if name == "--":
            break
        if not equals and name in WITH_VALUE and index < len(arguments):
            value = arguments[index]
            index += 1
        options[name] = value
    return options, arguments[index:]


def run(wrapped):
    """The exit code of what runs under the tool."""
    sys.stdout.flush()
    return subprocess.run(wrapped, check=False).returncode if wrapped else 0


def break_down(behaviour):
    """What any program can do wrong; False for a behaviour that isn't that."""
    if behaviour == "hang":
        subprocess.Popen([sys.executable, "-IS", "-c", "import time; time.sleep(600)"])
        time.sleep(600)
    elif behaviour == "crash":
        os.kill(os.getpid(), signal.SIGKILL)
    elif behaviour == "garbage":
        os.write(1, bytes(range(256)) * 3 + b'\n,,,"\n')
    elif behaviour == "silent":
        pass
    else:
        return False
    return True


def ncu(arguments):
    options, wrapped = parted(arguments)
    behaviour = behaviour_of(arguments, wrapped)
    log = Path(options["--log-file"]) if "--log-file" in options else None

    def say(*lines):
        text = "".join(f"{line}\n" for line in lines)
        if log is None or behaviour == "permission_on_stdout":
            print(text, end="", flush=True)
        else:
            with log.open("a", encoding="utf-8") as file:
                file.write(text)

    connected = f"==PROF== Connected to process {os.getpid()} ({wrapped[0] if wrapped else ''})"
    if break_down(behaviour):
        return 0
    if behaviour == "lock" and not private(os.environ.get("TMPDIR")):
        say(
            f"==ERROR== Failed to open/create lock file {os.environ.get('TMPDIR', '/tmp')}/nsight-compute-lock. "
            "Please check that the process has write permissions on the file.",
            "InterprocessLockFailed",
        )
        return 9
    if behaviour == "unknown_metric":
        name = options.get("--metrics", "flop_count_sp").split(",")[0]
        say(connected, f"==ERROR== Failed to find metric regex:^{name}\\.(sum|min|max|avg|pct|ratio|max_rate)$")
        return run(wrapped)
    rejected = [name for name in options.get("--metrics", "").split(",") if name in CONFIG["rejects"]]
    if rejected:
        say(f"==ERROR== Failed to find metric(s) {', '.join(rejected)}")
        return 1
    say(connected)
    if behaviour in ("permission", "permission_on_stdout"):
        say(
            "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters "
            "on the target device 0. For instructions on enabling permissions and to get more information see "
            "https://developer.nvidia.com/ERR_NVGPUCTRPERM"
        )
    elif behaviour == "busy":
        say(
            "==ERROR== An error was reported by the driver:",
            "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool "
            "(like DCGM) is concurrently collecting profiling data.",
        )
    elif behaviour == "wsl":
        say(
            "==ERROR== Profiling is not supported on device 0 as it uses the Windows Subsystem for Linux (WSL).",
        )
    code = run(wrapped)
    if code:
        say(f"==ERROR== The application returned an error code ({code}).")
    if behaviour in ("ok", "lock"):
        for kernel in CONFIG["kernels"]:
            say(f'==PROF== Profiling "{kernel["name"]}": 0%....50%....100% - {CONFIG["passes"]} passes')
    say(f"==PROF== Disconnected from process {os.getpid()}")
    if behaviour == "no_kernels":
        say("==WARNING== No kernels were profiled.")
    elif behaviour in ("ok", "lock"):
        say(*csv_lines(options.get("--metrics", "").split(","), wrapped))
    return code


def private(folder):
    """Whether a folder is this user's alone."""
    if not folder or Path(folder) == Path("/tmp"):
        return False
    try:
        status = os.stat(folder)
    except OSError:
        return False
    return status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o077


def csv_lines(metrics, wrapped):
    """The raw page: a wide header, the units, and a row for each launch."""
    metrics = [name for name in metrics if name and name not in CONFIG["absent"]]
    yield row([*COMMON, *metrics])
    yield row([""] * len(COMMON) + [unit(name) for name in metrics])
    for number, kernel in enumerate(CONFIG["kernels"]):
        common = [number, os.getpid(), Path(wrapped[0]).name if wrapped else "", "127.0.0.1", kernel["name"], 1, 7]
        common += ["(128, 1, 1)", "(64, 1, 1)", 0, CONFIG["compute_capability"]]
        values = {**CONFIG["values"], **kernel["values"]}
        yield row([*common, *(values.get(name, default(name)) for name in metrics)])


def row(cells):
    return ",".join('"' + str(cell).replace('"', '""') + '"' for cell in cells)


def unit(metric):
    if "time_duration" in metric:
        return "ns"
    return "byte" if "bytes" in metric else ""


def default(metric):
    if "time_duration" in metric:
        return 2000
    return 4096 if "bytes" in metric else 1024


def nvidia_smi(arguments):
    behaviour = behaviour_of(arguments, [])
    if break_down(behaviour):
        return 0
    if behaviour == "no_driver":
        print(
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
            "NVIDIA driver is installed and running."
        )
        return 9
    asked = next(one.partition("=")[2] for one in arguments if one.startswith("--query-gpu="))
    for device in CONFIG["devices"]:
        print(", ".join(device.get(name, "[N/A]") for name in asked.split(",")))
    return 0


class Stopped(Exception):
    """By the signal that ends ``perf stat -p``."""


def perf(arguments):
    options = perf_options(arguments[1:])
    wrapped = options.wrapped[options.wrapped[:1] == ["--"] :]
    behaviour = behaviour_of(arguments, wrapped)
    if break_down(behaviour):
        return 0
    if behaviour == "denied":
        if options.o:  # which perf has opened by then
            Path(options.o).write_text("# started on Sat Nov 28 11:00:00 2026\n", encoding="utf-8")
        print(
            "Error:\nAccess to performance monitoring and observability operations is limited.\nConsider adjusting "
            "/proc/sys/kernel/perf_event_paranoid setting to open access to processes without CAP_PERFMON",
            file=sys.stderr,
        )
        return 255
    code = 0
    signal.signal(signal.SIGINT, stop)
    try:
        if wrapped:
            code = run(wrapped)
        elif options.control:
            obey(options.control)
    except Stopped:
        pass
    lines = [event_line(event, behaviour) for event in options.e.split(",")]
    text = "".join(f"{line}\n" for line in lines)
    if options.o:
        Path(options.o).write_text(text, encoding="utf-8")
    else:
        sys.stderr.write(text)
    return code


def stop(_number, _frame):
    raise Stopped


def perf_options(arguments):
    parser = argparse.ArgumentParser(prog="perf stat", add_help=False, allow_abbrev=False)
    for name in ("-x", "-p", "-o", "-D", "--control"):
        parser.add_argument(name)
    parser.add_argument("-e")
    parser.add_argument("wrapped", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def obey(control):
    """Acknowledge commands as ``--control fd:CTL,ACK`` has them."""
    commands, answers = map(int, control.removeprefix("fd:").split(","))
    while command := os.read(commands, 64):
        with HERE.with_name("told").open("ab") as told:
            told.write(command)
        os.write(answers, b"ack\n\0")


def event_line(event, behaviour):
    if behaviour == "not_supported" or event in CONFIG["absent"]:
        return f"<not supported>,,{event},0,100.00,,"
    if behaviour == "not_counted":
        return f"<not counted>,,{event},0,0.00,,"
    return f"{CONFIG['values'].get(event, 1000000)},,{event},5000000,100.00,,"


TOOLS = {"ncu": ncu, "perf": perf, "nvidia-smi": nvidia_smi}

if __name__ == "__main__":
    sys.exit(main())
