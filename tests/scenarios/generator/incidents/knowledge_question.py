"""A quiet shop: the question is about the runbooks, the logs only have to exist."""

from ..noise import background
from ..shop import simulate
from ..world import World


def build(world: World) -> None:
    world.use("checkout-service", "inventory-service", "order-service", "payment-gateway")
    simulate(world, 200)
    for service in world.services:
        background(world, service, 260)
