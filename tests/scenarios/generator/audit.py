"""Checks that hand-written and generated files of a scenario fit together. Each fault is one line."""

import json
import sqlite3
import tomllib
from datetime import datetime
from pathlib import Path

from .world import WINDOW

MAX_BYTES = 600 * 1024
MIN_LINES = 2000
SMALL = {"greeting"}
LINE_KEYS = {"timestamp", "level", "service", "message"}
QUESTION_KEYS = {"query", "route", "outcome", "required_evidence", "forbidden", "conclusion"}
ALLOWED = {
    "route": {"DIAGNOSIS", "KNOWLEDGE_QUERY", "SYSTEM_CHAT"},
    "outcome": {"SUCCESS", "FALLBACK"},
    "conclusion": {"present", "null"},
}
TOOLS = {"query_logs", "query_mysql", "lookup_knowledge"}


def scenario(folder: Path) -> list[str]:
    """Every fault of one scenario, prefixed with its name."""
    spec = tomllib.loads((folder / "scenario.toml").read_text(encoding="utf-8"))
    sources = tomllib.loads((folder / "data_sources.toml").read_text(encoding="utf-8"))
    clock = datetime.fromisoformat(spec["clock"])
    lines = _log_lines(folder)
    database = _database(folder)
    faults = _sizes(folder, lines) + _log_faults(lines, sources, clock)
    faults += _schema_faults(database, sources) + _runbook_faults(folder)
    runbooks = sorted((folder / "runbooks").glob("*.md"))
    evidence = {
        "query_logs": _log_evidence(lines, sources, clock),
        "query_mysql": _database_text(database),
        "lookup_knowledge": "\n".join(path.read_text(encoding="utf-8") for path in runbooks),
    }
    for question in spec["question"]:
        faults += _question_faults(question, evidence)
        if question["conclusion"] == "null" and question["route"] == "DIAGNOSIS":
            faults += _unexpected_errors(question["query"], lines, clock)
    return [f"{folder.name}: {fault}" for fault in faults]


def _log_lines(folder: Path) -> dict[str, list[dict]]:
    return {
        path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in sorted((folder / "logs").glob("*.jsonl"))
    }


def _database(folder: Path) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.executescript((folder / "business.sql").read_text(encoding="utf-8"))
    return database


def _database_text(database: sqlite3.Connection) -> str:
    tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    return "\n".join(str(row) for table in tables for row in database.execute(f"SELECT * FROM {table}"))


def _in_window(line: dict, clock: datetime) -> bool:
    return clock - WINDOW <= datetime.fromisoformat(line["timestamp"]) < clock


def _log_evidence(lines, sources, clock: datetime) -> str:
    """Warnings and errors of the window; a service's name too, which an empty result states."""
    loud = (
        line["message"]
        for records in lines.values()
        for line in records
        if line["level"] in ("WARN", "ERROR") and _in_window(line, clock)
    )
    return "\n".join([*sources["logs"][0]["services"], *loud])


def _sizes(folder: Path, lines) -> list[str]:
    faults = []
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.suffix != ".db")
    count = sum(len(service) for service in lines.values())
    if size > MAX_BYTES:
        faults.append(f"{size} bytes, at most {MAX_BYTES}")
    if count < MIN_LINES and folder.name not in SMALL:
        faults.append(f"{count} log lines, at least {MIN_LINES}")
    if len(lines) < 3:
        faults.append(f"{len(lines)} services, at least 3")
    return faults


def _log_faults(lines, sources, clock: datetime) -> list[str]:
    faults = []
    if sorted(lines) != sorted(sources["logs"][0]["services"]):
        faults.append("data_sources.toml names other services than logs/ has")
    for service, records in lines.items():
        if not records:
            faults.append(f"{service}: empty log")
            continue
        stamps = [record["timestamp"] for record in records]
        if stamps != sorted(stamps) or datetime.fromisoformat(stamps[-1]) >= clock:
            faults.append(f"{service}: not in time order, or later than the clock")
        if any(not LINE_KEYS <= record.keys() or record["service"] != service for record in records):
            faults.append(f"{service}: a line lacks a key or is of another service")
    return faults


def _schema_faults(database: sqlite3.Connection, sources) -> list[str]:
    faults = []
    for table in sources["databases"][0]["tables"]:
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table['name']})")]
        if columns != table["columns"]:
            faults.append(f"table {table['name']}: data_sources.toml and business.sql differ")
    return faults


def _runbook_faults(folder: Path) -> list[str]:
    faults = []
    for path in sorted((folder / "runbooks").glob("*.md")):
        _, _, rest = path.read_text(encoding="utf-8").partition("---\n")
        front, closed, body = rest.partition("\n---\n")
        keys = [line.split(":")[0] for line in front.splitlines() if line[:1].isalpha()]
        if not closed or not {"title", "tags", "source"} <= set(keys) or "\n## " not in body:
            faults.append(f"{path.name}: front matter needs title, tags and source, the body headings")
    return faults


def _question_faults(question: dict, evidence: dict[str, str]) -> list[str]:
    query = question.get("query", "?")
    faults = []
    if question.keys() != QUESTION_KEYS:
        faults.append(f"{query}: keys are {sorted(question)}")
    for key, allowed in ALLOWED.items():
        if question[key] not in allowed:
            faults.append(f"{query}: {key} is {question[key]}")
    for wanted in question["required_evidence"]:
        if wanted["tool"] not in TOOLS:
            faults.append(f"{query}: unknown tool {wanted['tool']}")
            continue
        missing = [text for text in wanted["contains"] if text not in evidence[wanted["tool"]]]
        faults += [f"{query}: {wanted['tool']} can't find {text!r}" for text in missing]
    return faults


def _unexpected_errors(query: str, lines, clock: datetime) -> list[str]:
    """Where no conclusion may be drawn, the services that are asked about must be free of errors."""
    return [
        f"{query}: {service} has ERROR lines in the window"
        for service, records in lines.items()
        if service in query and any(line["level"] == "ERROR" and _in_window(line, clock) for line in records)
    ]
