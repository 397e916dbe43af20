"""refund-service's log stops at 04:21, before the window: what happened to the refunds can't be known.

Everything else is healthy; order-service hands the refunds over and gets 202.
"""

from ..noise import background
from ..shop import FIRST_ORDER, simulate
from ..world import World, every, later


def build(world: World) -> None:
    world.use("api-gateway", "checkout-service", "order-service", "payment-gateway", "refund-service")
    world.use("inventory-service")
    simulate(world, 220)
    for service in world.services:
        if service != "refund-service":
            background(world, service, 120, hiccups=0.02)
    shipped = world.at("03:30:00"), world.at("04:21:00")
    background(world, "refund-service", 140, begin=shipped[0], end=shipped[1])
    for at in every(*shipped, 75):
        refund = world.dice.between(40_000, 49_999)
        at = later(at, world.dice.between(0, 30_000))
        world.log("refund-service", at, "INFO", f"Refund rf-{refund} settled by acquirer-a")
    for at in every(world.at("04:34:00"), world.now, 95):
        order = FIRST_ORDER - world.dice.between(1, 9_000)
        message = f"Refund of order {order} handed to refund-service: 202 accepted"
        at = later(at, world.dice.between(0, 60_000))
        world.log("order-service", at, "INFO", message, world.dice.hex(16))
