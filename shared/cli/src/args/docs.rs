//! `docs` and its options.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub enum Docs {
    /// List the runbooks
    List,
    /// Store each .md and .txt file whose text differs from what is stored; its name becomes the id
    Push(Push),
    /// Print a runbook
    Get(OfDocument),
    /// Remove a runbook
    Rm(OfDocument),
    /// Search as a diagnosis does
    Search(Search),
}

#[derive(Debug, Args)]
pub struct Push {
    /// Files, and folders that are searched with all folders in them
    #[arg(required = true, value_name = "DIR|FILE")]
    pub paths: Vec<PathBuf>,
    /// Put this before each id
    #[arg(long, value_name = "TEXT")]
    pub prefix: Option<String>,
    /// Remove the runbooks whose ids begin with the prefix and that are not among the files
    #[arg(long, requires = "prefix")]
    pub delete_missing: bool,
}

#[derive(Debug, Args)]
pub struct OfDocument {
    #[arg(value_name = "ID")]
    pub id: String,
}

#[derive(Debug, Args)]
pub struct Search {
    #[arg(required = true, value_name = "QUERY")]
    pub query: Vec<String>,
    /// How many passages to show at most
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub top_k: u32,
}
