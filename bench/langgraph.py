"""LangGraph with its SQLite saver, doing what the bench `steps` measures. Installs nothing.

    langgraph.py DIR steps --count 1000 --state 4096 [--durability normal]
    langgraph.py DIR grow --count 2000 --delta 1024 [--channel delta]
    langgraph.py DIR parallel --branches 100 [--state 1024]
    langgraph.py DIR runs --count 200 --steps 5 [--state 1024]

The database is made below DIR. One line of JSON on standard output:

    cpu_s            CPU of the process, all its threads and its children, until the write-ahead
                     log is back in the database; imports, compiling the graph and a warm-up of
                     some steps in a database of its own come before it
    wall_s           the same by the clock on the wall
    database_bytes   the file and its -wal after that checkpoint
    first_cpu_s      the median of the CPU of the first and of the last 50 steps, where one follows
    last_cpu_s       the other; counted from one call of the node to the next

`durability="sync"` is passed: LangGraph then waits until the checkpoint of a step is written before
it begins the next. The saver writes with SQLite's default in a WAL, `synchronous=FULL`, so each of
its commits is synced; a line of another kind would not compare, so this is checked. With
`--durability normal` it is set to NORMAL, so that a step survives a killed process only.
"""

import argparse
import inspect
import itertools
import json
import operator
import os
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, TypedDict

# Nothing of a measurement is sent anywhere.
os.environ["LANGSMITH_TRACING"] = "false"
os.environ["LANGCHAIN_TRACING_V2"] = "false"

# A script's own folder comes first on the path; this file has the name of the package.
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]

from langgraph.channels.delta import DeltaChannel  # noqa: E402
from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: E402
from langgraph.graph import END, START, StateGraph  # noqa: E402
from langgraph.pregel import Pregel  # noqa: E402
from langgraph.types import Send  # noqa: E402

WARM_UP = 50
WINDOW = 50
FULL = 2
SYNC = {"durability": "sync"} if "durability" in inspect.signature(Pregel.stream).parameters else {}
ROOT = Path(__file__).resolve().parent.parent
PROSE = "".join((ROOT / name).read_text("utf-8") for name in ["ARCHITECTURE.md", "CONTRIBUTING.md"])


def text(step, length):
    """So many characters of prose, another part of it in each step."""
    start = step * 7919 % (len(PROSE) - length)
    return PROSE[start : start + length]


def extend(state, batches):
    return state + [entry for batch in batches for entry in batch]


class Replaced(TypedDict):
    step: int
    text: str


class Grown(TypedDict):
    step: int
    texts: Annotated[list, operator.add]


class GrownByDeltas(TypedDict):
    step: int
    texts: Annotated[list, DeltaChannel(extend)]


def loop(schema, count, update, marks=None):
    """A graph of one node that runs `count` times, noting the CPU time at each call."""

    def work(state):
        if marks is not None:
            marks.append(cpu())
        return {"step": state["step"] + 1, **update(state["step"])}

    graph = StateGraph(schema)
    graph.add_node("work", work)
    graph.add_edge(START, "work")
    graph.add_conditional_edges("work", lambda state: "work" if state["step"] < count else END, ["work", END])
    return graph


def fan(branches, size):
    """A graph with so many branches at once and a node that waits for all of them."""
    graph = StateGraph(Grown)
    graph.add_node("branch", lambda state: {"texts": [text(state["step"], size)]})
    graph.add_node("join", lambda state: {"step": len(state["texts"])})
    graph.add_conditional_edges(
        START, lambda _: [Send("branch", {"step": n, "texts": []}) for n in range(branches)], ["branch"]
    )
    graph.add_edge("branch", "join")
    graph.add_edge("join", END)
    return graph


def invoke(app, thread, first, steps):
    config = {"configurable": {"thread_id": thread}, "recursion_limit": steps + 10}
    return app.invoke(first, config, **SYNC)


def cpu():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Database:
    """A database of its own, and what using it took."""

    def __init__(self, folder, name, durability="full"):
        self.path = Path(folder) / f"{name}.db"
        self.durability = durability

    def measure(self, graph, work):
        """Compiles the graph, then measures `work(app)` up to a checkpoint of everything."""
        with SqliteSaver.from_conn_string(str(self.path)) as saver:
            saver.setup()
            synchronous = saver.conn.execute("PRAGMA synchronous").fetchone()[0]
            if synchronous != FULL:
                sys.exit(f"SQLite is built with synchronous={synchronous}, not {FULL}: its steps are not synced")
            if self.durability == "normal":
                saver.conn.execute("PRAGMA synchronous=NORMAL")
            app = graph.compile(checkpointer=saver)
            used, begun = cpu(), time.perf_counter()
            answer = work(app)
            busy, *_ = saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            assert busy == 0, "the log could not be brought back into the database"
            took = {"cpu_s": cpu() - used, "wall_s": time.perf_counter() - begun}
            return answer, {**took, "database_bytes": self.size()}

    def size(self):
        files = [self.path, self.path.with_name(self.path.name + "-wal")]
        return sum(file.stat().st_size for file in files if file.exists())


def windows(marks):
    """Needs one mark a step: a step ends where the next begins."""
    steps = [later - earlier for earlier, later in itertools.pairwise(marks)]
    if len(steps) < WINDOW:
        return {}
    return {"first_cpu_s": statistics.median(steps[:WINDOW]), "last_cpu_s": statistics.median(steps[-WINDOW:])}


def one_run(folder, schema, first, update, count, durability="full"):
    def go(app):
        return invoke(app, "measured", first, count)

    Database(folder, "warm-up").measure(loop(schema, WARM_UP, update), go)
    marks = []
    state, took = Database(folder, "measured", durability).measure(loop(schema, count, update, marks), go)
    assert state["step"] == count, f"{state['step']} steps, not {count}"
    return {**took, **windows(marks)}


def steps(folder, count, state, durability):
    first = {"step": 0, "text": text(0, state)}
    return one_run(folder, Replaced, first, lambda step: {"text": text(step + 1, state)}, count, durability)


def grow(folder, count, delta, channel):
    schema = {"list": Grown, "delta": GrownByDeltas}[channel]
    first = {"step": 0, "texts": []}
    return one_run(folder, schema, first, lambda step: {"texts": [text(step, delta)]}, count)


def parallel(folder, branches, state):
    def go(app):
        return invoke(app, "measured", {"step": 0, "texts": []}, branches)

    Database(folder, "warm-up").measure(fan(10, state), go)
    ended, took = Database(folder, "measured").measure(fan(branches, state), go)
    assert ended["step"] == branches, f"{ended['step']} branches, not {branches}"
    return took


def runs(folder, count, steps, state):
    """All at once in one process, a thread each: the saver has no other way, and a lock inside."""

    def all_of(many):
        def go(app):
            first = {"step": 0, "text": text(0, state)}
            with ThreadPoolExecutor(max_workers=many) as pool:
                return list(pool.map(lambda n: invoke(app, f"run-{n}", first, steps), range(many)))

        return go

    graph = loop(Replaced, steps, lambda step: {"text": text(step + 1, state)})
    Database(folder, "warm-up").measure(graph, all_of(10))
    ended, took = Database(folder, "measured").measure(graph, all_of(count))
    assert [state["step"] for state in ended] == [steps] * count
    return took


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir")
    scenarios = parser.add_subparsers(dest="scenario", required=True)

    def scenario(name, **numbers):
        sub = scenarios.add_parser(name)
        for option, default in numbers.items():
            sub.add_argument(f"--{option}", type=int, default=default)
        return sub

    scenario("steps", count=1000, state=4096).add_argument("--durability", choices=["full", "normal"], default="full")
    scenario("grow", count=2000, delta=1024).add_argument("--channel", choices=["list", "delta"], default="list")
    scenario("parallel", branches=100, state=1024)
    scenario("runs", count=200, steps=5, state=1024)
    return vars(parser.parse_args())


def main():
    given = arguments()
    base, scenario = given.pop("dir"), given.pop("scenario")
    with tempfile.TemporaryDirectory(dir=base) as folder:
        took = {"steps": steps, "grow": grow, "parallel": parallel, "runs": runs}[scenario](folder, **given)
    versions = {name: version(name) for name in ["langgraph", "langgraph-checkpoint-sqlite"]}
    settings = {"sqlite": sqlite3.sqlite_version, "waits": SYNC.get("durability", "unknown to this version")}
    print(json.dumps({"scenario": scenario, **given, **took, **versions, **settings}))


if __name__ == "__main__":
    main()
