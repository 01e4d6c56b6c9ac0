"""How fast memsvc is: start, save, recall, bulk index, memory, bytes. Prints a table and JSON.

Usage: python -m bench.speed [--notes 1000 10000] [--large] [--json FILE] [--saves 100] [--recalls 200]
       python -m bench.speed --scale [--passages 100000 1000000] [--json FILE]

Everything but the bulk index goes through a real `memsvc mcp` process and the SDK's client.
"""

import argparse
import asyncio
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters
from mcp.client import Client
from rich.console import Console
from rich.table import Table

from bench import scale
from bench.corpus import Corpus, make_corpus, write_corpus
from memsvc.bootstrap import open_service
from memsvc.embedding.loader import LazyEmbedder
from memsvc.index.chunks import chunk, embed_text
from memsvc.interfaces.binding import bind
from memsvc.settings import Settings

LARGE = 100_000


def main() -> None:
    arguments = _arguments()
    if arguments.scale:
        scale.run(arguments.passages, json_file=arguments.json)
        return
    sizes = [*arguments.notes, *([LARGE] if arguments.large else [])]
    rows = [measure(size, saves=arguments.saves, recalls=arguments.recalls) for size in sizes]
    table = Table(title="memsvc speed", show_lines=False)
    table.add_column("measure")
    for row in rows:
        table.add_column(f"{row['notes']:,} notes", justify="right")
    for key in rows[0]:
        if key != "notes":
            table.add_row(key, *(str(row[key]) for row in rows))
    Console(stderr=True).print(table)
    text = json.dumps(rows, indent=1)
    if arguments.json:
        Path(arguments.json).write_text(text + "\n", encoding="utf-8")
    print(text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--large", action="store_true", help="also 100,000 notes")
    parser.add_argument("--scale", action="store_true", help="recall among very many passages")
    parser.add_argument("--passages", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--saves", type=int, default=100)
    parser.add_argument("--recalls", type=int, default=200)
    parser.add_argument("--json", default="", help="also write the result to this file")
    return parser.parse_args()


def measure(size: int, *, saves: int, recalls: int) -> dict[str, Any]:
    """All measures for one number of notes, in a throw-away home."""
    folder = Path(tempfile.mkdtemp(prefix="memsvc-bench-"))
    try:
        corpus = make_corpus(size)
        home = folder / "home"
        _prepare(home)
        write_corpus(corpus, home / "personal")
        row: dict[str, Any] = {"notes": size}
        row["start to tools/list, ms, un-indexed vault"] = asyncio.run(_start(home))
        row |= _bulk(home, corpus)
        row |= asyncio.run(_verbs(home, corpus, saves=saves, recalls=recalls))
        row["database and vectors MB"] = round(_bytes(home) / 1e6, 1)
        return row
    finally:
        shutil.rmtree(folder)


def _prepare(home: Path) -> None:
    service = open_service(Settings.model_validate({"home": home, "embedder": "none"}))
    service.ensure_ready()
    service.close()


def _server(home: Path) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "memsvc", "mcp"],
        env={**os.environ, "MEMSVC_HOME": str(home), "MEMSVC_PROJECT": "heron"},
    )


async def _start(home: Path) -> float:
    """Median of three starts, from process to the list of tools."""
    took = []
    for _ in range(3):
        begun = time.perf_counter()
        async with Client(_server(home)) as client:
            await client.list_tools()
            took.append((time.perf_counter() - begun) * 1000)
    return round(statistics.median(took), 1)


def _bulk(home: Path, corpus: Corpus) -> dict[str, Any]:
    """Index all files from nothing, and the bare model on the same texts, in turns."""
    settings = Settings.model_validate({"home": home})
    service = open_service(settings)
    caller = bind(settings, door="bench", environ={})
    model = LazyEmbedder.from_setting("packaged", models=home / "models")
    bare = model.load_now()
    if bare is None:
        raise SystemExit(f"no model: {model.problem}")
    begun = time.perf_counter()
    service.scan_all(caller)
    read_seconds = time.perf_counter() - begun
    begun = time.perf_counter()
    reply = service.embed_all()
    embed_seconds = time.perf_counter() - begun
    service.close()
    texts = []
    for path, text in corpus.files.items():
        title = path.rpartition("/")[2]
        body = text.partition("\n---\n")[2]
        texts += [embed_text(title, piece) for piece in chunk(body, title)]
    sample = texts if len(texts) <= 4_000 else texts[:: len(texts) // 4_000]
    begun = time.perf_counter()
    for at in range(0, len(sample), 64):
        bare.embed_passages(sample[at : at + 64])
    bare_rate = len(sample) / (time.perf_counter() - begun)
    rate = reply / (read_seconds + embed_seconds)
    return {
        "bulk: files/s, words searchable": round(len(corpus.files) / read_seconds, 1),
        "bulk: passages/s, whole": round(rate, 1),
        "bulk: passages/s, bare model": round(bare_rate, 1),
        "bulk: share of the bare model": round(rate / bare_rate, 3),
    }


async def _verbs(home: Path, corpus: Corpus, *, saves: int, recalls: int) -> dict[str, Any]:
    questions = [(text, path) for project, text, path in corpus.questions if project == "heron"]
    async with Client(_server(home)) as client:
        await client.call_tool("scopes", {})
        await _model_ready(client)
        took, found = [], 0
        for number in range(recalls + 5):
            text, path = questions[number % len(questions)]
            begun = time.perf_counter()
            reply = await client.call_tool("recall", {"query": text})
            if number >= 5:
                took.append((time.perf_counter() - begun) * 1000)
                found += path in [hit["path"] for hit in _data(reply)["hits"][:5]]
        saved, lag = [], []
        for number in range(saves):
            token = f"zq{number}xv"
            begun = time.perf_counter()
            body = f"The token {token} belongs to the speed bench."
            await client.call_tool("save", {"title": f"Bench {token}", "body": body})
            saved.append((time.perf_counter() - begun) * 1000)
            begun = time.perf_counter()
            reply = await client.call_tool("recall", {"query": token})
            lag.append((time.perf_counter() - begun) * 1000)
            if not _data(reply)["hits"]:
                raise SystemExit(f"{token} was saved and not recalled")
        memory = _server_memory()
    embed = _query_cost(home, [text for text, _ in questions[:100]])
    return {
        "save p50 / p95, ms": _pair(saved),
        "recall p50 / p95, ms": _pair(took),
        "recall: found in the first 5": round(found / recalls, 3),
        "embedding one query p50, ms": embed,
        "recall: share of embedding the query": round(embed / statistics.median(took), 2),
        "first recall after a save p50 / p95, ms": _pair(lag),
        "server RSS, MB": memory,
    }


async def _model_ready(client: Client) -> None:
    for _ in range(200):
        reply = await client.call_tool("scopes", {})
        state = _data(reply)["index"]
        if state["model"] == "ready" and state["vectors"] >= state["passages"]:
            return
        await asyncio.sleep(0.1)


def _data(reply: Any) -> dict[str, Any]:  # noqa: ANN401 - the SDK's result
    return dict((reply.meta or {})["memsvc/result"])


def _query_cost(home: Path, texts: Sequence[str]) -> float:
    model = LazyEmbedder.from_setting("packaged", models=home / "models").load_now()
    if model is None:
        raise SystemExit("no model")
    took = []
    for text in texts:
        begun = time.perf_counter()
        model.embed_query(text)
        took.append((time.perf_counter() - begun) * 1000)
    return round(statistics.median(took), 2)


def _server_memory() -> float:
    """Resident memory of the newest child process, in MB."""
    found = [
        path.parent
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if b"memsvc\0mcp" in path.read_bytes()
    ]
    newest = max(found, key=lambda path: path.stat().st_ctime)
    status = (newest / "status").read_text("utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return round(int(line.split()[1]) / 1000, 1)


def _pair(values: list[float]) -> str:
    ordered = sorted(values)
    return f"{statistics.median(ordered):.1f} / {ordered[int(len(ordered) * 0.95)]:.1f}"


def _bytes(home: Path) -> int:
    files = [*home.glob("memsvc.db*"), *home.glob("vectors/*")]
    return sum(file.stat().st_blocks * 512 for file in files)


if __name__ == "__main__":
    main()
