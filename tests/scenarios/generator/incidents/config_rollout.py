"""A configuration rollout sets pricing.promotion_client.timeout_ms from 800 to 8, pod by pod from 05:42.

Noise: a successful catalog-service deployment at 05:35 and other harmless configuration changes.
promotion-service itself is healthy and answers in about 40 ms, five times the new limit.
"""

from ..noise import background
from ..services import pods
from ..shop import Order, Refusal, simulate
from ..world import World, every, later

KEY = "pricing.promotion_client.timeout_ms"
WAVES = ("05:42:10", "05:50:10", "05:58:10")


def build(world: World) -> None:
    world.use("api-gateway", "catalog-service", "checkout-service", "config-agent", "order-service")
    world.use("payment-gateway", "pricing-service", "promotion-service")
    simulate(world, 235, refuse=_refuse)
    for service, lines in (("pricing-service", 120), ("promotion-service", 90), ("catalog-service", 90)):
        background(world, service, lines, without="config watcher")
    for service, lines in (("checkout-service", 100), ("order-service", 70), ("config-agent", 50)):
        background(world, service, lines, without="config watcher")
    background(world, "api-gateway", 70)
    _rollout(world)
    _quotes(world)
    _history(world)


def _bad_pods(world: World, at) -> list[str]:
    """The pricing pods that already run with the new value."""
    return [pod for pod, wave in zip(pods("pricing-service"), WAVES, strict=True) if at >= world.at(wave)]


def _refuse(world: World, order: Order) -> Refusal | None:
    affected = len(_bad_pods(world, order.at)) / len(WAVES)
    if not world.dice.below(affected * 0.85):
        return None
    return Refusal(
        service="pricing-service",
        error=_deadline(order.sku),
        after_ms=world.dice.between(9, 14),
        http=503,
        checkout_error="Checkout refused: pricing-service answered 503 PRICE_UNAVAILABLE",
    )


def _deadline(sku: str) -> str:
    return f"quote for {sku} failed: promotion-service: context deadline exceeded after 8ms ({KEY}=8)"


def _rollout(world: World) -> None:
    log = world.log
    approved = f"rollout r-4822 approved by h.lind: {KEY} 800 -> 8, plan=one pod every 8 min"
    log("config-agent", world.at("05:42:02"), "INFO", approved)
    for pod, wave in zip(pods("pricing-service"), WAVES, strict=True):
        at = world.at(wave)
        log("config-agent", at, "INFO", f"applied revision 4822 to {pod}, health check passed")
        changed = f"config reloaded: revision 4821 -> 4822, changed {KEY}: 800 -> 8"
        log("pricing-service", later(at, 350), "WARN", changed, pod=pod)
    log("config-agent", world.at("05:58:30"), "INFO", "rollout r-4822 completed: 3 of 3 pods")
    started = "Started CatalogApplication version 3.18.0 in 11.2 seconds"
    log("catalog-service", world.at("05:35:20"), "INFO", started)


def _quotes(world: World) -> None:
    """Price quotes of the product pages, next to those of the checkouts."""
    for at in every(world.start, world.now, 24):
        at = later(at, world.dice.between(0, 20_000))
        pod = world.dice.pick(pods("pricing-service"))
        sku, trace = f"sku:{world.dice.between(10_000, 99_999)}", world.dice.hex(16)
        took = world.dice.between(31, 58)
        world.log("promotion-service", at, "INFO", f"GET /promotions/{sku} 200 {took}ms", trace)
        if pod in _bad_pods(world, at):
            world.log("pricing-service", later(at, 9), "ERROR", _deadline(sku), trace, pod=pod)
            fallback = f"Showing list price for {sku}: pricing-service answered 503 PRICE_UNAVAILABLE"
            world.log("catalog-service", later(at, 14), "WARN", fallback, trace)
        else:
            quoted = f"quote for {sku} in {took}ms"
            world.log("pricing-service", later(at, took), "INFO", quoted, trace, pod=pod)


def _history(world: World) -> None:
    change = lambda *values: world.row("config_changes", *values)  # noqa: E731  (shorter rows below)
    change("checkout-service", "cart.max_items", "99", "120", "m.okafor", world.at("03:02:45"))
    change("catalog-service", "search.page_size", "24", "36", "chen.jie", world.at("04:55:12"))
    change("pricing-service", KEY, "800", "8", "h.lind", world.at("05:42:02"))
    change("notification-service", "mail.batch_size", "50", "80", "chen.jie", world.at("06:11:30"))
    world.row("deployments", "promotion-service", "0.44.2", world.at("02:20:51"), "SUCCEEDED")
    world.row("deployments", "catalog-service", "3.18.0", world.at("05:35:20"), "SUCCEEDED")
