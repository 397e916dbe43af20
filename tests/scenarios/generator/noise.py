"""What healthy services log all day: health checks, pools, caches, garbage collection, small hiccups."""

from .services import runtime
from .world import World

# (weight, level, template); {placeholders} are filled by `_values`.
JAVA = (
    (26, "INFO", "GET /actuator/health 200 in {small} ms"),
    (10, "DEBUG", "Cache miss for key {sku} in region catalog, loading from store ({small} ms)"),
    (7, "INFO", "HikariPool-1 - Pool stats (total=20, active={few}, idle={rest}, waiting=0)"),
    (5, "INFO", "GC(42{few}) Pause Young (G1 Evacuation Pause) {heap}M->{heap_after}M {small}.{few}ms"),
    (4, "INFO", "Committed offset {big} of topic shop.orders partition {few} group {service}"),
    (3, "INFO", "Job ExpiredCartSweeper finished: scanned={medium} expired={small} took {medium} ms"),
    (2, "DEBUG", "Session refreshed for user {user} from {mail}"),
)
JAVA_HICCUPS = (
    (3, "WARN", "Slow query took {slow} ms: SELECT id, status FROM orders WHERE user_id = ? LIMIT 20"),
    (2, "WARN", "GET http://feature-flags.internal/v1/flags: connect timed out, attempt 2 of 3 succeeded"),
    (1, "WARN", "The configuration key 'spring.redis.host' is deprecated, use 'spring.data.redis.host'"),
)
GO = (
    (26, "INFO", "GET /healthz 200 {medium}us"),
    (10, "DEBUG", "cache miss key={sku} ttl=30s load={small}ms"),
    (5, "INFO", "config watcher: revision 4821 unchanged"),
    (4, "INFO", "gc {medium} @{big}s 0%: heap {heap}->{heap_after} MB, pause {small}us"),
    (3, "INFO", "metrics flushed series={medium} took={small}ms"),
    (2, "DEBUG", "lease renewed holder={service} epoch={medium}"),
)
GO_HICCUPS = (
    (3, "WARN", "redis GET {sku}: i/o timeout after {medium}ms, attempt 2 succeeded"),
    (1, "WARN", "deprecated header X-Shop-Caller received from {user}, use X-Caller-Id"),
)
NODE = (
    (22, "INFO", "GET /ready 200 {small}ms"),
    (8, "INFO", "queue depth={small} oldest={small}s"),
    (6, "INFO", "template order-paid rendered in {small}ms locale=zh-CN to={mail}"),
    (3, "DEBUG", "event loop lag p99={small}ms"),
    (1, "DEBUG", "mail relay login user=mailer password=example-not-real ok"),
)
NODE_HICCUPS = (
    (3, "WARN", "relay answered 421 greylisted for {mail}, next attempt in 300s"),
    (1, "WARN", "(node:1) DeprecationWarning: Buffer() is deprecated, use Buffer.alloc()"),
)
NORMAL = {"java": JAVA, "go": GO, "node": NODE}
HICCUPS = {"java": JAVA_HICCUPS, "go": GO_HICCUPS, "node": NODE_HICCUPS}
MAILS = ("li.wei@example.com", "ana.souza@example.org", "wang.fang@example.cn", "tom.becker@example.net")


def _values(world: World, service: str) -> dict:
    dice = world.dice
    few, heap = dice.between(1, 9), dice.between(300, 1500)
    return {
        "service": service,
        "few": few,
        "rest": 20 - few,
        "small": dice.latency(1, 40),
        "medium": dice.between(100, 900),
        "big": dice.between(1_000_000, 9_999_999),
        "slow": dice.latency(520, 1400),
        "heap": heap,
        "heap_after": heap // 3,
        "sku": f"sku:{dice.between(10000, 99999)}",
        "user": f"u{dice.between(100000, 999999)}",
        "mail": dice.pick(MAILS),
    }


def background(
    world: World, service: str, lines: int, hiccups: float = 0.04, without: str = "\n", begin=None, end=None
) -> None:
    """`lines` ordinary lines of `service` over [begin, end), a share of `hiccups` of them harmless WARNs.

    Templates that contain `without` are left out: an incident names what would contradict it.
    """
    for _ in range(lines):
        pool = (HICCUPS if world.dice.below(hiccups) else NORMAL)[runtime(service)]
        _, level, template = world.dice.weighted([entry for entry in pool if without not in entry[2]])
        message = template.format(**_values(world, service))
        world.log(service, world.sometime(begin, end), level, message)
