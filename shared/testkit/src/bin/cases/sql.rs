//! `cases sql --policy FILE [--source NAME]`: statements through the read-only guard of one data source.

use std::path::Path;

use anyhow::Context;
use app::data_sources::DataSources;
use serde_json::{Value, json};
use tools::mysql::ReadOnlySelect;

use super::Judge;

pub fn judge(options: &[String]) -> anyhow::Result<Judge> {
    let option = |name: &str| options.iter().position(|o| o == name).and_then(|i| options.get(i + 1));
    let file = option("--policy").context("cases sql needs --policy FILE, a DATA_SOURCES file")?;
    let sources = DataSources::load(Path::new(file))?;
    let database = sources.database(option("--source").map(String::as_str));
    let database = database.context("name one of the file's databases with --source")?;
    let policy = database.policy();
    Ok(Box::new(move |case| {
        let sql = case.get("sql").and_then(Value::as_str).context("sql must be a string")?;
        let params = match case.get("params") {
            None | Some(Value::Null) => &[],
            Some(params) => params.as_array().context("params must be a list")?.as_slice(),
        };
        Ok(match ReadOnlySelect::check(sql, params, &policy) {
            Ok(_) => json!({ "verdict": "allow" }),
            Err(refusal) => {
                json!({ "verdict": "deny", "rule": refusal.rule.code(), "message": refusal.message })
            }
        })
    }))
}
