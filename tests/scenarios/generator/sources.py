"""data_sources.toml of a scenario: what the product may read, in the words that its model is shown."""

import json

from . import services, sql
from .world import World

HEAD = """\
# The DATA_SOURCES file of the scenario {name}, written by generate.py. Paths are relative to this file.

[[logs]]
name = "app-logs"
description = {description}
kind = "jsonl"
path = "logs"
services = [
{services}]

[[databases]]
name = "orders"
description = "Read-only replica of the shop's business database (业务数据库), times in UTC"
kind = "sqlite"
url = "sqlite://business.db"
max_rows = 50
"""

TABLE = """
[[databases.tables]]
name = {name}
description = {description}
columns = {columns}
"""


def render(world: World) -> str:
    named = "; ".join(f"{service} ({services.words(service)})" for service in world.services)
    head = HEAD.format(
        name=world.name,
        description=_text(f"Application logs of the shop (应用日志): {named}"),
        services="".join(f"    {_text(service)},\n" for service in world.services),
    )
    tables = (
        TABLE.format(
            name=_text(table),
            description=_text(sql.TABLES[table][1]),
            columns=json.dumps(sql.column_names(table)),
        )
        for table in sql.tables(world)
    )
    return head + "".join(tables)


def _text(value: str) -> str:
    """A TOML basic string; for our texts JSON's quoting is the same."""
    return json.dumps(value, ensure_ascii=False)
