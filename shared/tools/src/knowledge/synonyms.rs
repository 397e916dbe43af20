//! Words of operations that mean the same in both languages, or in two common wordings: a question in one finds a runbook in the
//! other. Looked up once a question; nothing is loaded or indexed for it.

/// Phrases of one meaning each. General words of the trade only: nothing of any one system belongs here.
const GROUPS: &[&[&str]] = &[
    &["timeout", "timed out", "time out", "超时"],
    &["connection pool", "连接池"],
    &["exhausted", "exhaustion", "used up", "耗尽", "打满", "用完", "不够用"],
    &["certificate", "certificates", "cert", "tls", "证书"],
    &["expiry", "expired", "expires", "expire", "到期", "过期"],
    &["rotate", "rotation", "rotating", "renew", "轮换", "更换", "续期"],
    &["disk", "磁盘", "硬盘"],
    &["full", "space", "空间", "写满", "占满"],
    &["rollback", "roll back", "revert", "回滚", "回退"],
    &["deployment", "deploy", "release", "部署", "发布", "上线"],
    &["configuration", "config", "配置"],
    &["lag", "backlog", "behind", "积压", "堆积", "延迟"],
    &["consumer", "consume", "消费", "消费者"],
    &["queue", "message queue", "队列"],
    &["refund", "refunds", "退款"],
    &["decline", "declined", "reject", "rejected", "拒绝", "拒付"],
    &["reconciliation", "reconcile", "对账"],
    &["failover", "故障转移", "主从切换", "主备切换"],
    &["memory", "内存"],
    &["oom", "out of memory", "内存溢出"],
    &["thread pool", "线程池"],
    &["saturation", "saturated", "饱和"],
    &["slow query", "slow queries", "慢查询", "慢sql"],
    &["slow", "latency", "慢", "变慢", "卡顿"],
    &["escalation", "escalate", "升级", "上报"],
    &["on-call", "oncall", "值班"],
    &["handover", "hand over", "交接", "交班"],
    &["bounce", "bounced", "bounces", "退信"],
    &["mail", "email", "e-mail", "邮件"],
    &["image", "picture", "photo", "图片", "照片"],
    &["upload", "上传"],
    &["health check", "health checks", "健康检查"],
    &["payment", "pay", "支付", "付款"],
    &["order", "checkout", "下单", "订单"],
    &["database", "db", "数据库"],
    &["outage", "down", "unavailable", "宕机", "不可用", "挂了"],
    &["restart", "重启"],
    &["retry", "retries", "重试"],
    &["cache", "缓存"],
    &["log", "logs", "日志"],
    &["collection", "log shipping", "采集", "收集"],
    &["alert", "alarm", "告警", "报警"],
    &["threshold", "阈值"],
    &["customer", "客户", "用户"],
    &["support", "customer service", "客服"],
    &["delivery", "parcel", "配送", "物流", "包裹"],
    &["delay", "delayed", "late", "延误", "晚到"],
    &["carrier", "承运商"],
    &["quote", "报价"],
    &["settlement", "结算"],
    &["promotion", "promotions", "促销", "优惠"],
    &["price", "价格"],
    &["permission", "permissions", "access denied", "权限"],
    &["network", "网络"],
    &["packet loss", "丢包"],
    &["login", "sign in", "登录"],
    &["gateway", "网关"],
    &["traffic", "流量"],
    &["rate limit", "throttling", "throttled", "限流"],
    &["degrade", "degradation", "降级"],
    &["scale out", "scaling", "扩容"],
    &["backup", "备份"],
    &["replica", "replication", "从库", "复制"],
    &["deadlock", "死锁"],
    &["leak", "泄漏"],
    &["address", "地址"],
];

/// For each phrase of the question, the phrases that mean the same.
pub fn of(question: &str) -> Vec<(&'static str, Vec<&'static str>)> {
    let lower = question.to_lowercase();
    let mut found = Vec::new();
    for group in GROUPS {
        if let Some(phrase) = group.iter().find(|phrase| holds(&lower, phrase)) {
            found.push((*phrase, group.iter().filter(|other| *other != phrase).copied().collect()));
        }
    }
    found
}

/// Whether a text holds a phrase; words of letters must stand by themselves.
fn holds(lower: &str, phrase: &str) -> bool {
    let letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    lower.match_indices(phrase).any(|(at, _)| {
        let after = &lower[at + phrase.len()..];
        let plural = after.strip_prefix('s').unwrap_or(after);
        !phrase.is_ascii() || (!letter(lower[..at].chars().next_back()) && !letter(plural.chars().next()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_found_in_both_languages_and_only_whole_words() {
        let phrases = |text: &str| of(text).into_iter().map(|(phrase, _)| phrase).collect::<Vec<_>>();
        assert_eq!(phrases("连接池打满了"), ["连接池", "打满"]);
        assert_eq!(phrases("TLS cert expires soon"), ["cert", "expires"]);
        assert!(phrases("catalogue of downtown payloads").is_empty());
        assert!(of("支付超时").iter().any(|(_, others)| others.contains(&"timeout")));
    }
}
