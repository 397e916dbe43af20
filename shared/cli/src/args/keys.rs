//! `keys` and its options.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum Keys {
    /// Make a key; it is printed once and never again
    Create(CreateKey),
    /// List the keys, without the keys themselves
    List,
    /// Make a key useless from now on
    Revoke(OfKey),
}

#[derive(Debug, Args)]
pub struct CreateKey {
    /// Whose key it is: runs and quotas belong to the caller
    #[arg(long, value_name = "NAME")]
    pub caller: String,
    /// What it may do, such as chat,documents:write
    #[arg(long, value_name = "A,B", required = true, value_delimiter = ',')]
    pub scopes: Vec<String>,
    /// When it ends, as 2027-01-31T00:00:00Z [default: never]
    #[arg(long, value_name = "TIME")]
    pub expires_at: Option<String>,
    /// How many runs it may have going at a time
    #[arg(long, value_name = "N")]
    pub concurrent_runs: Option<u32>,
    /// How many runs it may start a minute
    #[arg(long, value_name = "N")]
    pub runs_per_minute: Option<u32>,
    /// How many tokens its runs may use a day
    #[arg(long, value_name = "N")]
    pub tokens_per_day: Option<u64>,
}

#[derive(Debug, Args)]
pub struct OfKey {
    #[arg(value_name = "ID")]
    pub id: String,
}
