"""A new monthly export makes order-service run full scans from 05:38; its connection pool is dry at 05:41.

Quiet cause: reporting-worker 1.9.0 (deployed 05:31) starts MonthlySettlementExport. Noise: Redis hiccups, a
payment decline now and then.
"""

from ..noise import background
from ..shop import Order, Refusal, simulate, stack
from ..world import World, every, later

EXPORT_SQL = (
    "SELECT o.id, o.amount_cents, e.payload FROM orders o JOIN order_events e ON e.order_id = o.id "
    "WHERE e.payload LIKE '%settlement%'"
)
POOL = 20


def build(world: World) -> None:
    world.use("api-gateway", "checkout-service", "inventory-service", "order-service", "payment-gateway")
    world.use("reporting-worker")
    simulate(world, 225, refuse=_refuse)
    background(world, "order-service", 120, without="HikariPool")
    for service, lines in (("checkout-service", 110), ("inventory-service", 110), ("payment-gateway", 80)):
        background(world, service, lines)
    for service, lines in (("api-gateway", 70), ("reporting-worker", 70)):
        background(world, service, lines)
    _export(world)
    _pool_samples(world)
    world.row("deployments", "inventory-service", "4.7.1", world.at("03:12:40"), "SUCCEEDED")
    world.row("deployments", "reporting-worker", "1.9.0", world.at("05:31:02"), "SUCCEEDED")


def _refuse(world: World, order: Order) -> Refusal | None:
    if order.at < world.at("05:41:10") or world.dice.below(0.2):
        return None
    waiting = world.dice.between(28, 47)
    error = (
        "HikariPool-1 - Connection is not available, request timed out after 30000ms "
        f"(total={POOL}, active={POOL}, idle=0, waiting={waiting})"
    )
    if world.dice.below(0.25):
        error = stack(
            error + "\njava.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available",
            "com.zaxxer.hikari.pool.HikariPool.createTimeoutException(HikariPool.java:696)",
            "shop.order.store.OrderStore.insert(OrderStore.java:63)",
            "shop.order.OrderController.create(OrderController.java:41)",
        )
    return Refusal(
        service="order-service",
        error=error,
        after_ms=30_000 + world.dice.between(5, 60),
        http=500,
        checkout_error="Creating the order failed: order-service answered 500 DB_POOL_TIMEOUT after 30 s",
    )


def _export(world: World) -> None:
    log, dice = world.log, world.dice
    started = "Started ReportingWorker version 1.9.0 in 6.1 seconds"
    log("reporting-worker", world.at("05:31:02"), "INFO", started)
    start = "Job MonthlySettlementExport started: shards=16, source=order-service /internal/orders/export"
    log("reporting-worker", world.at("05:38:20"), "INFO", start)
    for wave in every(world.at("05:38:21"), world.now, 180):
        for shard in range(16):
            begin = later(wave, dice.between(0, 4000))
            took = dice.between(158_000, 179_000)
            if dice.below(0.4):
                request = f"GET /internal/orders/export?shard={shard} started caller=reporting-worker"
                log("order-service", begin, "INFO", request)
            if dice.below(0.3):
                leak = f"Connection leak detection triggered for conn{dice.between(100, 999)}, export-{shard}"
                log("order-service", later(begin, 60_000), "WARN", leak)
            if dice.below(0.5):
                rows = dice.between(8_100_000, 8_400_000)
                slow = f"Slow query took {took} ms, rows examined {rows}: {EXPORT_SQL}"
                log("order-service", later(begin, took), "WARN", slow)
        failed = f"Shard {dice.between(0, 15)} of MonthlySettlementExport: read timed out, will be repeated"
        log("reporting-worker", later(wave, 180_000), "WARN", failed)


def _pool_samples(world: World) -> None:
    for at in every(world.start, world.now, 60):
        dry = at >= world.at("05:41:00")
        filling = world.at("05:38:21") <= at
        active = POOL if dry else world.dice.between(17, 19) if filling else world.dice.between(2, 7)
        waiting = world.dice.between(25, 47) if dry else 0
        world.row("db_pool_stats", "order-service", at, active, POOL - active, waiting, POOL)
        calm = world.dice.between(1, 5)
        world.row("db_pool_stats", "inventory-service", at, calm, POOL - calm, 0, POOL)
        stats = f"total={POOL}, active={active}, idle={POOL - active}, waiting={waiting}"
        world.log("order-service", at, "WARN" if dry else "INFO", f"HikariPool-1 - Pool stats ({stats})")
