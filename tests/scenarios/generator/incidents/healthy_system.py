"""Nothing is wrong: no ERROR line anywhere, every charge succeeds. Only the everyday hiccups."""

from ..noise import background
from ..shop import simulate
from ..world import World


def build(world: World) -> None:
    world.use("api-gateway", "checkout-service", "inventory-service", "order-service", "payment-gateway")
    world.use("risk-service")
    simulate(world, 220)
    for service in ("api-gateway", "inventory-service", "order-service", "payment-gateway", "risk-service"):
        background(world, service, 120)
    background(world, "checkout-service", 160, hiccups=0.02)
    world.row("deployments", "inventory-service", "4.7.1", world.at("03:12:40"), "SUCCEEDED")
    world.row("deployments", "checkout-service", "5.2.0", world.at("04:02:17"), "SUCCEEDED")
