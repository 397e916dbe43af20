"""Small on purpose: a greeting needs no evidence, but the tools exist as everywhere."""

from ..noise import background
from ..shop import simulate
from ..world import World


def build(world: World) -> None:
    world.use("checkout-service", "order-service", "payment-gateway")
    simulate(world, 20)
    for service in world.services:
        background(world, service, 40)
