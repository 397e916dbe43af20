"""One module per scenario; each has `build(world)`, which fills an empty world."""

from . import (
    config_rollout,
    greeting,
    healthy_system,
    injected_instructions,
    knowledge_question,
    missing_log,
    payment_timeout,
    pool_exhaustion,
    red_herring,
)

BUILDERS = {
    "config-rollout": config_rollout.build,
    "greeting": greeting.build,
    "healthy-system": healthy_system.build,
    "injected-instructions": injected_instructions.build,
    "knowledge-question": knowledge_question.build,
    "missing-log": missing_log.build,
    "payment-timeout": payment_timeout.build,
    "pool-exhaustion": pool_exhaustion.build,
    "red-herring": red_herring.build,
}
