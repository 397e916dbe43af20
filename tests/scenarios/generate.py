#!/usr/bin/env python3
"""Writes the generated half of every scenario: logs, business.sql and data_sources.toml.

    python3 generate.py            write the files
    python3 generate.py --check    compare with the committed files and audit the scenarios; exit 1 on a fault

Only the standard library, only seeded dice: the same source always gives the same bytes.
"""

import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True

from generator import audit, incidents, sources, sql  # noqa: E402  (after the bytecode switch)
from generator.world import World  # noqa: E402

ROOT = Path(__file__).resolve().parent


def render(name: str) -> dict[Path, str]:
    """Path -> text of every generated file of one scenario."""
    world = World(name)
    incidents.BUILDERS[name](world)
    folder = ROOT / name
    files = {folder / "logs" / f"{service}.jsonl": text for service, text in world.log_files().items()}
    files[folder / "business.sql"] = sql.render(world)
    files[folder / "data_sources.toml"] = sources.render(world)
    return files


def stale_files(files: dict[Path, str]) -> list[str]:
    """What differs between the rendered files and the disk, log files that nobody writes included."""
    faults = []
    for path, text in files.items():
        if not path.exists():
            faults.append(f"{path.relative_to(ROOT)}: missing")
        elif path.read_bytes() != text.encode():
            faults.append(f"{path.relative_to(ROOT)}: differs from what generate.py writes")
    for path in sorted(ROOT.glob("*/logs/*")):
        if path not in files:
            faults.append(f"{path.relative_to(ROOT)}: no incident writes it")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description="Write or check the scenario data.")
    parser.add_argument("--check", action="store_true", help="compare and audit, write nothing")
    check = parser.parse_args().check

    files: dict[Path, str] = {}
    for name in incidents.BUILDERS:
        files.update(render(name))
    if not check:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        print(f"wrote {len(files)} files of {len(incidents.BUILDERS)} scenarios")
        return 0

    faults = stale_files(files)
    for name in incidents.BUILDERS:
        faults += audit.scenario(ROOT / name)
    for fault in faults:
        print(fault, file=sys.stderr)
    print(f"{len(files)} files, {len(incidents.BUILDERS)} scenarios, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
