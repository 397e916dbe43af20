"""The fictional shop's services: runtime, replicas, and the words by which people call them."""

CATALOGUE = {
    # name: (runtime, replicas, what people call it)
    "api-gateway": ("go", 3, "入口网关/API 网关, edge proxy"),
    "catalog-service": ("java", 3, "商品目录, product catalog"),
    "checkout-service": ("java", 3, "结算/下单, checkout"),
    "config-agent": ("go", 1, "配置下发, configuration rollout"),
    "image-resizer": ("go", 2, "图片处理, image thumbnails"),
    "inventory-service": ("go", 3, "库存, inventory and stock"),
    "notification-service": ("node", 2, "通知/邮件, mail and push notifications"),
    "order-service": ("java", 3, "订单, orders"),
    "payment-gateway": ("java", 3, "支付/支付网关/支付渠道, payment gateway"),
    "pricing-service": ("go", 3, "价格/计价, pricing and quotes"),
    "promotion-service": ("go", 2, "促销/优惠, promotions"),
    "recommendation-service": ("go", 3, "推荐, recommendations"),
    "refund-service": ("java", 2, "退款, refunds"),
    "reporting-worker": ("java", 1, "报表, reporting and exports"),
    "risk-service": ("go", 2, "风控, fraud and risk"),
    "shipping-service": ("java", 2, "配送/物流/运费, shipping quotes"),
}

SUFFIXES = ("k7xqp", "m2v9d", "t4wzn")
REQUEST_THREAD = "http-nio-8080-exec-%d"
THREADS = (REQUEST_THREAD, "pool-3-thread-%d", "scheduling-%d")


def runtime(service: str) -> str:
    return CATALOGUE[service][0]


def words(service: str) -> str:
    return CATALOGUE[service][2]


def pods(service: str) -> list[str]:
    return [f"{service}-{suffix}" for suffix in SUFFIXES[: CATALOGUE[service][1]]]


def pod(dice, service: str) -> str:
    return dice.pick(pods(service))


def thread(dice, service: str, in_request: bool) -> str | None:
    """Only the JVM services name threads; traced lines come from request threads."""
    if runtime(service) != "java":
        return None
    return (REQUEST_THREAD if in_request else dice.pick(THREADS)) % dice.between(1, 9)
