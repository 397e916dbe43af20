"""Acquirer channel acquirer-b slows down at 06:03 during its line migration and times out from 06:05.

Quiet cause: the channel notice at 05:58. Noise: bounced mails, a slow report query, a finished deployment of
order-service at 05:20. The other two channels stay healthy.
"""

from ..noise import background
from ..shop import Order, Payment, paid, simulate, stack
from ..world import World, every, later

READ_TIMEOUT_MS = 3000
BREAKER_OPENED = ("06:09:12", "06:16:40", "06:24:05")


def build(world: World) -> None:
    world.use("api-gateway", "checkout-service", "inventory-service", "notification-service", "order-service")
    world.use("payment-gateway", "risk-service")
    simulate(world, 206, charge=_charge, rush=0.4)
    for service, lines in (("checkout-service", 70), ("inventory-service", 45), ("order-service", 70)):
        background(world, service, lines)
    for service, lines in (("payment-gateway", 70), ("notification-service", 40), ("risk-service", 40)):
        background(world, service, lines)
    background(world, "api-gateway", 30)
    _channel_health(world)
    _red_herrings(world)
    _history(world)


def _charge(world: World, order: Order) -> Payment:
    dice = world.dice
    if order.channel != "acquirer-b" or order.at < world.at("06:03:00"):
        if dice.below(0.03):
            return _declined(world, order)
        return paid(world, order)
    if order.at < world.at("06:04:55"):
        return Payment(latency_ms=dice.between(1900, 2900))
    if _breaker_open(world, order):
        return Payment(
            latency_ms=dice.between(1, 4),
            status="FAILED",
            error_code="CHANNEL_UNAVAILABLE",
            error=f"Charge order={order.id} channel=acquirer-b failed: CHANNEL_UNAVAILABLE, "
            "CircuitBreaker 'acquirer-b' is OPEN and does not permit further calls",
            order_status="PAYMENT_PENDING",
            checkout_error=f"Payment of order {order.id} failed: "
            "payment-gateway answered 503 CHANNEL_UNAVAILABLE",
            http=503,
        )
    if order.at > world.at("06:08:00") and dice.below(0.15):
        return Payment(latency_ms=dice.between(2200, 2990))
    return _timed_out(world, order)


def _breaker_open(world: World, order: Order) -> bool:
    return any(
        world.at(opened) <= order.at < later(world.at(opened), 60_000) for opened in BREAKER_OPENED
    )


def _timed_out(world: World, order: Order) -> Payment:
    latency = 2 * READ_TIMEOUT_MS + world.dice.between(4, 70)
    charge = f"Charge order={order.id} channel=acquirer-b"
    first = later(order.at, 80 + READ_TIMEOUT_MS)
    message = f"{charge}: no answer after {READ_TIMEOUT_MS} ms, attempt 1 of 2, retrying"
    world.log("payment-gateway", first, "WARN", message, order.trace)
    error = f"{charge} failed: GATEWAY_TIMEOUT after {latency} ms, attempt 2 of 2"
    if world.dice.below(0.3):
        error = stack(
            error + "\njava.net.SocketTimeoutException: Read timed out",
            "java.base/sun.nio.ch.NioSocketImpl.timedRead(NioSocketImpl.java:288)",
            "shop.payment.channel.AcquirerClient.charge(AcquirerClient.java:141)",
            "shop.payment.ChargeService.attempt(ChargeService.java:88)",
            "shop.payment.ChargeController.charge(ChargeController.java:52)",
        )
    return Payment(
        latency_ms=latency,
        status="TIMEOUT",
        error_code="GATEWAY_TIMEOUT",
        error=error,
        order_status="PAYMENT_PENDING",
        checkout_error=f"Payment of order {order.id} timed out: "
        f"payment-gateway answered 504 PAYMENT_TIMEOUT after {latency} ms",
        http=504,
    )


def _declined(world: World, order: Order) -> Payment:
    """A customer's card is refused by its bank: a normal end, all day long."""
    return Payment(
        latency_ms=world.dice.latency(200, 700),
        status="DECLINED",
        error_code="INSUFFICIENT_FUNDS",
        error=f"Charge order={order.id} channel={order.channel} declined by issuer: INSUFFICIENT_FUNDS",
        order_status="CANCELLED",
        http=402,
    )


def _channel_health(world: World) -> None:
    notice = "Channel notice received from acquirer-b: 机房 HZ2 专线割接 06:00-07:00 UTC, 期间可能出现响应变慢"
    world.log("payment-gateway", world.at("05:58:14"), "WARN", notice)
    for at in every(world.start, world.now, 120):
        for channel in ("acquirer-a", "acquirer-b", "acquirer-c"):
            slow = channel == "acquirer-b" and at >= world.at("06:03:00")
            p99 = world.dice.between(2700, 3400) if slow else world.dice.between(620, 980)
            message = f"Channel {channel} p99={p99} ms over 2 min"
            if slow:
                message += ", above the alert threshold of 1500 ms"
            world.log("payment-gateway", at, "WARN" if slow else "INFO", message)
    change = "CircuitBreaker 'acquirer-b' changed state from"
    for opened in BREAKER_OPENED:
        at = world.at(opened)
        world.log("payment-gateway", at, "WARN", f"{change} CLOSED to OPEN, failure rate above 60% over 10 calls")
        world.log("payment-gateway", later(at, 60_000), "INFO", f"{change} OPEN to HALF_OPEN")
        world.log("payment-gateway", later(at, 75_000), "INFO", f"{change} HALF_OPEN to CLOSED")


def _red_herrings(world: World) -> None:
    for _ in range(24):
        message = f"mail to customer{world.dice.between(10, 99)}@example.com bounced: 550 mailbox unavailable"
        world.log("notification-service", world.sometime(), "ERROR", message)
    for at in every(world.at("04:40:00"), world.now, 1200):
        took = world.dice.between(2100, 2900)
        message = f"Slow query took {took} ms: SELECT COUNT(*) FROM orders WHERE status = 'PAID'"
        world.log("order-service", at, "WARN", message)
    started = "Started OrderApplication version 2.41.0 in 9.8 seconds"
    world.log("order-service", world.at("05:20:11"), "INFO", started)
    expiry = "Client certificate of channel acquirer-a expires in 21 days"
    world.log("payment-gateway", world.at("05:00:00"), "WARN", expiry)


def _history(world: World) -> None:
    world.row("deployments", "risk-service", "1.12.3", world.at("02:14:09"), "SUCCEEDED")
    world.row("deployments", "order-service", "2.41.0", world.at("05:20:11"), "SUCCEEDED")
    mail, cart = world.at("03:41:30"), world.at("05:02:45")
    world.row("config_changes", "notification-service", "mail.batch_size", "50", "80", "chen.jie", mail)
    world.row("config_changes", "checkout-service", "cart.max_items", "99", "120", "m.okafor", cart)
