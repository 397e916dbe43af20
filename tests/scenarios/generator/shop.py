"""The order flow: each simulated order leaves the same trace in the logs and in the tables."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from .world import World, later

CHANNELS = ("acquirer-a", "acquirer-b", "acquirer-c")
FIRST_ORDER = 88_041_200


@dataclass(frozen=True)
class Order:
    id: int
    user: int
    amount_cents: int
    sku: str
    at: datetime
    trace: str
    channel: str


@dataclass(frozen=True)
class Payment:
    """How the charge of one order ended. `error` is the payment-gateway's ERROR message."""

    latency_ms: int
    status: str = "SUCCESS"
    error_code: str | None = None
    error: str | None = None
    order_status: str = "PAID"
    checkout_error: str | None = None
    http: int = 200


@dataclass(frozen=True)
class Refusal:
    """An order that failed before it was created: errors in the logs, nothing in the tables."""

    service: str
    error: str
    after_ms: int
    http: int
    checkout_error: str


def paid(world: World, _order: Order) -> Payment:
    """The normal end."""
    return Payment(latency_ms=world.dice.latency(180, 900))


def simulate(
    world: World,
    orders: int,
    charge: Callable[[World, Order], Payment] = paid,
    refuse: Callable[[World, Order], Refusal | None] = lambda _world, _order: None,
    rush: float = 0.0,
) -> None:
    """Spreads `orders` over the window, in time order, and plays each to its end.

    A share of `rush` (0..1) is placed in the last half hour, on top of its even share.
    """
    end = later(world.now, -15_000)
    half_hour = later(world.now, -1_800_000)
    begins = [half_hour if number < orders * rush else world.start for number in range(orders)]
    moments = sorted(world.sometime(begin, end) for begin in begins)
    for number, at in enumerate(moments):
        order = Order(
            id=FIRST_ORDER + number,
            user=world.dice.between(100_000, 999_999),
            amount_cents=world.dice.latency(990, 189_900),
            sku=f"sku:{world.dice.between(10_000, 99_999)}",
            at=at,
            trace=world.dice.hex(16),
            channel=world.dice.weighted(((4, "acquirer-a"), (5, "acquirer-b"), (1, "acquirer-c")))[1],
        )
        items = world.dice.between(1, 6)
        message = f"Checkout started user=u{order.user} items={items} amount_cents={order.amount_cents}"
        world.log("checkout-service", at, "INFO", message, order.trace)
        refusal = refuse(world, order)
        if refusal:
            _refused(world, order, refusal)
        else:
            _created(world, order)
            _charged(world, order, charge(world, order))


def _refused(world: World, order: Order, refusal: Refusal) -> None:
    end = later(order.at, refusal.after_ms)
    world.log(refusal.service, end, "ERROR", refusal.error, order.trace)
    _answered(world, order, later(end, 3), refusal.http, refusal.checkout_error, refusal.after_ms + 7)


def _created(world: World, order: Order) -> None:
    message = f"reserved {order.sku} order={order.id}"
    world.log("inventory-service", later(order.at, 21), "INFO", message, order.trace)
    message = f"Order {order.id} created amount_cents={order.amount_cents}"
    world.log("order-service", later(order.at, 48), "INFO", message, order.trace)
    message = f"score={world.dice.latency(1, 60)} decision=ALLOW order={order.id}"
    world.log("risk-service", later(order.at, 66), "INFO", message, order.trace)
    world.row("order_events", order.id, "CREATED", '{"channel":"%s"}' % order.channel, order.at)


def _charged(world: World, order: Order, payment: Payment) -> None:
    end = later(order.at, 80 + payment.latency_ms)
    ok = payment.status == "SUCCESS"
    latency = payment.latency_ms
    message = payment.error or f"Charge order={order.id} channel={order.channel} SUCCESS in {latency} ms"
    level = {"SUCCESS": "INFO", "DECLINED": "WARN"}.get(payment.status, "ERROR")
    world.log("payment-gateway", end, level, message, order.trace)
    if ok:
        message = f"Order {order.id} moved CREATED -> PAID"
        world.log("order-service", later(end, 9), "INFO", message, order.trace)
        message = f"queued order-paid mail order={order.id}"
        world.log("notification-service", later(end, 40), "INFO", message, order.trace)
    _answered(world, order, later(end, 12), payment.http, payment.checkout_error, latency + 95)

    world.row("orders", order.id, order.user, payment.order_status, order.amount_cents, order.at, end)
    created = later(order.at, 80)
    world.row("payments", order.id, order.channel, payment.status, payment.error_code, latency, created)
    kind = "PAID" if ok else f"PAYMENT_{payment.status}"
    world.row("order_events", order.id, kind, '{"latency_ms":%d}' % latency, end)


def _answered(world: World, order: Order, at: datetime, http: int, error: str | None, took_ms: int) -> None:
    if error:
        world.log("checkout-service", at, "ERROR", error, order.trace)
    message = f"POST /api/checkout/confirm {http} {took_ms}ms"
    level = "INFO" if http < 500 else "WARN"
    world.log("api-gateway", later(at, 4), level, message, order.trace, status=http)


def stack(first: str, *frames: str) -> str:
    """A Java stack trace: the message, then one frame a line."""
    return "\n".join([first, *(f"\tat {frame}" for frame in frames)])
