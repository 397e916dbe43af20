//! The sentences of a report in both languages. Every number, time and name in them comes from evidence, as
//! written there.

use domain::question::Language;

use super::signs::Sign;

#[derive(Clone, Copy)]
pub(super) struct Phrases(pub Language);

impl Phrases {
    fn pick(self, zh: String, en: String) -> String {
        match self.0 {
            Language::Chinese => zh,
            Language::English => en,
        }
    }

    pub(super) fn caveat(self) -> String {
        self.pick(
            "本报告由离线演示模型按规则拼成，没有询问任何语言模型。".into(),
            "This report was composed by the offline demo model by rules; no language model was asked."
                .into(),
        )
    }

    pub(super) fn conclusion(self, sign: &Sign, corroborated: bool) -> String {
        let Sign { service, quote, first_seen, last_seen, .. } = sign;
        let rows_zh = if corroborated { "业务库中有同一错误的记录。" } else { "" };
        let rows_en = if corroborated { " The business database has rows with the same error." } else { "" };
        if sign.earlier {
            return self.pick(
                format!("{service} 在所查时间窗开始时就已有错误“{quote}”，一直到 {last_seen}；更早的起点不在窗内。{rows_zh}"),
                format!("{service} already logged the error \"{quote}\" when the window began, up to {last_seen}; its beginning lies before the window.{rows_en}"),
            );
        }
        self.pick(
            format!("所查日志中最早开始的相关错误来自 {service}：“{quote}”，自 {first_seen} 起出现。{rows_zh}"),
            format!("The related error that began first in the logs looked at is in {service}: \"{quote}\", seen since {first_seen}.{rows_en}"),
        )
    }

    pub(super) fn error(self, sign: &Sign) -> String {
        let Sign { service, quote, count, first_seen, last_seen, .. } = sign;
        self.pick(
            format!("{service} 的 ERROR 日志“{quote}”出现 {count} 次，首次 {first_seen}，末次 {last_seen}。"),
            format!("{service} logged at ERROR \"{quote}\": count {count}, first seen {first_seen}, last seen {last_seen}."),
        )
    }

    pub(super) fn warning(self, sign: &Sign) -> String {
        let Sign { service, quote, count, first_seen, .. } = sign;
        self.pick(
            format!("{service} 的告警日志“{quote}”首次出现于 {first_seen}，共 {count} 次。"),
            format!("{service} logged the warning \"{quote}\": first seen {first_seen}, count {count}."),
        )
    }

    pub(super) fn alive(self, service: &str, matched: u64, start: &str, end: &str) -> String {
        self.pick(
            format!("{service} 在 {start} 到 {end} 之间有日志，共匹配 {matched} 行。"),
            format!("{service} did log between {start} and {end}: {matched} matching lines."),
        )
    }

    pub(super) fn no_lines(self, service: &str, level: Option<&str>, start: &str, end: &str) -> String {
        let (zh, en) = match level {
            Some(level) => (format!(" {level} 级及以上的"), format!(" at {level} or above")),
            None => (" 的".to_owned(), String::new()),
        };
        self.pick(
            format!("在 {start} 到 {end} 之间没有查到 {service}{zh}日志。"),
            format!("No log lines of {service}{en} were found between {start} and {end}."),
        )
    }

    pub(super) fn rows(self, source: &str, table: &str, rows: &str) -> String {
        self.pick(
            format!("{source} 库的 {table} 表：{rows}。"),
            format!("Table {table} of {source}: {rows}."),
        )
    }

    pub(super) fn runbook(self, title: &str, section: &str) -> String {
        self.pick(
            format!("知识库中与之最相关的手册是“{title}”，章节“{section}”。"),
            format!("The closest runbook is \"{title}\", section \"{section}\"."),
        )
    }

    pub(super) fn runbook_also(self, title: &str, section: &str) -> String {
        self.pick(
            format!("另一次检索找到手册“{title}”，章节“{section}”。"),
            format!("Another search found the runbook \"{title}\", section \"{section}\"."),
        )
    }

    pub(super) fn follow_runbook(self, title: &str) -> String {
        self.pick(
            format!("由值班工程师按手册“{title}”逐项核对并处理。"),
            format!("Work through the runbook \"{title}\" with the engineer on call."),
        )
    }

    pub(super) fn look_at(self, service: &str) -> String {
        self.pick(
            format!("先查看 {service} 自该错误首次出现以来的日志和变更。"),
            format!("Look at the logs and changes of {service} since that error first appeared."),
        )
    }

    pub(super) fn alert_earlier(self) -> String {
        self.pick(
            "为这类错误的首次出现增加告警。".into(),
            "Add an alert for the first occurrence of this kind of error.".into(),
        )
    }

    pub(super) fn missing_errors(self) -> String {
        self.pick(
            "所查时间窗内没有可支持结论的错误日志；需要更准确的时间、服务名或报错原文。".into(),
            "No error log in the window supports a conclusion; a more exact time, service or error text is needed.".into(),
        )
    }

    pub(super) fn missing_services(self) -> String {
        self.pick("没有可查询的日志来源。".into(), "There was no log source to ask.".into())
    }

    pub(super) fn beginning_only(self) -> String {
        self.pick(
            "时间先后不等于因果；更深层的原因需要人工确认。".into(),
            "Coming first is not yet being the cause; what lies behind it needs a person's confirmation."
                .into(),
        )
    }
}
