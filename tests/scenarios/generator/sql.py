"""business.sql in the common subset of MySQL and SQLite: plain types, text literals, short INSERTs."""

from datetime import UTC, datetime

from .world import World

ROWS_PER_INSERT = 200

# table: (first id, description, columns after id). Types are those that both servers take.
TABLES = {
    "orders": (
        None,  # an order brings its own id
        "one row per order: PAID, PAYMENT_PENDING, CANCELLED (订单)",
        (
            "user_id INTEGER",
            "status VARCHAR(32)",
            "amount_cents INTEGER",
            "created_at DATETIME",
            "update_time DATETIME",
        ),
    ),
    "payments": (
        5_203_311,
        "one row per charge with gateway channel, status, error_code and latency (支付记录)",
        (
            "order_id INTEGER",
            "gateway VARCHAR(32)",
            "status VARCHAR(32)",
            "error_code VARCHAR(64)",
            "latency_ms INTEGER",
            "created_at DATETIME",
        ),
    ),
    "order_events": (
        9_114_020,
        "what happened to an order, payload is JSON text (订单事件)",
        ("order_id INTEGER", "kind VARCHAR(48)", "payload VARCHAR(255)", "created_at DATETIME"),
    ),
    "deployments": (
        731,
        "software deployments with version and status (发布记录)",
        ("service VARCHAR(64)", "version VARCHAR(32)", "deployed_at DATETIME", "status VARCHAR(32)"),
    ),
    "config_changes": (
        4_401,
        "configuration changes with old and new value (配置变更)",
        (
            "service VARCHAR(64)",
            "key_name VARCHAR(96)",
            "old_value VARCHAR(96)",
            "new_value VARCHAR(96)",
            "changed_by VARCHAR(64)",
            "changed_at DATETIME",
        ),
    ),
    "db_pool_stats": (
        61_200,
        "database connection pool of each service, sampled every minute (连接池)",
        (
            "service VARCHAR(64)",
            "sampled_at DATETIME",
            "active INTEGER",
            "idle INTEGER",
            "waiting INTEGER",
            "max_size INTEGER",
        ),
    ),
    "shipments": (
        310_050,
        "shipping quotes with carrier, status and error_code (配送报价)",
        (
            "order_id INTEGER",
            "carrier VARCHAR(32)",
            "status VARCHAR(32)",
            "error_code VARCHAR(64)",
            "created_at DATETIME",
        ),
    ),
}


def column_names(table: str) -> list[str]:
    return ["id"] + [column.split()[0] for column in TABLES[table][2]]


def tables(world: World) -> list[str]:
    """The tables that the scenario fills, in schema order."""
    return [table for table in TABLES if world.tables.get(table)]


def render(world: World) -> str:
    parts = [f"-- Business data of the scenario {world.name}, written by generate.py. All times are UTC.\n"]
    for table in tables(world):
        columns = ",\n".join(f"    {column}" for column in ("id INTEGER PRIMARY KEY", *TABLES[table][2]))
        parts.append(f"\nCREATE TABLE {table} (\n{columns}\n);\n")
        rows = _with_ids(table, world.tables[table])
        for begin in range(0, len(rows), ROWS_PER_INSERT):
            some = rows[begin : begin + ROWS_PER_INSERT]
            values = ",\n".join(f"({', '.join(map(_literal, row))})" for row in some)
            parts.append(f"INSERT INTO {table} ({', '.join(column_names(table))}) VALUES\n{values};\n")
    return "".join(parts)


def _with_ids(table: str, rows: list[tuple]) -> list[tuple]:
    first = TABLES[table][0]
    if first is None:
        return rows
    moment = next(i for i, column in enumerate(TABLES[table][2]) if column.endswith("DATETIME"))
    return [(first + number, *row) for number, row in enumerate(sorted(rows, key=lambda row: row[moment]))]


def _literal(value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("'%Y-%m-%d %H:%M:%S'")
    if "\\" in value or ";" in value:
        raise ValueError(f"{value!r}: MySQL and SQLite (or a naive splitter) read it differently")
    return "'" + value.replace("'", "''") + "'"
