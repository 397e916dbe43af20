//! What the tools say they can look into: services, databases, tables and columns, read from their
//! descriptions.

use super::words::{is_han, terms};
use crate::provider::request::OfferedTool;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Catalog {
    pub services: Vec<Service>,
    pub tables: Vec<Table>,
    pub has_knowledge: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Service {
    pub name: String,
    /// Whatever else its line, or a list of services in parentheses, says about it.
    about: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Table {
    pub data_source: String,
    pub name: String,
    pub columns: Vec<String>,
    pub about: String,
}

impl Catalog {
    pub(super) fn read(tools: &[OfferedTool]) -> Self {
        let mut catalog = Self::default();
        for tool in tools {
            match tool.name.as_str() {
                "query_logs" => catalog.services = services(&tool.description),
                "query_mysql" => catalog.tables = tables(&tool.description),
                "lookup_knowledge" => catalog.has_knowledge = true,
                _ => {}
            }
        }
        catalog
    }

    /// The services that `text` is about, the most clearly meant first. A service named in full excludes
    /// those only hinted at.
    pub(super) fn services_in(&self, text: &str) -> Vec<String> {
        let lower = text.to_lowercase();
        let mut scored: Vec<(usize, &Service)> =
            self.services.iter().map(|s| (s.relevance(&lower), s)).filter(|(score, _)| *score > 0).collect();
        // Stable: equal scores stay in the tools' order.
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let named = scored.iter().any(|(score, _)| *score >= NAMED);
        scored.retain(|(score, _)| !named || *score >= NAMED);
        scored.into_iter().map(|(_, service)| service.name.clone()).collect()
    }

    /// The services that `text` names in full, in the tools' order.
    pub(super) fn services_named_in(&self, text: &str) -> Vec<String> {
        self.services.iter().filter(|s| text.contains(&s.name)).map(|s| s.name.clone()).collect()
    }
}

const NAMED: usize = 1000;

impl Service {
    /// How clearly `text` (lower case) means this service.
    fn relevance(&self, text: &str) -> usize {
        if text.contains(&self.name.to_lowercase()) {
            return NAMED;
        }
        let stem = self.name.split(['-', '_']).next().unwrap_or_default().to_lowercase();
        let by_stem = if stem.len() >= 4 && text.contains(&stem) { 20 } else { 0 };
        let aliases = self.about.split(['/', ',', '，', '、', ';', '；', '(', ')', '（', '）', ':', '.']);
        let by_alias = aliases.map(|alias| {
            let alias = alias.trim().to_lowercase();
            let long_enough =
                if alias.contains(is_han) { alias.chars().count() >= 2 } else { alias.len() >= 5 };
            if long_enough && text.contains(&alias) { 10 + alias.chars().count() } else { 0 }
        });
        by_stem.max(by_alias.max().unwrap_or(0))
    }
}

impl Table {
    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|known| known == column)
    }

    /// The first of `columns` that the table has.
    pub(super) fn first_of<'c>(&self, columns: &[&'c str]) -> Option<&'c str> {
        columns.iter().copied().find(|column| self.has(column))
    }

    /// The column that says when a row happened.
    pub(super) fn time_column(&self) -> Option<&str> {
        self.first_of(&["created_at", "occurred_at", "timestamp"])
            .or_else(|| self.columns.iter().map(String::as_str).find(|column| column.ends_with("_at")))
    }

    /// How much the table has to do with `text`: shared terms of its name, description and columns.
    pub(super) fn relevance(&self, text: &str) -> usize {
        let wanted = terms(text);
        let about = terms(&format!("{} {}", self.name.replace('_', " "), self.about));
        let related = |a: &str, b: &str| a == b || (a.is_ascii() && b.is_ascii() && common_prefix(a, b) >= 4);
        about.iter().filter(|term| wanted.iter().any(|word| related(word, term))).count()
    }
}

/// "shipping" and "shipments" share a stem.
fn common_prefix(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count()
}

/// The rest of `line` after `key`, list marks ignored.
fn after<'l>(line: &'l str, key: &str) -> Option<&'l str> {
    line.trim().trim_start_matches(['-', '*', ' ']).strip_prefix(key).map(str::trim)
}

fn services(description: &str) -> Vec<Service> {
    let lines = description.lines().filter_map(|line| after(line, "service:"));
    let named = lines.filter_map(|rest| {
        let name = rest.split_whitespace().next()?.trim_end_matches([',', ';', ':']);
        Some((name, rest[rest.find(name)? + name.len()..].trim()))
    });
    let found = named.map(|(name, rest)| {
        // A source's description may explain its services as `NAME (words)`.
        let explained =
            description.split_once(&format!("{name} (")).and_then(|(_, words)| words.split_once(')'));
        let explained = explained.map(|(words, _)| words).unwrap_or_default();
        Service { name: name.to_owned(), about: format!("{rest}, {explained}") }
    });
    found.collect()
}

fn tables(description: &str) -> Vec<Table> {
    let mut source = String::new();
    let mut tables = Vec::new();
    for line in description.lines() {
        if let Some(rest) = after(line, "data source:") {
            source = rest.split_whitespace().next().unwrap_or_default().to_owned();
        } else if let Some((name, rest)) = after(line, "table:").and_then(|rest| rest.split_once('('))
            && let Some((columns, about)) = rest.split_once(')')
        {
            // A column may be followed by its type.
            let columns = columns.split(',').filter_map(|column| column.split_whitespace().next());
            tables.push(Table {
                data_source: source.clone(),
                name: name.trim().to_owned(),
                columns: columns.map(str::to_owned).collect(),
                about: about.trim().to_owned(),
            });
        }
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalog() -> Catalog {
        let tool = |name: &str, description: &str| OfferedTool {
            name: name.into(),
            description: description.into(),
            parameters: Default::default(),
        };
        Catalog::read(&[
            tool(
                "query_logs",
                "Reads logs.\nlog source: app: search-service (搜索, full text search); login-gateway (登录/登录网关)\n- service: search-service\n- service: login-gateway",
            ),
            tool(
                "query_mysql",
                "One SELECT.\ndata source: shop (sqlite) replica\n- table: login_events(id, user_id, error_code, created_at) one row per login (登录)\n- table: items(id INTEGER, title TEXT)",
            ),
        ])
    }

    #[test]
    fn descriptions_list_what_can_be_looked_into() {
        let catalog = catalog();
        assert_eq!(catalog.services.len(), 2);
        assert_eq!(catalog.tables[1].columns, ["id", "title"]);
        assert_eq!(
            (catalog.tables[0].data_source.as_str(), catalog.tables[0].time_column()),
            ("shop", Some("created_at"))
        );
        assert!(!catalog.has_knowledge);
    }

    #[test]
    fn a_question_means_services_by_name_or_by_what_they_are_called() {
        let catalog = catalog();
        assert_eq!(catalog.services_in("登录超时"), ["login-gateway"]);
        assert_eq!(catalog.services_in("is search slow?"), ["search-service"]);
        assert_eq!(catalog.services_in("login-gateway and search"), ["login-gateway"]);
        assert!(catalog.services_in("printers").is_empty());
        assert!(catalog.tables[0].relevance("logins fail") > catalog.tables[1].relevance("logins fail"));
    }
}
